// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { expired, internalError, tooManyRequests } from "@purlin/kube-objects/errors";
import type { KubeList, KubeObject, WatchEvent } from "@purlin/kube-objects/object";
import type { KubeReader, WatchOptions } from "./client.ts";
import { type InformerOptions, startInformer } from "./informer.ts";
import { createInformerPool } from "./informer-pool.ts";
import { NoMatchError } from "./rest-mapper.ts";

const type = { apiVersion: "v1", kind: "ConfigMap" };

function object(name: string, resourceVersion: string, labels: Record<string, string> = {}): KubeObject {
  return { ...type, metadata: { name, namespace: "ns", resourceVersion, labels } };
}

const added = (one: KubeObject): WatchEvent => ({ type: "ADDED", object: one });
const modified = (one: KubeObject): WatchEvent => ({ type: "MODIFIED", object: one });
const deleted = (one: KubeObject): WatchEvent => ({ type: "DELETED", object: one });

/** A server that plays a script: each list and each watch takes the next entry; a watch after the last one stays open. */
function scripted(lists: (KubeList | Error)[], watches: (WatchEvent | Error)[][]) {
  const asked: string[] = [];
  const drained = Promise.withResolvers<void>();
  const reader: KubeReader = {
    get: () => Promise.reject(new Error("not asked for")),
    async list(_, options) {
      asked.push(`list ${options?.continue ?? ""}`.trim());
      const next = lists.shift() ?? new Error("no list left");
      if (next instanceof Error) throw next;
      return next;
    },
    async watch(_, options: WatchOptions = {}) {
      asked.push(`watch ${options.resourceVersion}`);
      return play(watches.shift(), options.signal);
    },
  };
  async function* play(events: (WatchEvent | Error)[] | undefined, signal?: AbortSignal): AsyncGenerator<WatchEvent> {
    for (const event of events ?? []) {
      if (event instanceof Error) throw event;
      yield event;
    }
    if (events !== undefined) return;
    drained.resolve();
    await new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true }));
  }
  return { reader, asked, drained: drained.promise };
}

const page = (items: KubeObject[], resourceVersion: string, next?: string): KubeList => ({
  items,
  resourceVersion,
  continue: next,
});

async function play(
  lists: (KubeList | Error)[],
  watches: (WatchEvent | Error)[][],
  options: InformerOptions = {},
): Promise<{
  asked: string[];
  changes: string[];
  held: string[];
  version: string;
  pauses: number[];
  errors: unknown[];
}> {
  const { reader, asked, drained } = scripted(lists, watches);
  const pauses: number[] = [];
  const errors: unknown[] = [];
  const informer = startInformer(reader, type, {
    sleep: async (ms) => void pauses.push(ms),
    onError: (error) => errors.push(error),
    ...options,
  });
  const changes: string[] = [];
  informer.subscribe((change) => changes.push(`${change.type} ${change.object.metadata.name}`));
  await drained;
  const held = informer.list().map((one) => `${one.metadata.name}@${one.metadata.resourceVersion}`);
  const version = informer.resourceVersion;
  await informer.stop();
  return { asked, changes, held, version, pauses, errors };
}

test("lists page by page, then watches from the list's version", async () => {
  const run = await play([page([object("a", "1")], "5", "next"), page([object("b", "2")], "5")], []);
  assert.deepEqual(run.asked, ["list", "list next", "watch 5"]);
  assert.deepEqual(run.changes, ["added a", "added b"]);
});

test("a watch that ends is resumed from the last version, also when only a bookmark carried it", async () => {
  const bookmark: WatchEvent = { type: "BOOKMARK", resourceVersion: "9", initialEventsEnd: false };
  const run = await play(
    [page([], "5")],
    [[added(object("a", "6")), modified(object("a", "7"))], [bookmark], [deleted(object("a", "10"))]],
  );
  assert.deepEqual(run.asked, ["list", "watch 5", "watch 7", "watch 9", "watch 10"]);
  assert.deepEqual(run.changes, ["added a", "updated a", "deleted a"]);
  assert.deepEqual([run.held, run.version], [[], "10"]);
});

