// SPDX-License-Identifier: Apache-2.0
import type { Figure } from "./figure.ts";

/** Figures that are measured together. */
export interface Part {
  readonly name: string;
  /** Measures. `quick` is for seeing that it works; its figures mean little. */
  readonly measure: (quick: boolean) => Figure[] | Promise<Figure[]>;
}
