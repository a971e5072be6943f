// SPDX-License-Identifier: Apache-2.0

/** What a breaker did with an event. */
export type BreakerVerdict = "Allowed" | "Dropped" | "HalfOpenAllowed";

/** Who counts what breakers do. */
export interface BreakerMetrics {
  opened(controller: string): void;
  closed(controller: string): void;
  event(controller: string, verdict: BreakerVerdict): void;
}

/** Counts nothing. */
export const noBreakerMetrics: BreakerMetrics = { opened() {}, closed() {}, event() {} };
