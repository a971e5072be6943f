// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { manualClock } from "@purlin/base/testing";
import {
  CredentialData,
  Credentials,
  create,
  Requirements,
  Resource,
  ResourceSelector,
  Result,
  RunFunctionRequest,
  RunFunctionResponse,
  Severity,
  State,
  Struct,
} from "@purlin/function-protocol";
import type { JsonObject } from "@purlin/kube-objects/json";
import { createRedactor, keyedMark } from "@purlin/run-store";
import type { FunctionRunner, FunctionTarget, ShadowOrder } from "../function-runner.ts";
import type { ResourceReader } from "../requirements/objects-reader.ts";
import { createResourceFetcher, settleRequirements } from "../requirements/settle-requirements.ts";
import { noSchemas } from "../schemas/schema-fetcher.ts";
import { type ShadowLimits, type ShadowOffer, ShadowRuns, shadowSteps } from "./shadow-runs.ts";
import { ShadowStore } from "./shadow-store.ts";

const folder = mkdtempSync(join(tmpdir(), "purlin-shadow-"));
after(() => rmSync(folder, { recursive: true }));

const redactor = createRedactor({ mark: keyedMark(Buffer.alloc(32, 7)) });
const map = (data: JsonObject, more: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "m" },
  data,
  ...more,
});

function answer(resources: Record<string, JsonObject>, more: Partial<RunFunctionResponse> = {}): RunFunctionResponse {
  const entries = Object.entries(resources).map(([name, object]) => {
    return [name, create(Resource, { resource: Struct.from(object) })] as const;
  });
  return create(RunFunctionResponse, { desired: create(State, { resources: new Map(entries) }), ...more });
}

const target = (revisionName: string): FunctionTarget => ({
  functionName: "f",
  revisionName,
  packageRef: "",
  endpoint: "memory",
  revision: 1,
});

function orderFor(uid: string, labels: Record<string, string> = {}): ShadowOrder {
  const composite = {
    uid,
    apiVersion: "example.org/v1",
    kind: "App",
    namespace: "default",
    name: `app-${uid}`,
    labels,
  };
  return {
    rollout: { uid: "rollout", name: "r" },
    candidate: target("f-2"),
    composite: { ...composite, compositionLabels: {} },
  };
}

function offerOf(stable: RunFunctionResponse, more: Partial<ShadowOffer> = {}): ShadowOffer {
  const request = create(RunFunctionRequest, {});
  return { order: orderFor("1"), step: "s", request, stable, stableMs: 60_000, isCached: false, ...more };
}

interface Scene {
  readonly runs: ShadowRuns;
  readonly store: ShadowStore;
}

function scene(
  candidate: FunctionRunner["run"],
  more: { limits?: Partial<ShadowLimits>; store?: ShadowStore; random?: () => number; samplePercent?: number } = {},
): Scene {
  const { store = new ShadowStore(), ...rest } = more;
  return { store, runs: new ShadowRuns({ runner: { run: candidate }, store, redactor, ...rest }) };
}

async function classOf(stable: RunFunctionResponse, candidate: RunFunctionResponse | Error) {
  const { runs, store } = scene(async () => {
    if (candidate instanceof Error) throw candidate;
    return candidate;
  });
  runs.offer(offerOf(stable));
  await runs.idle();
  const { classes, total } = store.report("rollout");
  assert.equal(total, 1);
  const [found] = Object.entries(classes).find(([, count]) => count === 1) ?? [];
  return { found, detail: store.details("rollout")[0] };
}

const base = (): Record<string, JsonObject> => ({ a: map({ v: "1" }), b: map({ v: "1" }) });
const fatal = create(Result, { severity: Severity.SEVERITY_FATAL, message: "no disk" });
const note = create(Result, { severity: Severity.SEVERITY_NORMAL, message: "hello" });

test("a resource with a declared move is changed, not deleted", async () => {
  const moved = { renames: [["a", "c"]], leaving: ["b"] };
  const order = { ...orderFor("1"), composite: { ...orderFor("1").composite, moved } };
  const compared = async (next: Record<string, JsonObject>): Promise<readonly string[]> => {
    const { runs, store } = scene(async () => answer(next));
    runs.offer(offerOf(answer(base()), { order }));
    await runs.idle();
    return (store.details("rollout")[0]?.resources ?? []).map(
      ({ resource, class: what, fields }) => `${what} ${resource}: ${fields.map(({ path }) => path).join(",")}`,
    );
  };
  assert.deepEqual(await compared({ c: map({ v: "2" }), b: map({ v: "1" }) }), ["change c: resource,data.v"]);
  assert.deepEqual(await compared({ a: map({ v: "1" }) }), ["change b: resource"]);
  assert.deepEqual(await compared({ b: map({ v: "1" }) }), ["delete a: "], "a rename needs its new name");
  const other = { apiVersion: "v1", kind: "Secret" };
  assert.deepEqual(await compared({ c: other, b: map({ v: "1" }) }), ["delete a: ", "change c: "], "of another kind");
});

