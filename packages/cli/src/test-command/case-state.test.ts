// SPDX-License-Identifier: Apache-2.0
// Expectations about a whole case: what happened, other composite resources, golden files, and its tree.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { app, composed, condition, expecting, lines, session, state, testCase } from "../../test/case-state.ts";
import { CaseRecord } from "./case-record.ts";
import { type CaseState, expectationMismatches, stateOf, stateTree } from "./expectations.ts";

test("what happened: results, events, deletions, writes, calls, requirements, context and ttl", async () => {
  const caseRecord = new CaseRecord();
  caseRecord.events.push({ type: "Warning", reason: "R", message: "m", object: "App/shop" });
  const record = {
    ...{
      results: [{ severity: "Warning", message: "w", step: "a" }],
      deleted: ["b", "a", "b"],
      writes: 2,
      calls: { fn: 1 },
    },
    ...{ requirements: { pod: { kind: "Pod" } }, context: { seen: "p" }, ttl: "60s" },
  };
  const right = {
    ...{ results: [{ message: "w" }], events: [{ reason: "R", object: "App/shop" }], deleted: ["a", "b"], writes: 2 },
    ...{ calls: { fn: 1 }, requirements: { pod: { kind: "Pod" } }, context: { seen: "p" }, ttl: "60s" },
  };
  assert.deepEqual(await lines(right, { record, caseRecord }), []);
  const wrong = {
    ...{ results: [{ message: "x" }], events: [{ reason: "X" }], deleted: ["a"], writes: 0, calls: { fn: 2 } },
    ...{ requirements: { pods: {} }, context: { seen: "q" }, ttl: "1m" },
  };
  assert.deepEqual(await lines(wrong, { record, caseRecord }), [
    'results: expected an item {"message":"x"}, got 1; closest: results.message: expected "x", got "w"',
    'events: expected an item {"reason":"X"}, got 1; closest: events.reason: expected "X", got "R"',
    'deleted: expected exactly ["a"], got ["a","b"]',
    "writes: expected 0, got 2",
    "calls.fn: expected 2, got 1",
    "requirements.pods: expected an object, got nothing",
    'context.seen: expected "q", got "p"',
    'ttl: expected "1m", got "60s"',
  ]);
});

test("cel: expressions over the objects, each with its place", async () => {
  const given = { resources: { web: composed("Pod", "web", { spec: { n: 2 } }) } };
  const expect = { cel: ["resources.web.spec.n == 2", "xr.spec.size == 'l'", "claim == null", "xr.spec.none"] };
  const found = await expectationMismatches(expect, state(given), expecting);
  assert.deepEqual(
    found.map(({ text, at }) => [text, at]),
    [
      ["cel: xr.spec.size == 'l': expected true, got false", ["cel", 1]],
      ["cel: xr.spec.none: no such key: none", ["cel", 3]],
    ],
  );
  const operation = { ...app(), status: { pipeline: [{ step: "a", output: { n: 1 } }] } };
  assert.deepEqual(
    await lines({ cel: "outputs.a.n == 1 && operation.spec.size == 's'" }, { operation, xr: undefined }),
    [],
  );
});

test("not: holds when something inside differs", async () => {
  assert.deepEqual(await lines({ not: { ready: true } }), []);
  assert.deepEqual(await lines({ not: { xr: { spec: { size: "s" } } } }), ['not: {"xr":{"spec":{"size":"s"}}} holds']);
});

test("golden: the root, its resources by name and the results, without values of Secrets", async () => {
  const resources = {
    web: composed("Pod", "web"),
    key: composed("Secret", "key", { data: { p: "aHVudGVyMg==" } }),
  };
  const record = { results: [{ severity: "Normal", message: "done", step: "a" }] };
  const annotated = (name: string): string =>
    `  name: ${name}\n  annotations:\n    crossplane.io/composition-resource-name: ${name}\n`;
  assert.deepEqual(await lines({ golden: "g.yaml" }, { resources, record, xr: app(condition("Ready", "True")) }), [
    `g.yaml is ---
apiVersion: acme.org/v1
kind: App
metadata:
  name: shop
spec:
  size: s
  generation: 7
status:
  conditions:
  - type: Ready
    status: "True"
    reason: R
---
apiVersion: v1
kind: Secret
metadata:
${annotated("key")}data:
  p: (sensitive)
---
apiVersion: v1
kind: Pod
metadata:
${annotated("web")}---
apiVersion: render.crossplane.io/v1beta1
kind: Result
severity: Normal
message: done
step: a
`,
  ]);
});

