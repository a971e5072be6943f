// SPDX-License-Identifier: Apache-2.0

import type { Clock } from "@purlin/base";
import { isDeleted, type KubeObject, keyText, type ObjectKey } from "@purlin/kube-objects/object";
import { Counter, type Registry } from "prom-client";

/** The limits on watch events of one XR. */
export interface BreakerLimits {
  readonly burst: number;
  readonly refillPerSecond: number;
  /** How long it stays open at least. */
  readonly cooldownMs: number;
  /** How often one event passes while it is open. */
  readonly halfOpenMs: number;
  /** After this long without events an XR is forgotten, even if its circuit is open. */
  readonly idleMs: number;
}

/** The default limits. */
const defaultLimits: BreakerLimits = {
  burst: 100,
  refillPerSecond: 1,
  cooldownMs: 5 * 60_000,
  halfOpenMs: 30_000,
  idleMs: 24 * 3_600_000,
};

/** Whether an XR gets its watch events, and if not which object causes too many. */
export type CircuitState = { readonly open: false } | { readonly open: true; readonly triggeredBy: string };

/** Limits the reconciles that objects in constant change cause. */
export interface CircuitBreaker {
  /** Whether an event about `object` may wake the XR. It weighs two for an update, as the old object counts as well. */
  admit(target: ObjectKey, object: KubeObject, weight: 1 | 2): boolean;
  state(target: ObjectKey): CircuitState;
  /** A new XR of the same name starts again. */
  forget(target: ObjectKey): void;
  /** The number of XRs whose events are counted. */
  readonly size: number;
}

/** The options of a breaker. */
interface BreakerOptions {
  readonly controller: string;
  readonly clock: Pick<Clock, "now">;
  readonly limits?: Partial<BreakerLimits> | undefined;
  readonly metrics?: BreakerMetrics | undefined;
}

const ringSize = 16;

interface Circuit {
  tokens: number;
  refilledAt: number;
  lastAllowed: number;
  openedAt: number | undefined;
  triggeredBy: string;
  sources: string[];
}

interface CircuitEvent {
  readonly verdict: BreakerVerdict;
  readonly source: string;
  readonly now: number;
}

/** A breaker for all XRs of one controller. */
export function createCircuitBreaker(options: BreakerOptions): CircuitBreaker {
  const { controller, clock, metrics = noBreakerMetrics } = options;
  const limits: BreakerLimits = { ...defaultLimits, ...options.limits };
  const circuits = new Map<string, Circuit>();

  function circuitOf(key: string, now: number): Circuit {
    const known = circuits.get(key);
    if (known !== undefined) {
      // To the end of the map, which is thus in the order of the last events.
      circuits.delete(key);
      circuits.set(key, known);
      return known;
    }
    dropIdle(circuits, limits, now);
    const fresh: Circuit = {
      tokens: limits.burst,
      refilledAt: now,
      lastAllowed: now,
      openedAt: undefined,
      triggeredBy: "",
      sources: [],
    };
    circuits.set(key, fresh);
    return fresh;
  }

  function verdictOn(circuit: Circuit, now: number): BreakerVerdict {
    if (circuit.openedAt === undefined) return "Allowed";
    return now > circuit.lastAllowed + limits.halfOpenMs ? "HalfOpenAllowed" : "Dropped";
  }

  function record(circuit: Circuit, { verdict, source, now }: CircuitEvent): void {
    refill(circuit, limits, now);
    circuit.sources = [...circuit.sources, source].slice(-ringSize);
    metrics.event(controller, verdict);
    if (circuit.openedAt !== undefined) {
      if (verdict === "HalfOpenAllowed") circuit.lastAllowed = now;
      if (now - circuit.openedAt < limits.cooldownMs) return;
      circuit.openedAt = undefined;
      circuit.sources = [];
      metrics.closed(controller);
    }
    if (circuit.tokens >= 1) {
      circuit.tokens -= 1;
      return;
    }
    circuit.openedAt = now;
    circuit.lastAllowed = now;
    circuit.triggeredBy = mostFrequent(circuit.sources);
    metrics.opened(controller);
  }

  return {
    admit(target, object, weight) {
      // A deletion always passes: otherwise finalizers would wait for the next resync.
      if (isDeleted(object)) return true;
      const now = clock.now();
      const circuit = circuitOf(keyText(target), now);
      const source = sourceOf(object);
      let admitted = false;
      for (let count = 0; count < weight; count++) {
        const verdict = verdictOn(circuit, now);
        record(circuit, { verdict, source, now });
        admitted ||= verdict !== "Dropped";
      }
      return admitted;
    },
    state(target) {
      const circuit = circuits.get(keyText(target));
      if (circuit?.openedAt === undefined) return { open: false };
      return { open: true, triggeredBy: circuit.triggeredBy };
    },
    forget: (target) => void circuits.delete(keyText(target)),
    get size() {
      return circuits.size;
    },
  };
}

function refill(circuit: Circuit, { burst, refillPerSecond }: BreakerLimits, now: number): void {
  const gained = ((now - circuit.refilledAt) / 1000) * refillPerSecond;
  circuit.tokens = Math.min(burst, circuit.tokens + Math.max(0, gained));
  circuit.refilledAt = now;
}

/**
 * Looks at the two circuits whose events are the oldest, as one comes each time: a closed one that has all its tokens again is as good as
 * none, and an open one ends after the idle time. Another goes to the end, so that it keeps none of those behind it.
 */
function dropIdle(circuits: Map<string, Circuit>, limits: BreakerLimits, now: number): void {
  const refillMs = Math.min(limits.idleMs, (limits.burst / limits.refillPerSecond) * 1000);
  let looks = 2;
  for (const [key, circuit] of circuits) {
    if (looks-- === 0) return;
    const isOpen = circuit.openedAt !== undefined;
    const isIdle = now - circuit.refilledAt >= (isOpen ? limits.idleMs : refillMs);
    if (!isIdle && !isOpen) return;
    circuits.delete(key);
    if (!isIdle) circuits.set(key, circuit);
  }
}

function mostFrequent(sources: readonly string[]): string {
  const counts = new Map<string, number>();
  let best = "";
  for (const source of sources) {
    const count = (counts.get(source) ?? 0) + 1;
    counts.set(source, count);
    if (count >= (counts.get(best) ?? 0)) best = source;
  }
  return best;
}

function sourceOf({ kind, metadata: { name = "", namespace } }: KubeObject): string {
  return namespace ? `${kind}/${name} (${namespace})` : `${kind}/${name}`;
}

/** The decision about an event. */
type BreakerVerdict = "Allowed" | "Dropped" | "HalfOpenAllowed";

/** The metrics of breakers. */
export interface BreakerMetrics {
  opened(controller: string): void;
  closed(controller: string): void;
  event(controller: string, verdict: BreakerVerdict): void;
}

/** Counts nothing. */
export const noBreakerMetrics: BreakerMetrics = { opened() {}, closed() {}, event() {} };

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
