// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import {
  Condition,
  CredentialData,
  Credentials,
  create,
  encodeCanonical,
  RunFunctionRequest,
  RunFunctionResponse,
  Struct,
} from "@purlin/function-protocol";
import { callOf, runOf, sampleXr, stepOf } from "../../test/sample-runs.ts";
import { inflateRun, omittedIn } from "../read/run-views.ts";
import type { RunRecord } from "../record/stored-run.ts";
import { openRunStore, type RunStore, type RunStoreOptions, readRunStore } from "./open-run-store.ts";

function folder(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "purlin-runs-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Time stands still a minute after the runs. */
const clock = { now: () => 1_790_000_060_000, schedule: () => () => {} };

function open(t: TestContext, options: Partial<RunStoreOptions> = {}): RunStore {
  const store = openRunStore({ directory: folder(t), clock, ...options });
  t.after(() => store[Symbol.dispose]());
  return store;
}

const at = (ms: number, more: Partial<RunRecord> = {}): RunRecord =>
  runOf({ beganMs: 1_790_000_000_000 + ms, endedMs: 1_790_000_000_001 + ms, ...more });

/** A run that differs from all others. */
const another = (n: number, more: Partial<RunRecord> = {}): RunRecord =>
  at(n, { steps: [stepOf(0, callOf({ map: { data: { n } } }))], ...more });

test("a run is read as it was recorded", (t) => {
  const store = open(t);
  const run = at(0, { error: { reason: "ComposeResources", message: "boom" }, outcome: "failed" });
  store.record(run);
  store.flush();
  const [summary] = store.reader.list();
  assert.ok(summary);
  assert.match(summary.id, /^[0-9A-Z]{26}$/);
  assert.deepEqual(
    [summary.xr.name, summary.compositionRevision, summary.composition, summary.cause, summary.outcome, summary.error],
    ["shop", "apps-1", "apps", "spec", "failed", "boom"],
  );
  const document = store.reader.get(summary.id.slice(0, 20));
  assert.ok(document);
  const read = inflateRun(document);
  assert.deepEqual(read.composite, sampleXr);
  const [asked, got] = [run.steps[0]?.calls[0], read.steps[0]?.calls[0]];
  assert.ok(asked?.response && got?.response);
  assert.deepEqual(
    encodeCanonical(RunFunctionRequest, got.request),
    encodeCanonical(RunFunctionRequest, asked.request),
  );
  assert.deepEqual(
    encodeCanonical(RunFunctionResponse, got.response),
    encodeCanonical(RunFunctionResponse, asked.response),
  );
});

test("a run of a revision with integers beyond 2^53 is recorded, with the nearest doubles", (t) => {
  const store = open(t);
  const { revision } = at(0);
  assert.ok(revision);
  const spec = { pipeline: [{ step: "a", input: { max: 9223372036854775807n } }] };
  store.record(at(0, { revision: { ...revision, spec } }));
  store.flush();
  assert.equal(store.stats.problem, undefined);
  const document = store.reader.get(store.reader.list()[0]?.id ?? "");
  assert.ok(document);
  assert.deepEqual(inflateRun(document).revision?.["spec"], { pipeline: [{ step: "a", input: { max: 2 ** 63 } }] });
});

test("objects of any size are read as they were, also one with the member of a reference", (t) => {
  const store = open(t);
  const desired = {
    empty: {},
    small: { data: { text: "s" } },
    large: { data: { text: "l".repeat(1000) } },
    reference: { "\u0000ref": "0".repeat(32) },
  };
  const run = at(0, { steps: [stepOf(0, callOf(desired))] });
  store.record(run);
  store.flush();
  const document = store.reader.get(store.reader.list()[0]?.id ?? "");
  assert.ok(document);
  const { resources } = inflateRun(document).steps[0]?.calls[0]?.response?.desired ?? {};
  const read = [...(resources ?? [])].map(([name, { resource }]) => [name, resource?.value]);
  assert.deepEqual(Object.fromEntries(read), desired);
  const stored = inflateRun(document).steps[0];
  const bytes = [...(run.steps[0]?.calls[0]?.response?.desired?.resources.values() ?? [])].map(
    ({ resource }) => resource?.bytes.length ?? 0,
  );
  assert.equal(
    stored?.bytesOut,
    bytes.reduce((sum, length) => sum + length, 0),
  );
});

test("ten thousand equal runs are one row with 9,999 repeats", (t) => {
  const store = open(t);
  for (let n = 0; n < 10_000; n++) {
    store.record(at(n));
    if (n % 200 === 199) store.flush();
  }
  const runs = store.reader.list();
  assert.equal(runs.length, 1);
  assert.equal(runs[0]?.repeats, 9_999);
  assert.equal(Date.parse(runs[0]?.last ?? ""), 1_790_000_010_000);
  assert.equal(store.stats.dropped, 0);
});

test("an XR keeps its newest runs, and always the last failure and the first of each revision", (t) => {
  const store = open(t, { bounds: { maxRunsPerXr: 5 } });
  store.record(another(0));
  store.record(another(1, { outcome: "failed", error: { reason: "", message: "boom" } }));
  for (let n = 2; n < 30; n++) store.record(another(n));
  store.flush();
  const began = store.reader.list().map((run) => Date.parse(run.began) - 1_790_000_000_000);
  assert.deepEqual(began, [29, 28, 27, 1, 0]);
});

test("the size bound holds, objects go with their last run, and the newest run stays", (t) => {
  const directory = folder(t);
  const store = open(t, { directory, bounds: { maxBytes: 256 * 1024, maxRunsPerXr: 1000 } });
  for (let n = 0; n < 400; n++) {
    const noise = Array.from({ length: 40 }, () => Math.random().toString(36)).join("");
    store.record(another(n, { steps: [stepOf(0, callOf({ map: { data: { noise } } }))] }));
    store.flush();
  }
  const runs = store.reader.list();
  assert.ok(runs.length > 50 && runs.length < 400, `${runs.length} runs`);
  assert.equal(Date.parse(runs[0]?.began ?? "") - 1_790_000_000_000, 399);
  const { size } = statSync(join(directory, "runs.db"));
  assert.ok(size < 2 * 256 * 1024, `${size} bytes`);
  for (const { id } of runs) assert.ok(Object.keys(store.reader.get(id)?.parts ?? {}).length >= 3, id);
});

test("runs older than the age bound go, except those that are always kept", (t) => {
  const store = open(t, { bounds: { maxAgeMs: 61_000 } });
  for (const ms of [-5000, -4000, -3000, -10]) store.record(another(ms));
  store.flush();
  const began = store.reader.list().map((run) => Date.parse(run.began) - 1_790_000_000_000);
  assert.deepEqual(began, [-10, -5000]);
});

test("a run larger than the bound is kept as sizes", (t) => {
  const store = open(t, { bounds: { maxBytes: 2 ** 20 } });
  const noise = "x".repeat(5 * 2 ** 20);
  store.record(another(0, { steps: [stepOf(0, callOf({ map: { data: { noise } } }))] }));
  store.flush();
  const document = store.reader.get(store.reader.list()[0]?.id ?? "");
  assert.ok(document);
  const call = inflateRun(document).steps[0]?.calls[0];
  assert.ok(call);
  const omitted = omittedIn(call);
  assert.equal(omitted.objects, 1);
  assert.ok(omitted.bytes > 5 * 2 ** 20);
});

test("a queue that is full drops runs and counts them", (t) => {
  const store = open(t);
  for (let n = 0; n < 300; n++) store.record(another(n));
  assert.equal(store.stats.dropped, 300 - 256);
  store.flush();
  assert.equal(store.stats.recorded, 256);
});

test("a file that is not a store stops recording with one warning, and nothing throws", (t) => {
  const directory = folder(t);
  writeFileSync(
    join(directory, "runs.db"),
    "this is not a database, and it is long enough to be read as one".repeat(50),
  );
  const warnings: string[] = [];
  const store = open(t, { directory, onWarning: (text) => warnings.push(text) });
  for (let n = 0; n < 3; n++) store.record(another(n));
  store.flush();
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /^warning: runs are no longer recorded: .*runs\.db: .*not a database/);
  assert.deepEqual(store.reader.list(), []);
});

