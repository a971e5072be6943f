// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type ManualClock, manualClock } from "@purlin/base/testing";
import {
  CachedResponse,
  create,
  Duration,
  decode,
  encode,
  RequestMeta,
  ResponseMeta,
  Result,
  type RunFunctionRequest,
  RunFunctionResponse,
  Severity,
  Struct,
} from "@purlin/function-protocol";
import { Registry } from "prom-client";
import { answer, serveFunction, temporaryDirectory } from "../../test/function-server.ts";
import { call, dial, patience, request, targetAt } from "../../test/runs.ts";
import type { FunctionTarget, RunCall } from "../function-runner.ts";
import { createRunnerMetrics } from "../metrics.ts";
import { noSchemas } from "../schemas/schema-fetcher.ts";
import { type CachingRunner, cacheResponses, type ResponseCacheOptions } from "./cache-responses.ts";

const minute = 60_000;
const ttl = (seconds: number, nanos = 0): Duration => create(Duration, { seconds: BigInt(seconds), nanos });
const tagged = (tag: string): RunFunctionRequest => request({ meta: create(RequestMeta, { tag }) });

interface Setting {
  readonly ttl?: Duration | undefined;
  readonly fatal?: boolean;
  readonly options?: Partial<ResponseCacheOptions>;
  readonly output?: (calls: number) => Struct;
}

interface Bench {
  readonly run: (
    tag?: string,
    target?: Partial<FunctionTarget>,
    more?: Partial<RunCall>,
  ) => Promise<RunFunctionResponse>;
  readonly runner: CachingRunner;
  readonly calls: () => number;
  readonly clock: ManualClock;
  readonly directory: string;
  readonly logged: Record<string, unknown>[];
  readonly counted: (name: string) => Promise<number>;
}

/** A real function behind a real cache. */
async function cached(t: TestContext, setting: Setting = {}): Promise<Bench> {
  const results = setting.fatal ? [create(Result, { severity: Severity.SEVERITY_FATAL, message: "stop" })] : [];
  const fn = await serveFunction({
    handler: (incoming) =>
      answer(incoming, {
        meta: create(ResponseMeta, { tag: incoming.meta?.tag ?? "", ttl: "ttl" in setting ? setting.ttl : ttl(60) }),
        results,
        output: setting.output?.(fn.calls.length) ?? Struct.from({ call: fn.calls.length }),
      }),
  });
  t.after(() => fn.stop());
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const directory = join(temporaryDirectory(t), "cache");
  const registry = new Registry();
  const logged: Record<string, unknown>[] = [];
  const log = (message: string, fields: object = {}): number => logged.push({ message, ...fields });
  const runner = cacheResponses(dial(t), {
    schema: noSchemas,
    directory,
    clock,
    metrics: createRunnerMetrics(registry),
    log: { debug: log, info: log, error: log },
    ...setting.options,
  });
  return {
    run: (tag = "tag", target = {}, more = {}) => runner.run(targetAt(fn.endpoint, target), tagged(tag), call(more)),
    runner,
    calls: () => fn.calls.length,
    clock,
    directory,
    logged,
    async counted(name) {
      const metric = await registry.getSingleMetric(`function_run_function_response_cache_${name}`)?.get();
      const values: { metricName?: string; value: number }[] = metric?.values ?? [];
      const count = values.find(({ metricName }) => metricName?.endsWith("_count")) ?? values[0];
      return count?.value ?? 0;
    },
  };
}

const files = (directory: string): string[] =>
  existsSync(directory)
    ? readdirSync(directory).flatMap((owner) => readdirSync(join(directory, owner)).map((name) => `${owner}/${name}`))
    : [];

test("a call that asks for no cache neither reads it nor fills it", async (t) => {
  const { run, calls, directory } = await cached(t);
  await run("tag", {}, { uncached: true });
  assert.deepEqual(files(directory), []);
  await run();
  await run("tag", {}, { uncached: true });
  assert.equal(calls(), 3);
});

