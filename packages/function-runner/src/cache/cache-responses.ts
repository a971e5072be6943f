// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { type Clock, type Log, silentLog, systemClock } from "@purlin/base";
import {
  type Duration,
  encode,
  isFatal,
  type RunFunctionRequest,
  type RunFunctionResponse,
  Schema,
} from "@purlin/function-protocol";
import { type FunctionRunner, type FunctionTarget, textOf } from "../function-runner.ts";
import { noMetrics, type RunnerMetrics } from "../metrics.ts";
import { type FetchSchema, untilAborted } from "../requirements/settle-requirements.ts";
import { cacheName, evict, readCacheFile, type StoredResponse, writeCacheFile } from "./cache-file.ts";

// A request's tag is made before a function says which schemas it requires, so a cached response carries their digests.

const absent = new Uint8Array();

/** The digests of the schemas that a response requires, as its function got them with the last request. */
function requiredDigests(
  { requirements }: RunFunctionResponse,
  { requiredSchemas }: RunFunctionRequest,
): ReadonlyMap<string, Uint8Array> {
  return new Map([...(requirements?.schemas.keys() ?? [])].map((name) => [name, digestOf(requiredSchemas.get(name))]));
}

/** Whether a schema that a stored response requires has come, changed or gone since. */
async function hasNewSchema(
  { response, schemas }: StoredResponse,
  fetch: FetchSchema,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const required = [...(response.requirements?.schemas ?? [])];
  const same = await Promise.all(
    required.map(async ([name, selector]) => {
      const now = digestOf(await untilAborted(fetch(selector), signal));
      return Buffer.compare(now, schemas.get(name) ?? absent) === 0;
    }),
  );
  return same.includes(false);
}

// Schemas are large, and a fetcher answers with the same object until the schema changes.
const digests = new WeakMap<Schema, Uint8Array>();

function digestOf(schema: Schema | undefined): Uint8Array {
  if (schema?.openapiV3 === undefined) return absent;
  const known = digests.get(schema);
  if (known !== undefined) return known;
  const digest = createHash("sha256").update(encode(Schema, schema)).digest();
  digests.set(schema, digest);
  return digest;
}

const day = 24 * 60 * 60_000;

/** How responses are cached. */
export interface ResponseCacheOptions {
  /** Answers schema selectors, to determine whether a schema that a response depends on has changed. */
  readonly schema: FetchSchema;
  /** Where responses are kept; made when it is missing. */
  readonly directory: string;
  /** However long a function says, no longer than this. Default 24 h; 0 for no limit. */
  readonly maxTtlMs?: number | undefined;
  /** About how much may be kept. Default 256 MiB. */
  readonly maxBytes?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly metrics?: RunnerMetrics | undefined;
  readonly log?: Log | undefined;
}

/** A runner with a cache in front of it. */
export interface CachingRunner extends FunctionRunner {
  /** Deletes what has expired, and what is too much. Never rejects. */
  evict(): Promise<void>;
}

/**
 * A runner that answers a request it has seen, from a file, as long as the function's response said it may and the
 * schemas that the function required are the same. Failures, fatal responses and requests without a tag are never stored;
 * a cache that does not work never fails a run.
 */
export function cacheResponses(next: FunctionRunner, options: ResponseCacheOptions): CachingRunner {
  const cache = new ResponseCache(options);
  return {
    async run(target, request, call) {
      if (call.uncached === true) return next.run(target, request, call);
      const tag = request.meta?.tag ?? "";
      const stored = await cache.look(target, tag, call.signal);
      if (stored !== undefined) {
        call.observer?.cached();
        return stored;
      }
      let settled = request;
      const onSettled = (last: RunFunctionRequest): void => {
        settled = last;
        call.onSettled?.(last);
      };
      const response = await next.run(target, request, { ...call, onSettled });
      await cache.store(target, tag, { response, schemas: requiredDigests(response, settled) });
      return response;
    },
    evict: () => cache.evict(),
  };
}

type MissReason = "NotCached" | "DeadlineExpired" | "SchemaChanged" | "EmptyRequestTag" | "Error";

/** The number of revisions whose function is known by name in metrics of evictions. */
const mostRevisions = 1000;

class ResponseCache {
  readonly #schema: FetchSchema;
  readonly #directory: string;
  readonly #maxTtlMs: number;
  readonly #maxBytes: number;
  readonly #clock: Clock;
  readonly #metrics: RunnerMetrics;
  readonly #log: Log;
  /** Whose responses a directory holds, as far as this process knows. */
  readonly #functions = new Map<string, string>();
  #bytes = 0;
  #evicting: Promise<void> | undefined;