const rows: Readonly<
  Record<
    string,
    { stable?: RunFunctionResponse; next: RunFunctionResponse | Error; want: string; resources?: string[] }
  >
> = {
  "the same answer": { next: answer(base()), want: "none" },
  "the same objects in another order of fields": {
    next: answer({
      b: { data: { v: "1" }, metadata: { name: "m" }, kind: "ConfigMap", apiVersion: "v1" },
      a: map({ v: "1" }),
    }),
    want: "none",
  },
  "another message": { next: answer(base(), { results: [note] }), want: "cosmetic" },
  "the same quantity in another form": {
    stable: answer({ a: map({}, { spec: { limits: { memory: "1Gi" } } }) }),
    next: answer({ a: map({}, { spec: { limits: { memory: "1024Mi" } } }) }),
    want: "cosmetic",
  },
  "another value": {
    next: answer({ a: map({ v: "2" }), b: map({ v: "1" }) }),
    want: "change",
    resources: ["change a data.v"],
  },
  "one resource more": { next: answer({ ...base(), c: map({}) }), want: "change", resources: ["change c "] },
  "another kind under a name": {
    next: answer({ a: { ...map({}), kind: "Secret" }, b: map({ v: "1" }) }),
    want: "replace",
    resources: ["replace a kind"],
  },
  "one resource less": { next: answer({ b: map({ v: "1" }) }), want: "delete", resources: ["delete a "] },
  "a resource less and a change: the worst counts": {
    next: answer({ b: map({ v: "2" }) }),
    want: "delete",
    resources: ["delete a ", "change b data.v"],
  },
  "no state at all": { next: create(RunFunctionResponse, {}), want: "delete", resources: ["delete a ", "delete b "] },
  "a fatal result": { next: answer({}, { results: [fatal] }), want: "fatal" },
  "a fatal result of both": {
    stable: answer({}, { results: [fatal] }),
    next: answer({}, { results: [fatal] }),
    want: "none",
  },
  "a call that fails": { next: new Error("connection refused"), want: "error" },
};

for (const [title, { stable = answer(base()), next, want, resources = [] }] of Object.entries(rows)) {
  test(`${title}: ${want}`, async () => {
    const { found, detail } = await classOf(stable, next);
    assert.equal(found, want);
    const shown = (detail?.resources ?? []).map(
      (one) => `${one.class} ${one.resource} ${one.fields.map(({ path }) => path).join()}`,
    );
    assert.deepEqual(shown, resources);
    if (want === "fatal") assert.equal(detail?.message, "no disk");
    if (want === "error") assert.equal(detail?.message, "connection refused");
  });
}

test("of 200 composite resources exactly those whose resource would be deleted are named", async () => {
  const { runs, store } = scene(async (_, request) => {
    const labels = request.observed?.composite?.resource?.value["metadata"] as { labels?: { tier?: string } };
    return labels.labels?.tier === "gold" ? answer({ b: map({ v: "1" }) }) : answer(base());
  });
  const gold: string[] = [];
  for (let at = 0; at < 200; at++) {
    const tier = at % 7 === 0 ? "gold" : "silver";
    if (tier === "gold") gold.push(`app-${at}`);
    const composite = create(Resource, { resource: Struct.from({ metadata: { labels: { tier } } }) });
    const request = create(RunFunctionRequest, { observed: create(State, { composite }) });
    runs.offer(offerOf(answer(base()), { order: orderFor(String(at)), request }));
  }
  await runs.idle();
  const { classes, total, dropped } = store.report("rollout");
  assert.deepEqual([total, classes.delete, classes.none, dropped], [200, gold.length, 200 - gold.length, 0]);
  assert.deepEqual(
    store
      .details("rollout")
      .map(({ composite }) => composite.name)
      .sort(),
    gold.sort(),
  );
});

test("the candidate gets the request that the serving revision got, and what it requires itself, read only", async () => {
  const reads: string[] = [];
  const reader: ResourceReader = {
    scopeOf: async () => "Namespaced",
    async get({ kind }, { namespace, name }) {
      reads.push(`get ${kind} ${namespace}/${name}`);
      return map({ found: "yes" });
    },
    async list() {
      throw new Error("nothing is listed");
    },
  };
  const seen: RunFunctionRequest[] = [];
  const inner: FunctionRunner = {
    async run(_, request) {
      seen.push(request);
      const selector = create(ResourceSelector, {
        apiVersion: "v1",
        kind: "ConfigMap",
        namespace: "default",
        match: { case: "matchName", value: "extra" },
      });
      const requirements = create(Requirements, { resources: new Map([["extra", selector]]) });
      const found = request.requiredResources.get("extra")?.items.length ?? 0;
      return answer({ ...base(), a: map({ v: String(1 + found) }) }, { requirements });
    },
  };
  const settled = settleRequirements(inner, { resources: createResourceFetcher(reader), schema: noSchemas });
  const { runs, store } = scene((...args) => settled.run(...args));
  const request = create(RunFunctionRequest, { context: Struct.from({ of: "the reconcile" }) });
  runs.offer(offerOf(answer(base()), { request }));
  await runs.idle();
  assert.equal(seen[0]?.context, request.context);
  assert.deepEqual(reads, ["get ConfigMap default/extra"]);
  assert.equal(request.requiredResources.size, 0, "the request itself is not changed");
  assert.equal(store.details("rollout")[0]?.resources[0]?.fields[0]?.new, "2");
});

