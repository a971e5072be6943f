// SPDX-License-Identifier: Apache-2.0

/** A type as a value: what `type(x)` gives. */
export class TypeValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}
