// SPDX-License-Identifier: Apache-2.0
import { Target as ProtocolTarget } from "@purlin/function-protocol";

const compositeOnly: { readonly TARGET_COMPOSITE_ONLY: typeof ProtocolTarget.TARGET_COMPOSITE } = {
  TARGET_COMPOSITE_ONLY: ProtocolTarget.TARGET_COMPOSITE,
};

/**
 * Where a result or a condition goes. `TARGET_COMPOSITE_ONLY` is the name that the design of claim conditions gave to
 * `TARGET_COMPOSITE`; both are the number 1.
 */
export const Target: typeof ProtocolTarget & typeof compositeOnly = { ...ProtocolTarget, ...compositeOnly };
/** A number of {@link Target}; numbers of newer protocol versions are kept. */
export type Target = ProtocolTarget;
