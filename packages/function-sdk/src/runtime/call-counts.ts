// SPDX-License-Identifier: Apache-2.0
import type { ProtocolVersion } from "@purlin/function-protocol";

/** How calls may end. */
export type CallCode = "OK" | "Internal" | "Unknown";

/** Plain numbers, so that counting costs a call nothing. Whoever shows them reads them when asked. */
export interface CallCounts {
  started: number;
  received: number;
  sent: number;
  readonly handled: Record<CallCode, number>;
}

/** Counts of both protocol versions, all zero. */
export function createCallCounts(): Readonly<Record<ProtocolVersion, CallCounts>> {
  return { v1: zero(), v1beta1: zero() };
}

function zero(): CallCounts {
  return { started: 0, received: 0, sent: 0, handled: { OK: 0, Internal: 0, Unknown: 0 } };
}