test("a version that is gone is listed again; objects that vanished meanwhile are reported as deleted", async () => {
  const gone = expired("too old resource version");
  const run = await play(
    [page([object("a", "1"), object("b", "2")], "5"), page([object("b", "2"), object("c", "8")], "9")],
    [[gone]],
  );
  assert.deepEqual(run.asked, ["list", "watch 5", "list", "watch 9"]);
  assert.deepEqual(run.changes, ["added a", "added b", "deleted a", "added c"]);
  assert.deepEqual(run.pauses, [], "a first relist does not wait");
});

test("an event that arrives twice is delivered once", async () => {
  const run = await play([page([object("a", "1")], "5")], [[added(object("a", "1")), modified(object("a", "6"))]]);
  assert.deepEqual(run.changes, ["added a", "updated a"]);
});

test("a list on request replaces the watch, and finds objects that changed under the same resource version", async () => {
  const before = { ...object("a", "1"), spec: { pruned: 1 } };
  const after = { ...object("a", "1"), spec: {} };
  const lists = [page([before, object("b", "2")], "5"), page([after, object("b", "2")], "5")];
  const { reader, asked, drained } = scripted(lists, []);
  const pauses: number[] = [];
  const informer = startInformer(reader, type, { sleep: async (ms) => void pauses.push(ms) });
  await drained;
  const changes: unknown[] = [];
  const held = informer.get({ namespace: "ns", name: "b" });
  informer.subscribe((change) => changes.push(change));
  changes.length = 0;
  informer.relist();
  while (asked.length < 4) await new Promise(setImmediate);
  assert.deepEqual(asked, ["list", "watch 5", "list", "watch 5"]);
  assert.deepEqual(changes, [{ type: "updated", object: after, previous: before }]);
  assert.equal(informer.get({ namespace: "ns", name: "b" }), held, "an object that is the same stays the same");
  assert.deepEqual([pauses, informer.isReady, informer.lists], [[], true, 2]);
  await informer.stop();
});

test("a list that is requested while one runs is made after it", async () => {
  const gate = Promise.withResolvers<void>();
  const { reader, asked, drained } = scripted([page([], "5"), page([object("a", "1")], "6")], []);
  const slow: KubeReader = {
    ...reader,
    async list(...args) {
      const answer = await reader.list(...args);
      if (asked.length === 1) await gate.promise;
      return answer;
    },
  };
  const informer = startInformer(slow, type);
  informer.relist();
  gate.resolve();
  await drained;
  assert.deepEqual([asked, informer.list().length], [["list", "list", "watch 6"], 1]);
  await informer.stop();
});

test("failures are reported and retried with a growing delay, without losing the resource version", async () => {
  const boom = internalError("boom");
  const run = await play([boom, page([], "5")], [[boom], [boom], [added(object("a", "6"))]]);
  assert.deepEqual(run.asked, ["list", "list", "watch 5", "watch 5", "watch 5", "watch 6"]);
  assert.equal(run.errors.length, 3);
  assert.equal(run.pauses.length, 3);
  const [, first = 0, second = 0] = run.pauses;
  assert.ok(first < second, `${run.pauses}`);
});

/** The longest pause after one failure. */
const shortPauseMs = 240;

test("a list that succeeds ends the row of failures before it: the next failure is waited out as the first", async () => {
  const gone = new NoMatchError(type);
  const busy = tooManyRequests("storage is (re)initializing", 1);
  const absent = Array.from({ length: 10 }, () => gone);
  const run = await play([...absent, page([object("a", "1")], "5")], [[busy]]);
  assert.deepEqual(run.asked.slice(10), ["list", "watch 5", "watch 5"]);
  const last = run.pauses.at(-1) ?? 0;
  assert.ok(last <= shortPauseMs, `${run.pauses}`);
  assert.ok((run.pauses.at(-2) ?? 0) > 20_000, "the type was absent for long");
});

test("versions that expire as soon as they are listed are waited out longer each time", async () => {
  const gone = expired("too old resource version");
  const lists = Array.from({ length: 6 }, () => page([object("a", "1")], "5"));
  const run = await play(lists, [[gone], [gone], [gone], [gone], [gone]]);
  assert.equal(run.pauses.length, 4, "but for the first");
  assert.deepEqual(
    run.pauses,
    run.pauses.toSorted((a, b) => a - b),
  );
});