test("files of a store are readable by their owner only", (t) => {
  const directory = folder(t);
  const readable = (): string[] =>
    readdirSync(directory).filter((name) => (statSync(join(directory, name)).mode & 0o077) !== 0);
  const store = open(t, { directory });
  store.record(another(0));
  store.flush();
  assert.ok(readdirSync(directory).includes("runs.db-wal"));
  assert.deepEqual(readable(), []);
  // As earlier versions left them.
  for (const name of readdirSync(directory)) chmodSync(join(directory, name), 0o644);
  open(t, { directory });
  assert.deepEqual(readable(), ["runs.key"]);
});

test("a cached response names the run of the call", (t) => {
  const store = open(t);
  store.record(another(0, { steps: [stepOf(0, callOf({ map: { data: {} } }))] }));
  store.record(at(1, { steps: [stepOf(0, callOf({ map: { data: {} } }), { isCached: true })] }));
  store.flush();
  const [cached, called] = store.reader.list();
  const step = store.reader.get(cached?.id ?? "")?.run.steps[0];
  assert.equal(step?.cached, true);
  assert.equal(step?.origin, called?.id);
});

test("of a response with texts of many megabytes, the first texts and their beginnings are kept", (t) => {
  const store = open(t);
  const call = callOf({});
  const long = (type: string): Condition =>
    create(Condition, { type, status: 2, reason: "R", message: "x".repeat(10_000) });
  const conditions = Array.from({ length: 1000 }, (_, index) => long(`T${index}`));
  const response = { ...(call.response ?? create(RunFunctionResponse, {})), conditions };
  store.record(at(0, { steps: [stepOf(0, { ...call, response })] }));
  store.flush();
  const document = store.reader.get(store.reader.list()[0]?.id ?? "");
  assert.ok(document);
  const kept = inflateRun(document).steps[0]?.calls[0]?.response?.conditions ?? [];
  assert.equal(kept.length, 100);
  assert.match(kept[0]?.message ?? "", /^x{4096}… \(10000 characters\)$/);
});

