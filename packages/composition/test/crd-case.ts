// SPDX-License-Identifier: Apache-2.0

import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";

/** An object, what happens to it, and what the server says. */
export interface CrdCase {
  readonly reason: string;
  readonly object: KubeObject;
  /** A merge patch after the object was created. Then it is the patch that is judged. */
  readonly change?: JsonObject;
  /** The version the patch goes through, when it is another. */
  readonly through?: string;
  /** Field and text of the refusal. Absent: accepted. */
  readonly refused?: readonly [field: string, text: string];
  /** Members of the object when it is read back, by path. */
  readonly stored?: Readonly<Record<string, JsonValue | undefined>>;
}

/** What is said of a value that may be set once. */
export const immutableText = "Value is immutable";

let numbers = 0;

/** Another number each time, for names. */
export function nextNumber(): number {
  return ++numbers;
}