test("list selects by namespace and labels, indexes follow changes", async () => {
  const { reader, drained } = scripted(
    [page([object("a", "1", { app: "x" }), object("b", "2", { app: "y" })], "5")],
    [[modified(object("a", "6", { app: "y" })), deleted(object("b", "7", { app: "y" }))]],
  );
  const informer = startInformer(reader, type, { sleep: async () => {} });
  informer.addIndex("app", (one) => [one.metadata.labels?.["app"] ?? ""]);
  await drained;
  const names = (objects: KubeObject[]): unknown[] => objects.map((one) => one.metadata.name);
  assert.deepEqual(names(informer.byIndex("app", "y")), ["a"]);
  assert.deepEqual(names(informer.byIndex("app", "x")), []);
  assert.deepEqual(names(informer.list({ labelSelector: "app in (y)" })), ["a"]);
  assert.deepEqual(names(informer.list({ namespace: "other" })), []);
  assert.throws(() => informer.byIndex("none", "x"), /no index "none"/);
  informer.addIndex("letters", ({ metadata }) => [...(metadata.name ?? "")]);
  assert.deepEqual(names(informer.byIndex("letters", "a", "a")), ["a"], "all values must be there");
  assert.deepEqual(names(informer.byIndex("letters", "a", "?")), []);
  await informer.stop();
});

test("a late subscriber first gets an event for each object", async () => {
  const { reader, drained } = scripted([page([object("a", "1")], "5")], []);
  const informer = startInformer(reader, type);
  await drained;
  const changes: string[] = [];
  const stop = informer.subscribe(({ type: what }) => changes.push(what));
  stop();
  assert.deepEqual(changes, ["added"]);
  await informer.stop();
});

test("waiting for the first list ends with the signal, and with the informer", async () => {
  const { reader } = scripted([], []);
  const informer = startInformer(reader, type, {
    sleep: (_, signal) => new Promise((done) => signal.addEventListener("abort", () => done())),
  });
  const stop = new AbortController();
  const waiting = informer.synced(stop.signal);
  stop.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
  const other = informer.synced();
  await informer.stop();
  await assert.rejects(other, /the informer was stopped/);
});

test("a type that goes takes its objects along; the informer says why and finds the type again", async () => {
  const gone = new NoMatchError(type);
  const run = await play([page([object("a", "1")], "5"), gone, page([object("a", "12")], "13")], [[gone]]);
  assert.deepEqual(run.asked, ["list", "watch 5", "list", "list", "watch 13"]);
  assert.deepEqual(run.changes, ["added a", "deleted a", "added a"]);
  assert.deepEqual(run.errors, [gone, gone]);
});

test("waiting for an informer that is not ready fails with the reason, and makes it retry at once", async () => {
  const forbidden = internalError("not for you");
  const { reader, asked, drained } = scripted([forbidden, page([object("a", "1")], "5")], []);
  const reported: unknown[] = [];
  const informer = startInformer(reader, type, {
    onError: (error, { kind }) => reported.push([kind, error]),
    sleep: (_, signal) => new Promise((done) => signal.addEventListener("abort", () => done())),
  });
  await assert.rejects(informer.ready(), forbidden);
  assert.deepEqual([informer.isReady, informer.lists, reported], [false, 0, [["ConfigMap", forbidden]]]);
  await informer.ready();
  assert.deepEqual([informer.isReady, informer.lists], [true, 1]);
  await informer.ready();
  await drained;
  assert.deepEqual(asked, ["list", "list", "watch 5"]);
  const early = AbortSignal.abort(new Error("enough"));
  await informer.ready(early);
  await informer.stop();
});

test("after Retry-After the informer waits before pending waits fail", async () => {
  const busy = tooManyRequests("storage is (re)initializing", 1);
  const wait = { sleep: async () => {} };
  const soon = scripted([busy, busy, page([object("a", "1")], "5")], []);
  const informer = startInformer(soon.reader, type, wait);
  await informer.ready();
  assert.deepEqual(soon.asked.slice(0, 3), ["list", "list", "list"]);
  await informer.stop();
  const never = startInformer(scripted([busy, busy, busy, busy, busy], []).reader, type, wait);
  await assert.rejects(never.ready(), /initializing/);
  await never.stop();
});