test("secret values are in no report and in no file", async () => {
  const secret = "hunter2-hunter2";
  const file = join(folder, "redacted.json");
  const store = new ShadowStore({ file });
  const data = create(CredentialData, { data: new Map([["password", Buffer.from(secret)]]) });
  const credentials = new Map([["db", create(Credentials, { source: { case: "credentialData", value: data } })]]);
  const request = create(RunFunctionRequest, { credentials });
  const value = (text: string): RunFunctionResponse =>
    answer({
      a: map({ url: text }),
      s: { apiVersion: "v1", kind: "Secret", data: { k: btoa(`${text}-in-a-secret`) } },
    });
  const { runs } = scene(async () => value(`db://u:${secret}@two`), { store });
  runs.offer(offerOf(value("db://u@one"), { request }));
  await runs.idle();
  const failing = scene(async () => Promise.reject(new Error(`cannot log in with ${secret}`)), { store });
  failing.runs.offer(offerOf(value("x"), { request, step: "other" }));
  await failing.runs.idle();
  runs.close();
  const stored = readFileSync(file, "utf8");
  assert.match(stored, /REDACTED/);
  assert.match(stored, /cannot log in with \*\*REDACTED/);
  for (const text of [secret, btoa(secret), "in-a-secret", btoa("db://u@one-in-a-secret")]) {
    assert.ok(!stored.includes(text), text);
  }
});

test("reports survive a restart, and an unreadable file is as good as none", async () => {
  const file = join(folder, "kept.json");
  const { runs, store } = scene(async () => answer({ b: map({ v: "1" }) }), { store: new ShadowStore({ file }) });
  runs.offer(offerOf(answer(base())));
  await runs.idle();
  runs.close();
  const again = new ShadowStore({ file });
  assert.deepEqual(again.report("rollout"), store.report("rollout"));
  assert.deepEqual(again.details("rollout"), store.details("rollout"));
  assert.equal(again.has("rollout", "1"), true);
  again.forget("rollout");
  again.close();
  assert.equal(new ShadowStore({ file }).report("rollout").total, 0);
  writeFileSync(file, "{broken");
  assert.equal(new ShadowStore({ file }).report("rollout").total, 0);
});

test("what does not fit into the queue is dropped and counted, and never waited for", async () => {
  const { promise: answered, resolve } = Promise.withResolvers<RunFunctionResponse>();
  let atOnce = 0;
  const { runs, store } = scene(
    async () => {
      atOnce += 1;
      return answered;
    },
    { limits: { concurrency: 2, queued: 3 } },
  );
  for (let at = 0; at < 10; at++) runs.offer(offerOf(answer(base()), { order: orderFor(String(at)) }));
  // The newest offer of a composite resource that waits takes the place of the older one.
  runs.offer(offerOf(answer({ a: map({ v: "newest" }) }), { order: orderFor("3") }));
  assert.equal(atOnce, 2);
  resolve(answer(base()));
  await runs.idle();
  assert.deepEqual([store.report("rollout").total, store.report("rollout").dropped], [5, 5]);
  const large = scene(async () => answer(base()), { limits: { queuedBytes: 100 } });
  const composite = create(Resource, { resource: Struct.from({ text: "x".repeat(200) }) });
  const request = create(RunFunctionRequest, { observed: create(State, { composite }) });
  large.runs.offer(offerOf(answer(base()), { request }));
  assert.equal(large.store.report("rollout").dropped, 1);
});

