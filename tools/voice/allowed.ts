// SPDX-License-Identifier: Apache-2.0

/** Lines that keep such a phrase, each with its reason: a text that is Kubernetes' or Crossplane's own, or a name on the wire. */
export const allowed: ReadonlyArray<{ readonly path: string; readonly text: string; readonly reason: string }> = [];