test("xprin: the assertions of a suite are about the composite resource and the composed ones", async () => {
  const assertions = [{ name: "n", type: "Count", value: 3 }];
  assert.deepEqual(await lines({ xprin: assertions }, { resources: { web: composed("Pod", "web") } }), [
    "n: expected 3, got 2",
  ]);
});

test("nested: expectations about a composed composite resource have its name in front", async () => {
  const inner: KubeObject = {
    ...composed("Database", "db"),
    status: { conditions: [condition("Ready", "False", "Creating")] },
  };
  const given = {
    resources: { db: inner },
    session: { objects: [inner], composed: { db: [composed("Pod", "p")] } },
  };
  assert.deepEqual(await lines({ nested: { db: { resources: { only: ["p"] } } } }, given), []);
  const found = await expectationMismatches({ nested: { db: { ready: true }, dc: {} } }, state(given), expecting);
  assert.deepEqual(found, [
    { text: "nested.db.ready: expected true, got false (Creating)", at: ["nested", "db", "ready"] },
    { text: "nested.dc: resource is missing; composed: db; did you mean db?", at: ["nested", "dc"] },
  ]);
});

test("unchanged: one more reconcile writes nothing, neither resources nor the composite resource", async () => {
  let stored = app();
  const caseRecord = new CaseRecord();
  const reconcile = (change: () => void): Promise<string[]> => {
    stored = app();
    const live = {
      client: { get: async () => stored },
      composed: async () => [],
      failures: async () => [],
      refusals: () => [],
    };
    const own = { ...live, step: async () => change() } as unknown as CaseState["session"];
    const given = { ...state({ caseRecord }), session: own };
    return expectationMismatches({ unchanged: true }, given, expecting).then((found) => found.map(({ text }) => text));
  };
  assert.deepEqual(await reconcile(() => {}), []);
  assert.deepEqual(
    await reconcile(() => {
      caseRecord.of(stored).writes = 2;
    }),
    ["unchanged: one more reconcile wrote 2 composed resources"],
  );
  assert.deepEqual(
    await reconcile(() => {
      stored = { ...stored, spec: { size: "l" } };
    }),
    ["unchanged: one more reconcile wrote 0 composed resources and changed the composite resource"],
  );
  assert.deepEqual(
    await lines({ unchanged: false as JsonValue }, { session: { step: () => assert.fail("no step") } }),
    [],
  );
});

test("the state of a claim has its composite resource; of one that is not bound, nothing composed", async () => {
  const claim: KubeObject = {
    ...{ apiVersion: "acme.org/v1", kind: "AppClaim", metadata: { name: "c", namespace: "a" } },
    spec: { resourceRef: { apiVersion: "acme.org/v1", kind: "App", name: "shop" } },
  };
  const unannotated = { apiVersion: "v1", kind: "Pod", metadata: { name: "plain" } };
  const live = session({ objects: [claim, app()], composed: { shop: [composed("Pod", "web"), unannotated] } });
  const options = { session: live, record: new CaseRecord(), test: testCase({ inputs: { claim: {} } }) };
  const bound = await stateOf({ ...options, root: claim });
  assert.deepEqual(
    [bound.claim, bound.xr?.metadata.name, [...bound.resources.keys()]],
    [claim, "shop", ["web", "plain"]],
  );
  const unbound = { ...claim, metadata: { name: "d" }, spec: {} };
  const free = await stateOf({ ...options, session: session({ objects: [unbound] }), root: unbound });
  assert.deepEqual([free.claim, free.xr, free.resources.size], [unbound, undefined, 0]);
});

test("the tree of a state has roots with conditions, resources by name and what those compose", async () => {
  const resources = {
    web: composed("Pod", "web-1"),
    db: { ...composed("Database", "db-1"), status: { conditions: [condition("Ready", "True", "Available")] } },
  };
  const children = { "db-1": [composed("Bucket", "a"), composed("Bucket", "b")] };
  const given = state({
    xr: app(condition("Synced", "True", "ReconcileSuccess")),
    resources,
    session: { composed: children },
  });
  assert.equal(
    await stateTree(given),
    `App/shop Synced=True (ReconcileSuccess)
├─ Database/db-1 Ready=True (Available)  db
│  ├─ Bucket/a
│  └─ Bucket/b
└─ Pod/web-1  web`,
  );
  assert.equal(await stateTree(state({ xr: undefined })), "");
});