test("a composite resource is compared when all of its steps are, also after a restart", async () => {
  const file = join(folder, "steps.json");
  const answered = Promise.withResolvers<RunFunctionResponse>();
  const { runs, store } = scene(async (_, __, { step }) => (step?.name === "one" ? answer(base()) : answered.promise), {
    store: new ShadowStore({ file }),
    limits: { concurrency: 2, queued: 2 },
  });
  const order = orderFor("1");
  for (const step of ["one", "two", "three", "four", "dropped"]) runs.offer(offerOf(answer(base()), { order, step }));
  while (store.report("rollout").total === 0) await setImmediate();
  assert.equal(store.has("rollout", "1"), false, "one of its steps is compared");
  runs.close();
  assert.equal(new ShadowStore({ file }).has("rollout", "1"), false, "after a restart too");
  const again = scene(async () => answer(base()), { store: new ShadowStore({ file }) });
  // The Composition has fewer steps since: those that it lost are not waited for.
  const next = orderFor("1");
  for (const step of ["one", "two"]) again.runs.offer(offerOf(answer(base()), { order: next, step }));
  await again.runs.idle();
  assert.equal(again.store.has("rollout", "1"), true);
});

test("a report of many large differences stays small", async () => {
  const large = (text: string) =>
    Object.fromEntries(
      Array.from({ length: 20 }, (_, at) => [
        `r${at}`,
        map(Object.fromEntries(Array.from({ length: 20 }, (__, key) => [`k${key}`, text.repeat(300)]))),
      ]),
    );
  const { found, detail } = await classOf(answer(large("a")), answer(large("b")));
  assert.equal(found, "change");
  assert.equal(detail?.resources.length, 20, "all of them are named");
  assert.ok(JSON.stringify(detail).length < 32 * 1024, `${JSON.stringify(detail).length} characters`);
});

test("a candidate that hangs is ended by the time limit, and its revision is released", async () => {
  const clock = manualClock();
  let released = 0;
  const store = new ShadowStore();
  const run: FunctionRunner["run"] = (_, __, { signal }) =>
    new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
  const runs = new ShadowRuns({ runner: { run }, store, redactor, clock, limits: { timeoutMs: 500 } });
  const release = (): void => {
    released += 1;
  };
  const candidate = { ...target("f-2"), acquire: () => release };
  runs.offer(offerOf(answer(base()), { order: { ...orderFor("1"), candidate } }));
  clock.advance(500);
  await runs.idle();
  assert.equal(store.details("rollout")[0]?.message, "the shadow run took longer than 500 ms");
  assert.deepEqual([store.report("rollout").classes.error, released], [1, 1]);
});

test("a candidate that takes twice as long is slower, unless a cache answered for the other one", async () => {
  const clock = manualClock();
  const store = new ShadowStore();
  let takes = 500;
  const run: FunctionRunner["run"] = async () => {
    clock.advance(takes);
    return answer(base());
  };
  const runs = new ShadowRuns({ runner: { run }, store, redactor, clock });
  const compare = async (uid: string, more: Partial<ShadowOffer>): Promise<void> => {
    runs.offer(offerOf(answer(base()), { order: orderFor(uid), ...more }));
    await runs.idle();
  };
  await compare("1", { stableMs: 200 });
  await compare("2", { stableMs: 300 });
  await compare("3", { stableMs: 0, isCached: true });
  takes = 90;
  await compare("4", { stableMs: 1 });
  assert.deepEqual(
    store.details("rollout").map(({ composite }) => composite.uid),
    ["1"],
  );
  assert.deepEqual([store.report("rollout").classes.slower, store.report("rollout").classes.none], [1, 3]);
});

test("each composite resource is run once, and again only in a sample of its reconciles", async () => {
  let draw = 0.5;
  const { runs, store } = scene(async () => answer(base()), { samplePercent: 5, random: () => draw });
  for (let at = 0; at < 20; at++) {
    runs.offer(offerOf(answer(base())));
    await runs.idle();
  }
  assert.equal(store.report("rollout").runs, 1);
  draw = 0.049;
  runs.offer(offerOf(answer(base())));
  await runs.idle();
  assert.equal(store.report("rollout").runs, 2);
  const off = scene(async () => answer(base()), { samplePercent: 0 });
  off.runs.offer(offerOf(answer(base())));
  await off.runs.idle();
  assert.equal(off.store.report("rollout").runs, 0);
});

test("a step is answered before its shadow run starts, and one without an order costs nothing", async () => {
  const offers: ShadowOffer[] = [];
  const works: (() => void)[] = [];
  const response = answer(base());
  const shadow = { offer: (offer: ShadowOffer) => void offers.push(offer) };
  const steps = shadowSteps(async (reference) => {
    const order = reference.step === "shadowed" ? orderFor("1") : undefined;
    return { target: { ...target("f-1"), shadow: order }, response };
  }, shadow);
  const request = create(RunFunctionRequest, {});
  const call = { deadline: Date.now() + 1000, afterwards: (work: () => void) => void works.push(work) };
  await steps({ step: "plain", functionName: "f" }, request, call);
  const run = await steps({ step: "shadowed", functionName: "f" }, request, call);
  assert.equal(run.response, response);
  assert.deepEqual([offers.length, works.length], [0, 1]);
  works[0]?.();
  assert.equal(offers[0]?.request, request);
  assert.equal(offers[0]?.stable, response);
});