test("an identical request within the TTL is answered without a call, and another one is not", async (t) => {
  const { run, calls, counted } = await cached(t);
  const first = await run();
  const second = await run();
  assert.deepEqual(second, first);
  assert.equal(calls(), 1);
  await run("other input");
  assert.equal(calls(), 2);
  assert.deepEqual(await Promise.all(["hits_total", "misses_total", "writes_total"].map(counted)), [1, 2, 2]);
  assert.equal(await counted("read_seconds"), 1, "the time to read is recorded for hits only");
  assert.equal(await counted("write_seconds"), 2);
});

test("after the TTL the function is called again", async (t) => {
  const { run, calls, clock, logged } = await cached(t);
  await run();
  clock.advance(minute);
  await run();
  assert.equal(calls(), 1, "at its deadline a response is still good");
  clock.advance(1);
  await run();
  assert.equal(calls(), 2);
  assert.deepEqual(
    logged.map(({ reason }) => reason),
    ["NotCached", "DeadlineExpired"],
  );
});

const stored: Readonly<
  Record<string, { reason: string; ttl: Duration | undefined; maxTtlMs?: number; lives?: number }>
> = {
  Absent: { reason: "no TTL means do not cache", ttl: undefined },
  Zero: { reason: "nor does one of zero", ttl: ttl(0) },
  Negative: { reason: "a negative one would be expired already", ttl: ttl(-5) },
  Nanos: { reason: "fractions of a second count", ttl: ttl(0, 500_000_000), lives: 500 },
  Clamped: { reason: "C94: a TTL above the maximum is cut to it", ttl: ttl(3600), maxTtlMs: minute, lives: minute },
  Default: { reason: "the maximum is one day by default", ttl: ttl(10 * 86_400), lives: 86_400_000 },
  Unclamped: {
    reason: "a maximum of zero means no maximum",
    ttl: ttl(10 * 86_400),
    maxTtlMs: 0,
    lives: 10 * 86_400_000,
  },
};

for (const [name, row] of Object.entries(stored)) {
  test(`TTL ${name}: ${row.reason}`, async (t) => {
    const { run, calls, clock, directory } = await cached(t, { ttl: row.ttl, options: { maxTtlMs: row.maxTtlMs } });
    await run();
    assert.equal(files(directory).length, row.lives === undefined ? 0 : 1);
    if (row.lives === undefined) return;
    clock.advance(row.lives);
    const response = await run();
    assert.deepEqual(response.meta?.ttl, row.ttl, "the response still shows its own TTL");
    assert.equal(calls(), 1);
    clock.advance(1);
    await run();
    assert.equal(calls(), 2);
  });
}

const spoiled: Readonly<Record<string, { content: Buffer; reason: string }>> = {
  Empty: { content: Buffer.alloc(0), reason: "NotCached" },
  Garbage: { content: Buffer.from("garbage"), reason: "Error" },
  NoDeadline: {
    content: encode(CachedResponse, create(CachedResponse, { response: create(RunFunctionResponse) })),
    reason: "NotCached",
  },
};

for (const [name, { content, reason }] of Object.entries(spoiled)) {
  test(`a cache file that is ${name} is a miss, and overwritten`, async (t) => {
    const { run, calls, directory, logged, counted } = await cached(t);
    mkdirSync(join(directory, "fn-1"), { recursive: true });
    writeFileSync(join(directory, "fn-1", "tag"), content);
    await run();
    await run();
    assert.equal(calls(), 1);
    assert.ok(logged.some((entry) => entry["reason"] === reason));
    assert.equal(await counted("errors_total"), reason === "Error" ? 1 : 0);
  });
}

// Not by permissions: where tests run as root, root may write anywhere.
const unwritable: Record<string, (base: string) => string> = {
  "is a file": (base) => join(base, "file"),
  "is below a file": (base) => join(base, "file", "cache"),
  "has a file where a revision's directory goes": (base) => {
    writeFileSync(join(base, "fn-1"), "");
    return base;
  },
  "has a directory where the response goes": (base) => {
    mkdirSync(join(base, "fn-1", "tag", "taken"), { recursive: true });
    return base;
  },
};

