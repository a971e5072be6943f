// SPDX-License-Identifier: Apache-2.0
// The check of objects alone, `@purlin/kube-objects/schema`: for packages that must not carry the built-in schemas.
export { checkSchema, findingText } from "./check-schema.ts";
export type { SchemaFinding } from "./finding.ts";
