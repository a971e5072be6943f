// SPDX-License-Identifier: Apache-2.0

import { Counter, type Registry } from "prom-client";
import type { BreakerMetrics } from "./circuit-breaker.ts";

/** Counts in a registry, once for all controllers of a process. */
export function createBreakerMetrics(registry: Registry): BreakerMetrics {
  const registers = [registry];
  const labelNames = ["controller"] as const;
  const opens = new Counter({
    name: "circuit_breaker_opens_total",
    help: "Number of times the circuit breaker opened.",
    labelNames,
    registers,
  });
  const closes = new Counter({
    name: "circuit_breaker_closes_total",
    help: "Number of times the circuit breaker closed.",
    labelNames,
    registers,
  });
  const events = new Counter({
    name: "circuit_breaker_events_total",
    help: "Number of watch events by result.",
    labelNames: ["controller", "result"] as const,
    registers,
  });
  return {
    opened: (controller) => opens.inc({ controller }),
    closed: (controller) => closes.inc({ controller }),
    event: (controller, result) => events.inc({ controller, result }),
  };
}