for (const [name, prepare] of Object.entries(unwritable)) {
  test(`a cache directory that ${name} costs nothing but an error count`, async (t) => {
    const base = temporaryDirectory(t);
    writeFileSync(join(base, "file"), "");
    const { run, calls, counted, logged } = await cached(t, { options: { directory: prepare(base) } });
    const before = readdirSync(base, { recursive: true });
    const response = await run();
    assert.deepEqual(response.output?.value, { call: 1 });
    await run();
    assert.equal(calls(), 2);
    assert.equal(await counted("writes_total"), 0);
    assert.equal(await counted("errors_total"), 4, "two reads and two writes");
    assert.ok(logged.some(({ message }) => message === "cannot cache function response"));
    assert.deepEqual(readdirSync(base, { recursive: true }), before, "nothing half-written is left");
  });
}

test("an upgraded function does not get the answers of its predecessor", async (t) => {
  const { run, calls } = await cached(t);
  await run("tag", { revisionName: "fn-1" });
  await run("tag", { revisionName: "fn-2" });
  assert.equal(calls(), 2);
  await run("tag", { revisionName: "fn-1" });
  assert.equal(calls(), 2);
});

test("a fatal response is not stored, whatever its TTL", async (t) => {
  const { run, calls, directory } = await cached(t, { fatal: true });
  await run();
  await run();
  assert.equal(calls(), 2);
  assert.deepEqual(files(directory), []);
});

test("a request without a tag passes by the cache", async (t) => {
  const { run, calls, directory, logged } = await cached(t);
  await run("");
  await run("");
  assert.equal(calls(), 2);
  assert.deepEqual(files(directory), []);
  assert.deepEqual(
    logged.map(({ reason }) => reason),
    ["EmptyRequestTag", "EmptyRequestTag"],
  );
});

test("an error is not stored", async (t) => {
  const directory = temporaryDirectory(t);
  let fails = true;
  const boom = new Error("boom");
  const runner = cacheResponses(
    {
      async run(_target, incoming) {
        if (fails) throw boom;
        return answer(incoming);
      },
    },
    { schema: noSchemas, directory },
  );
  await assert.rejects(runner.run(targetAt("x:1"), tagged("t"), call()), boom);
  fails = false;
  await runner.run(targetAt("x:1"), tagged("t"), call());
});

test("files are the owner's only, in the agreed format, and written whole", async (t) => {
  const { run, directory, clock } = await cached(t);
  await run();
  const path = join(directory, "fn-1", "tag");
  assert.equal(statSync(join(directory, "fn-1")).mode & 0o777, 0o700);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const { deadline, response } = decode(CachedResponse, readFileSync(path));
  assert.equal(Number(deadline?.seconds) * 1000, clock.now() + minute);
  assert.deepEqual(response?.output?.value, { call: 1 });
  assert.deepEqual(files(directory), ["fn-1/tag"], "no temporary file is left");
});

const names = ["../../etc/passwd", "..", ".hidden", "a/b:9443", "", "é", "x".repeat(500), "CON"];

for (const name of names) {
  test(`a revision or tag called ${JSON.stringify(name.slice(0, 20))} stays inside the cache directory`, async (t) => {
    const { run, calls, directory } = await cached(t);
    await run("tag", { revisionName: name });
    await run("tag", { revisionName: name });
    assert.equal(calls(), 1);
    if (name !== "") await run(name);
    const found = files(directory);
    assert.equal(found.length, name === "" ? 1 : 2);
    assert.ok(found.every((path) => !path.startsWith(".") && !path.includes("/.")));
    assert.equal(readdirSync(join(directory, "..")).length, 1);
  });
}

test("eviction deletes what has expired, then the empty directory", async (t) => {
  const { run, runner, clock, directory, counted } = await cached(t);
  await run("a");
  clock.advance(minute / 2);
  await run("b", { revisionName: "fn-2" });
  clock.advance(minute / 2 + 1);
  await runner.evict();
  assert.deepEqual(files(directory), ["fn-2/b"]);
  assert.equal(await counted("deletes_total"), 1);
  assert.ok((await counted("bytes_deleted_total")) > 0);
  assert.deepEqual(readdirSync(directory).sort(), ["fn-1", "fn-2"]);
  await runner.evict();
  assert.deepEqual(readdirSync(directory), ["fn-2"]);
});

