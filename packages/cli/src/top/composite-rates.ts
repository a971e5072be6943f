// SPDX-License-Identifier: Apache-2.0
import type { RunSummary } from "@purlin/run-store";

/** How often one composite resource is reconciled. */
export interface CompositeRate {
  readonly composite: string;
  readonly namespace: string;
  readonly reconciles: number;
  readonly failed: number;
  readonly perMinute: number;
  readonly p95Ms: number;
}

/** Reconciles by composite resource in the last `sinceMs`, most often first. Equal runs that were recorded once count as often as they ran. */
export function compositeRates(
  runs: readonly RunSummary[],
  { now, sinceMs }: { readonly now: number; readonly sinceMs: number },
): CompositeRate[] {
  const recent = runs.filter(({ last, began }) => Date.parse(last || began) >= now - sinceMs);
  const groups = Map.groupBy(recent, ({ xr }) => `${xr.kind}/${xr.name}\n${xr.namespace ?? ""}`);
  const rates = [...groups].map(([key, own]) => rateOf(key, own, { now, sinceMs }));
  return rates.sort((a, b) => b.reconciles - a.reconciles || (a.composite < b.composite ? -1 : 1));
}

function rateOf(
  key: string,
  runs: readonly RunSummary[],
  { now, sinceMs }: { readonly now: number; readonly sinceMs: number },
): CompositeRate {
  const [composite = "", namespace = ""] = key.split("\n");
  let reconciles = 0;
  let failed = 0;
  for (const run of runs) {
    const times = within(run, now - sinceMs);
    reconciles += times;
    if (run.outcome === "failed") failed += times;
  }
  const oldest = Math.min(...runs.map(({ began }) => Date.parse(began)));
  const minutes = Math.max(1, Math.min(sinceMs, now - oldest) / 60_000);
  const durations = runs.map(({ durationMs }) => durationMs).sort((a, b) => a - b);
  const p95Ms = durations[Math.ceil(durations.length * 0.95) - 1] ?? 0;
  return { composite, namespace, reconciles, failed, perMinute: reconciles / minutes, p95Ms };
}

/** How often a run and those equal to it ran since a time, as if they were evenly spread. */
function within({ began, last, repeats }: RunSummary, since: number): number {
  const [from, to] = [Date.parse(began), Date.parse(last || began)];
  if (from >= since || to <= from) return repeats + 1;
  return Math.max(1, Math.round((repeats * (to - since)) / (to - from)));
}
