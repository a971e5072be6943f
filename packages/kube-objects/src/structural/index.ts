// SPDX-License-Identifier: Apache-2.0
// Structural schemas applied to custom objects: defaults, pruning, embedded objects.
export { coerceEmbedded } from "./coerce-embedded.ts";
export { applyDefaults, dropForbiddenNulls } from "./default-values.ts";
export { prune } from "./prune.ts";