test("eviction leaves files it cannot read, and says so", async (t) => {
  const { run, runner, directory, counted, logged } = await cached(t);
  await run();
  writeFileSync(join(directory, "fn-1", "odd"), "odd");
  await runner.evict();
  assert.deepEqual(files(directory), ["fn-1/odd", "fn-1/tag"]);
  assert.equal(await counted("errors_total"), 1);
  assert.match(String(logged.at(-1)?.["message"]), /^cannot evict ".*odd"$/);
});

test("eviction takes empty files and what a crash left half written, but not what is being written", async (t) => {
  const { run, runner, clock, directory } = await cached(t);
  await run();
  const path = (name: string): string => join(directory, "fn-1", name);
  for (const name of ["empty", ".old", ".new"]) writeFileSync(path(name), "");
  const secondsAgo = (seconds: number): Date => new Date(clock.now() - seconds * 1000);
  utimesSync(path(".old"), secondsAgo(601), secondsAgo(601));
  utimesSync(path(".new"), secondsAgo(1), secondsAgo(1));
  await runner.evict();
  assert.deepEqual(files(directory).sort(), ["fn-1/.new", "fn-1/tag"]);
});

test("eviction of a cache that does not exist yet does nothing", async (t) => {
  const { runner, counted } = await cached(t);
  await runner.evict();
  assert.equal(await counted("errors_total"), 0);
});

test("a cache that gets full evicts by itself", async (t) => {
  const large = (): Struct => Struct.from({ pad: "x".repeat(1000) });
  const { run, directory } = await cached(t, { output: large, options: { maxBytes: 5_000 } });
  for (let i = 0; i < 6; i++) await run(`tag-${i}`);
  await t.waitFor(() => assert.ok(files(directory).length < 5), { interval: 1, timeout: patience });
});

test("a full cache makes room by dropping what would expire next", async (t) => {
  const large = (): Struct => Struct.from({ pad: "x".repeat(1000) });
  const { run, runner, clock, directory } = await cached(t, { output: large, options: { maxBytes: 5_000 } });
  for (let i = 0; i < 20; i++) {
    await run(`tag-${String(i).padStart(2, "0")}`);
    clock.advance(1);
    await runner.evict();
    const bytes = files(directory).reduce((total, file) => total + statSync(join(directory, file)).size, 0);
    assert.ok(bytes <= 5_000, `${bytes} bytes after ${i + 1} writes`);
  }
  assert.ok(files(directory).includes("fn-1/tag-19"), "the newest is kept");
  assert.ok(!files(directory).includes("fn-1/tag-00"), "the oldest is gone");
});

test("the functions of the last thousand revisions are known by name; evictions of others count by directory", async (t) => {
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const deleted: string[] = [];
  const metrics = {
    ...createRunnerMetrics(new Registry()),
    cache: (counter: string, name: string) => void (counter === "deletes" && deleted.push(name)),
  };
  const response = create(RunFunctionResponse, { meta: create(ResponseMeta, { ttl: ttl(60) }) });
  const directory = join(temporaryDirectory(t), "cache");
  const next = { run: async () => response, close() {} };
  const runner = cacheResponses(next, { schema: noSchemas, directory, clock, metrics });
  const store = (revisionName: string) => runner.run(targetAt("", { revisionName }), tagged("tag"), call());
  const [first, second, ...others] = Array.from({ length: 1000 }, (_, at) => `fn-r${at}`);
  await store(first ?? "");
  await store(second ?? "");
  await Promise.all(others.map(store));
  clock.advance(minute / 2);
  // Stored again: it is no longer the oldest.
  await runner.run(targetAt("", { revisionName: "fn-r0" }), tagged("other"), call());
  await store("fn-r1000");
  clock.advance(minute + 1);
  await runner.evict();
  const known = targetAt("").functionName;
  assert.equal(deleted.length, 1002);
  assert.deepEqual(
    deleted.filter((name) => name !== known),
    ["fn-r1"],
    "the one that was stored longest ago is forgotten",
  );
});
