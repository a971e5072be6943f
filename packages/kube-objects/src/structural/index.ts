// SPDX-License-Identifier: Apache-2.0
// Structural schemas applied to custom objects: defaults, pruning, embedded objects.
export { coercingEmbedded } from "./coerce-embedded.ts";
export { applyDefaults, dropForbiddenNulls, mostDefaultValues, prune } from "./defaults-and-pruning.ts";