  constructor(options: ResponseCacheOptions) {
    const { directory, maxTtlMs = day, maxBytes = 256 * 2 ** 20 } = options;
    this.#schema = options.schema;
    this.#directory = directory;
    this.#maxTtlMs = maxTtlMs === 0 ? Number.POSITIVE_INFINITY : maxTtlMs;
    this.#maxBytes = maxBytes;
    this.#clock = options.clock ?? systemClock;
    this.#metrics = options.metrics ?? noMetrics;
    this.#log = options.log ?? silentLog;
  }

  /** A stored response that may be used; undefined also when the signal aborts. */
  async look(
    target: FunctionTarget,
    tag: string,
    signal: AbortSignal | undefined,
  ): Promise<RunFunctionResponse | undefined> {
    if (tag === "") return this.#miss(target, "EmptyRequestTag");
    const started = performance.now();
    try {
      const stored = await readCacheFile(this.#pathOf(target, tag));
      if (stored === undefined) return this.#miss(target, "NotCached");
      if (this.#clock.now() > stored.deadline) return this.#miss(target, "DeadlineExpired");
      if (await hasNewSchema(stored, this.#schema, signal)) return this.#miss(target, "SchemaChanged");
      this.#metrics.cache("hits", target.functionName);
      this.#metrics.cacheTime("read", target.functionName, secondsSince(started));
      return stored.response;
    } catch (error) {
      // The next runner reports that the run was cancelled.
      if (signal?.aborted) return undefined;
      this.#problem("cannot read cached function response", target.functionName, error);
      return this.#miss(target, "Error");
    }
  }

  #pathOf({ revisionName }: FunctionTarget, tag: string): string {
    return join(this.#directory, cacheName(revisionName), cacheName(tag));
  }

  #miss({ functionName, revisionName }: FunctionTarget, reason: MissReason): undefined {
    this.#metrics.cache("misses", functionName);
    this.#log.debug("function response is not cached", { function: functionName, revision: revisionName, reason });
  }

  async store(target: FunctionTarget, tag: string, answered: Omit<StoredResponse, "deadline">): Promise<void> {
    const { response } = answered;
    const ttl = milliseconds(response.meta?.ttl);
    if (tag === "" || ttl <= 0 || isFatal(response)) return;
    const { functionName } = target;
    const deadline = Math.min(this.#clock.now() + Math.min(ttl, this.#maxTtlMs), latestDeadline);
    const started = performance.now();
    try {
      this.#remember(target);
      const bytes = await writeCacheFile(this.#pathOf(target, tag), { ...answered, deadline });
      this.#bytes += bytes;
      this.#metrics.cache("writes", functionName);
      this.#metrics.cache("bytes_written", functionName, bytes);
      this.#metrics.cacheTime("write", functionName, secondsSince(started));
    } catch (error) {
      this.#problem("cannot cache function response", functionName, error);
    }
    // Not waited for: a run does not pay for tidying up.
    if (this.#bytes > this.#maxBytes) void this.evict();
  }

  #remember({ revisionName, functionName }: FunctionTarget): void {
    const name = cacheName(revisionName);
    // Last in the order of the Map, in which the one that was stored longest ago is first.
    this.#functions.delete(name);
    this.#functions.set(name, functionName);
    const [oldest] = this.#functions.keys();
    if (this.#functions.size > mostRevisions && oldest !== undefined) this.#functions.delete(oldest);
  }

  evict(): Promise<void> {
    this.#evicting ??= this.#evict().finally(() => {
      this.#evicting = undefined;
    });
    return this.#evicting;
  }

  async #evict(): Promise<void> {
    const ownerOf = (directoryName: string): string => this.#functions.get(directoryName) ?? directoryName;
    try {
      this.#bytes = await evict({
        directory: this.#directory,
        now: this.#clock.now(),
        maxBytes: this.#maxBytes,
        onDeleted: (directoryName, bytes) => {
          this.#metrics.cache("deletes", ownerOf(directoryName));
          this.#metrics.cache("bytes_deleted", ownerOf(directoryName), bytes);
        },
        onProblem: (directoryName, path, error) =>
          this.#problem(`cannot evict "${path}"`, ownerOf(directoryName), error),
      });
    } catch (error) {
      this.#problem("cannot evict function responses", "", error);
    }
  }

  #problem(message: string, functionName: string, error: unknown): void {
    this.#metrics.cache("errors", functionName);
    this.#log.info(message, { function: functionName, error: textOf(error) });
  }
}

/** As late as a protobuf Timestamp goes: the end of the year 9999. */
const latestDeadline = Date.UTC(9999, 11, 31, 23, 59, 59);

function milliseconds(duration: Duration | undefined): number {
  return duration === undefined ? 0 : Number(duration.seconds) * 1000 + duration.nanos / 1e6;
}

function secondsSince(started: number): number {
  return (performance.now() - started) / 1000;
}
