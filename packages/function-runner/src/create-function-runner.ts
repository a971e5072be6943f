// SPDX-License-Identifier: Apache-2.0
import { type Clock, type Log, repeat, silentLog, systemClock } from "@purlin/base";
import type { Registry } from "prom-client";
import { type CachingRunner, cacheResponses, type ResponseCacheOptions } from "./cache/cache-responses.ts";
import { asCrossplane } from "./compatibility/as-crossplane.ts";
import type { LiveRevisions, PoolStats } from "./dial/connection-pool.ts";
import { createDiallingRunner, type DiallingRunner, type DialOptions } from "./dial/dialling-runner.ts";
import { type FunctionRunner, textOf } from "./function-runner.ts";
import { createRunnerMetrics, noMetrics } from "./metrics.ts";
import { type RunSink, recordRuns } from "./record/record-runs.ts";
import { type RequirementFetchers, settleRequirements } from "./requirements/settle-requirements.ts";

/** Connections to revisions that no longer serve are looked for this often. */
export const collectEveryMs: number = 10 * 60_000;
/** Expired responses are looked for this often. */
export const evictEveryMs = 60_000;

/** Everything a runner is made of. */
export interface FunctionRunnerOptions extends Omit<DialOptions, "clock" | "metrics"> {
  /** Where the answers to requirements come from. */
  readonly fetchers: RequirementFetchers;
  /** Which revisions still serve; without it connections are kept until the runner is closed. */
  readonly live?: LiveRevisions | undefined;
  /** Keeps responses for as long as functions allow. Off unless given. */
  readonly cache?: Pick<ResponseCacheOptions, "directory" | "maxTtlMs" | "maxBytes"> | undefined;
  /** Receives a record of every run. */
  readonly sink?: RunSink | undefined;
  /** A release line of Crossplane to imitate. */
  readonly asCrossplane?: string | undefined;
  /** Where metrics are registered. */
  readonly registry?: Registry | undefined;
  readonly clock?: Clock | undefined;
  readonly log?: Log | undefined;
}

/** A runner with all its layers, to be shared by everything that runs functions, and closed in the end. */
export interface ClosableFunctionRunner extends FunctionRunner {
  /** What is open right now. */
  stats(): PoolStats;
  /** Ends all calls, connections and timers. */
  close(): void;
}

/**
 * The layers in their order, outermost first: recorder, response cache, requirements loop, imitation of an older
 * Crossplane, connections. So the cache holds settled responses only, and the recorder sees each step once.
 */
export function createFunctionRunner(options: FunctionRunnerOptions): ClosableFunctionRunner {
  const { clock = systemClock, log = silentLog, registry } = options;
  const deps = { clock, log, metrics: registry === undefined ? noMetrics : createRunnerMetrics(registry) };
  const dialling = createDiallingRunner({ ...options, ...deps });
  let runner: FunctionRunner = dialling;
  if (options.asCrossplane !== undefined) runner = asCrossplane(runner, options.asCrossplane);
  runner = settleRequirements(runner, options.fetchers);
  const cache = options.cache && cacheResponses(runner, { ...options.cache, ...deps, schema: options.fetchers.schema });
  runner = cache ?? runner;
  if (options.sink !== undefined) runner = recordRuns(runner, options.sink, deps);
  const outermost = runner;
  const stop = startChores({ dialling, cache, live: options.live, clock, log });
  return {
    run: (target, request, call) => outermost.run(target, request, call),
    stats: () => dialling.stats(),
    close() {
      stop();
      dialling.close();
    },
  };
}

interface Chores {
  readonly dialling: DiallingRunner;
  readonly cache: CachingRunner | undefined;
  readonly live: LiveRevisions | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

function startChores({ dialling, cache, live, clock, log }: Chores): () => void {
  const collect = (revisions: LiveRevisions): void => {
    dialling.collect(revisions).then(
      (closed) => log.debug("collected function connections", { closed }),
      (error: unknown) => log.info("cannot collect function connections", { error: textOf(error) }),
    );
  };
  const stops = [
    live && repeat(clock, collectEveryMs, () => collect(live)),
    cache && repeat(clock, evictEveryMs, () => void cache.evict()),
  ];
  return () => {
    for (const stop of stops) stop?.();
  };
}
