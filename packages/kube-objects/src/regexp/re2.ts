// SPDX-License-Identifier: Apache-2.0
// Patterns that users write are matched by RE2, in time linear in the text.
import { createRequire } from "node:module";

type Re2 = typeof import("re2js");

const require = createRequire(import.meta.url);
let re2: Re2 | undefined;

/** RE2, loaded with the first pattern: most programs that import this package never need it. */
export function loadRe2(): Re2 {
  re2 ??= require("re2js") as Re2;
  return re2;
}
