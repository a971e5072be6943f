// SPDX-License-Identifier: Apache-2.0

/** The group of definitions, compositions and their revisions. */
export const apiextensionsGroup = "apiextensions.crossplane.io";
/** The group of Usage and ClusterUsage. */
export const protectionGroup = "protection.crossplane.io";
/** The group of operations. */
export const opsGroup = "ops.crossplane.io";

/** What all of our kinds answer to in `kubectl get crossplane`. */
export const crossplaneCategory = "crossplane";
