// SPDX-License-Identifier: Apache-2.0
// Regular expressions that users write: RE2, and limits on their size.
export { linearPattern, loadRe2, patternSize } from "./linear-pattern.ts";
