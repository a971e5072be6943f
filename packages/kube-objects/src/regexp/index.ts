// SPDX-License-Identifier: Apache-2.0
// Regular expressions that users write: RE2, and limits on their size.
export { linearPattern } from "./linear-pattern.ts";
export { patternSize } from "./pattern-size.ts";
export { loadRe2 } from "./re2.ts";