test("waiting to be ready ends with the signal, and with the informer", async () => {
  const reader: KubeReader = {
    get: () => Promise.reject(new Error("not asked for")),
    list: (_, options) =>
      new Promise((_resolve, reject) => options?.signal?.addEventListener("abort", () => reject(new Error("cut")))),
    watch: () => Promise.reject(new Error("not asked for")),
  };
  const informer = startInformer(reader, type);
  const stop = new AbortController();
  const waiting = informer.ready(stop.signal);
  stop.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
  const other = informer.ready();
  await informer.stop();
  await assert.rejects(other, /the informer was stopped/);
});

test("the pool shares one informer a type and stops it with its last holder", async () => {
  const { reader, asked, drained } = scripted([page([], "5")], []);
  const pool = createInformerPool(reader);
  const [one, two] = [pool.acquire(type), pool.acquire(type)];
  assert.equal(one.informer, two.informer);
  await drained;
  await one.release();
  await one.release();
  assert.equal(pool.peek(type), two.informer, "releasing twice counts once");
  await two.release();
  assert.equal(pool.peek(type), undefined);
  assert.deepEqual(asked, ["list", "watch 5"]);
  await pool.stop();
});

test("a pool that has stopped starts no informer: a late wait fails, and no request is sent", async () => {
  const { reader, asked } = scripted([page([], "5")], []);
  const pool = createInformerPool(reader);
  await pool.stop();
  const late = pool.acquire(type);
  await assert.rejects(late.informer.ready(), /the informer was stopped/);
  await assert.rejects(late.informer.synced(), /the informer was stopped/);
  await late.release();
  assert.equal(pool.peek(type), undefined);
  assert.ok(!asked.some((line) => line.startsWith("watch")), asked.join());
});

test("other work runs between the objects of a long list, which is ready at its end", async () => {
  const items = Array.from({ length: 60 }, (_, i) => object(`o${i}`, "1"));
  const { reader } = scripted([page(items, "1")], []);
  const informer = startInformer(reader, type);
  const names: (string | undefined)[] = [];
  let turns = 0;
  let turnsWhileListing = 0;
  const count = (): void => {
    turns += 1;
    if (!informer.isReady) setImmediate(count);
  };
  informer.subscribe(({ object: { metadata } }) => {
    const start = performance.now();
    while (performance.now() - start < 5);
    names.push(metadata.name);
    assert.equal(informer.isReady, false);
    assert.equal(informer.list().length, names.length, "each change is notified when it is made");
    turnsWhileListing = turns;
  });
  setImmediate(count);
  await informer.ready();
  assert.deepEqual(
    names,
    items.map(({ metadata }) => metadata.name),
  );
  // 300 ms of work, at most the time of a turn and one object more in each.
  assert.ok(turnsWhileListing >= 10, `${turnsWhileListing} turns`);
  await informer.stop();
});

test("waiting for a type that has gone fails with the reason, also while its objects are dropped", async () => {
  const gone = new NoMatchError(type);
  const { reader } = scripted([page([object("a", "1"), object("b", "2")], "5")], [[gone]]);
  const informer = startInformer(reader, type, {
    sleep: (_, signal) => new Promise((done) => signal.addEventListener("abort", () => done())),
  });
  const waits: Promise<void>[] = [];
  const dropped = Promise.withResolvers<void>();
  informer.subscribe(({ type: what }) => {
    if (what === "added") return;
    waits.push(assert.rejects(informer.ready(), gone));
    if (waits.length === 2) dropped.resolve();
  });
  await dropped.promise;
  await Promise.all(waits);
  assert.equal(informer.isReady, false);
  await informer.stop();
});

test("an informer that is stopped between the objects of a list notifies no others, and is not ready", async () => {
  const { reader } = scripted([page([object("a", "1"), object("b", "2"), object("c", "3")], "5")], []);
  const informer = startInformer(reader, type);
  const names: (string | undefined)[] = [];
  const stopped = Promise.withResolvers<void>();
  informer.subscribe(({ object: { metadata } }) => {
    names.push(metadata.name);
    if (names.length === 2) stopped.resolve(informer.stop());
  });
  await stopped.promise;
  assert.deepEqual([names, informer.isReady, informer.lists], [["a", "b"], false, 0]);
  await assert.rejects(informer.ready(), /the informer was stopped/);
});
