// SPDX-License-Identifier: Apache-2.0
import type { ProtocolVersion } from "@purlin/function-protocol";

/** How calls may end. */
type CallCode = "OK" | "Internal" | "Unavailable" | "Unknown";

/** Plain numbers, so that counting costs a call almost nothing. The metrics server reads them on request. */
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
  return { started: 0, received: 0, sent: 0, handled: { OK: 0, Internal: 0, Unavailable: 0, Unknown: 0 } };
}
