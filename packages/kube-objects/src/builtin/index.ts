// SPDX-License-Identifier: Apache-2.0
// The schemas of the built-in kinds alone, `@purlin/kube-objects/builtin`: for packages that need nothing else.
export { parseApiVersion } from "../gvk.ts";
export { builtinSchema } from "./builtin-schema.ts";
