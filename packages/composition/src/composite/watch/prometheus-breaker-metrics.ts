// SPDX-License-Identifier: Apache-2.0
import { Counter, type Registry } from "prom-client";
import type { BreakerMetrics } from "./breaker-metrics.ts";

/** Counts in a registry, once for all controllers of a process. */
export function createBreakerMetrics(registry: Registry): BreakerMetrics {
  const registers = [registry];
  const labelNames = ["controller"] as const;
  const opens = new Counter({
    name: "circuit_breaker_opens_total",
    help: "How often watch events of an object became too many.",
    labelNames,
    registers,
  });
  const closes = new Counter({
    name: "circuit_breaker_closes_total",
    help: "How often watch events of an object were let through again.",
    labelNames,
    registers,
  });
  const events = new Counter({
    name: "circuit_breaker_events_total",
    help: "Watch events by what became of them.",
    labelNames: ["controller", "result"] as const,
    registers,
  });
  return {
    opened: (controller) => opens.inc({ controller }),
    closed: (controller) => closes.inc({ controller }),
    event: (controller, result) => events.inc({ controller, result }),
  };
}