/** A clock whose work runs when a test says so. */
function steppedClock() {
  const waiting: (() => void)[] = [];
  const schedule = (_afterMs: number, action: () => void): (() => void) => {
    waiting.push(action);
    return () => void waiting.splice(waiting.indexOf(action) >>> 0, 1);
  };
  return { now: clock.now, schedule, step: () => (waiting.shift() ?? assert.fail("nothing waits"))() };
}

test("a run with large messages is stored in many parts, whole or not at all", (t) => {
  const stepped = steppedClock();
  const directory = folder(t);
  const store = open(t, { directory, clock: stepped });
  const texts = (index: number): object => ({ text: `${index}`.repeat(100_000), list: Array(5_000).fill(index) });
  const steps = Array.from({ length: 10 }, (_, index) =>
    stepOf(index, callOf(Object.fromEntries(Array.from({ length: 5 }, (_, n) => [`r${n}`, texts(10 * index + n)])))),
  );
  store.record(at(0, { steps }));
  let slices = 0;
  let before = 0;
  while (store.stats.recorded === 0) {
    using reader = readRunStore(directory);
    before = Math.max(before, reader.list().length);
    stepped.step();
    slices++;
  }
  assert.equal(before, 0, "nothing of it is read before it is stored");
  assert.ok(slices > 10, `${slices} slices`);
  using reader = readRunStore(directory);
  const document = reader.get(reader.list()[0]?.id ?? "");
  assert.ok(document);
  const read = inflateRun(document).steps[9]?.calls[0]?.response?.desired?.resources.get("r4")?.resource?.value;
  assert.deepEqual(read, texts(94));
});

test("runs that wait have at most 64 MiB in memory, or are one", (t) => {
  const store = open(t);
  const large = { text: "x".repeat(40 * 2 ** 20) };
  const run = another(0, { steps: [stepOf(0, callOf({ large }))] });
  assert.deepEqual([store.record(run), store.record(run), store.record(run)], [true, false, false]);
  assert.equal(store.stats.dropped, 2);
  store.record(another(1));
  store.flush();
  assert.equal(store.stats.recorded, 2);
  store.record(run);
  assert.equal(store.stats.dropped, 2);
});

test("credentials count as what waits in memory", (t) => {
  const store = open(t);
  const value = create(CredentialData, { data: new Map([["key", Buffer.alloc(10 * 2 ** 20)]]) });
  const credentials = new Map([["c", create(Credentials, { source: { case: "credentialData", value } })]]);
  const run = (n: number): RunRecord =>
    another(n, { steps: [0, 1].map((index) => stepOf(index, callOf({ map: { n } }, { credentials }))) });
  assert.deepEqual(
    [0, 1, 2, 3].map((n) => store.record(run(n))),
    [true, true, true, false],
  );
  assert.equal(store.stats.dropped, 1);
});

test("a run whose size cannot be determined is dropped", (t) => {
  const store = open(t);
  const { request } = callOf({});
  const broken = {
    get bytes(): never {
      throw new Error("boom");
    },
  } as unknown as Struct;
  assert.equal(store.record(at(0, { steps: [stepOf(0, { request: { ...request, input: broken } })] })), false);
  store.record(another(1));
  store.flush();
  assert.deepEqual([store.stats.recorded, store.stats.dropped, store.stats.problem], [1, 1, undefined]);
});

test("a run with an object that cannot be read is dropped, and later ones are recorded", (t) => {
  const logged: string[] = [];
  const note = (message: string): void => void logged.push(message);
  const store = open(t, { log: { debug: note, info: note, error: note } });
  const call = callOf({});
  const output = Struct.fromBytes(Buffer.from([0x0a, 0xff]));
  const response = { ...(call.response ?? create(RunFunctionResponse, {})), output };
  store.record(at(0, { steps: [stepOf(0, { ...call, response })] }));
  store.record(another(1));
  store.flush();
  assert.deepEqual(store.stats.problem, undefined);
  assert.deepEqual([store.stats.recorded, store.stats.dropped], [1, 1]);
  assert.deepEqual(logged, ["cannot record a run"]);
});

test("runs that wait are stored in parts before runs are read", async (t) => {
  const store = open(t);
  const texts = (index: number): object => ({ text: `${index}`.repeat(50_000), list: Array(20_000).fill(index) });
  for (let n = 0; n < 8; n++)
    store.record(another(n, { steps: [stepOf(0, callOf({ a: texts(n), b: texts(n + 10) }))] }));
  let isDone = false;
  const flushed = store.flushInTurns().then(() => {
    isDone = true;
  });
  let turns = 0;
  for (; !isDone; turns++) {
    store.record(another(100 + turns));
    await setImmediate();
  }
  await flushed;
  assert.ok(turns > 1, `${turns} turns`);
  assert.ok(store.stats.recorded >= 8, `${store.stats.recorded} runs`);
});
