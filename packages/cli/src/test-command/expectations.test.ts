// SPDX-License-Identifier: Apache-2.0
// Expectations over a state that a test sets; sessions that reconcile are in test-command.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { testCase } from "../testing/test-case.ts";
import { CaseRecord, type CompositeRecord } from "./case-record.ts";
import { type CaseState, type Expecting, expectationMismatches, stateOf, stateTree } from "./expectations.ts";

const condition = (type: string, status: string, reason = "R", message?: string): JsonObject => ({
  ...{ type, status, reason, lastTransitionTime: "2026-01-01T00:00:00Z" },
  ...(message !== undefined && { message }),
});
const app = (...conditions: JsonObject[]): KubeObject => ({
  apiVersion: "acme.org/v1",
  kind: "App",
  metadata: { name: "shop", uid: "u" },
  spec: { size: "s", generation: 7 },
  status: { conditions },
});
const composed = (kind: string, name: string, more: JsonObject = {}): KubeObject => ({
  ...{ apiVersion: "v1", kind, metadata: { name, annotations: { "crossplane.io/composition-resource-name": name } } },
  ...more,
});

interface Session {
  readonly failures?: readonly { readonly text: string; readonly isUnsettled?: boolean }[];
  readonly refusals?: readonly { readonly text: string; readonly isInvalid: boolean }[];
  readonly objects?: readonly KubeObject[];
  readonly composed?: Readonly<Record<string, readonly KubeObject[]>>;
  /** Called by a step. */
  readonly step?: () => void;
}

/** What a session answers, without controllers. */
function session({
  failures = [],
  refusals = [],
  objects = [],
  composed: children = {},
  step,
}: Session): CaseState["session"] {
  return {
    client: {
      get: async ({ kind }: KubeObject, { name }: { name: string }) =>
        objects.find((one) => one.kind === kind && one.metadata.name === name),
    },
    failures: async () => failures,
    refusals: () => refusals,
    composed: async ({ metadata }: KubeObject) => children[metadata.name ?? ""] ?? [],
    step: async () => step?.(),
  } as unknown as CaseState["session"];
}

interface Given extends Partial<Omit<CaseState, "session" | "record" | "resources">> {
  readonly session?: Session;
  readonly record?: Partial<CompositeRecord>;
  readonly resources?: Readonly<Record<string, KubeObject>>;
}

function state({ session: own = {}, record: written = {}, resources = {}, ...members }: Given = {}): CaseState {
  const xr = "xr" in members ? members.xr : app();
  const root = xr ?? members.operation ?? app();
  const caseRecord = members.caseRecord ?? new CaseRecord();
  return {
    ...{ test: testCase(), session: session(own), root, caseRecord, xr, claim: undefined, operation: undefined },
    resources: new Map(Object.entries(resources)),
    ...members,
    record: Object.assign(caseRecord.of(root), written),
  };
}

const expecting: Expecting = {
  golden: async (file, text) => [`${file} is ${text}`],
  readFile: async (name) => `${name} is not YAML of an object`,
};
const lines = async (expect: JsonObject, given: Given = {}): Promise<string[]> =>
  (await expectationMismatches(expect, state(given), expecting)).map(({ text }) => text);

test("without expectations, objects are valid and reconciles succeed", async () => {
  assert.deepEqual(await lines({}), []);
  assert.deepEqual(await lines({}, { session: { failures: [{ text: "cannot apply" }] } }), [
    "reconcile failed: cannot apply",
  ]);
  assert.deepEqual(
    await lines(
      {},
      {
        record: {
          results: [
            { severity: "Fatal", message: "no Pod" },
            { severity: "Warning", message: "w" },
          ],
        },
      },
    ),
    ["fatal: no Pod"],
  );
  const both = {
    record: { results: [{ severity: "Fatal", message: "no Pod" }] },
    session: { failures: [{ text: "step failed" }] },
  };
  assert.deepEqual(await lines({}, both), ["reconcile failed: step failed"], "one line for one failure");
});

test("a failure is expected when an expectation is about failures", async () => {
  const failing = {
    record: { results: [{ severity: "Fatal", message: "no Pod" }] },
    session: { failures: [{ text: "no Pod" }] },
  };
  for (const expect of [
    { fatal: "Pod" },
    { synced: false },
    { succeeded: false },
    { conditions: [] },
    { results: [] },
    { events: [] },
  ]) {
    assert.deepEqual(await lines(expect, failing), [], JSON.stringify(expect));
  }
  assert.deepEqual(await lines({ ready: false }, failing), ["reconcile failed: no Pod"]);
});

test("objects that were refused are reported as invalid, unless valid: false is expected", async () => {
  const refused = {
    session: {
      refusals: [
        { text: "spec.size: Required", isInvalid: true },
        { text: "conflict", isInvalid: false },
      ],
      failures: [{ text: "f" }],
    },
  };
  assert.deepEqual(await lines({}, refused), ["valid: expected true, got false: spec.size: Required"]);
  assert.deepEqual(await lines({ valid: true }, refused), ["valid: expected true, got false: spec.size: Required"]);
  assert.deepEqual(await lines({ valid: false }, refused), []);
  assert.deepEqual(await lines({ valid: false }), ["valid: expected false, got true"]);
  assert.deepEqual(await lines({ valid: false }, { session: { refusals: [{ text: "conflict", isInvalid: false }] } }), [
    "valid: expected false, got true",
  ]);
});

test("what never settles fails whatever is expected, except by fatal", async () => {
  const endless = { session: { failures: [{ text: "spec.a goes on changing", isUnsettled: true }] } };
  assert.deepEqual(await lines({ synced: false }, endless), ["spec.a goes on changing"]);
  assert.deepEqual(await lines({ fatal: "goes on" }, endless), []);
});

test("resources: their number, names and kinds", async () => {
  const resources = { web: composed("Pod", "web"), db: composed("Pod", "db"), net: composed("Service", "net") };
  assert.deepEqual(
    await lines(
      { resources: { count: 3, only: ["web", "net", "db"], kinds: { Pod: 2, Service: 1, Job: 0 } } },
      { resources },
    ),
    [],
  );
  assert.deepEqual(await lines({ resources: { count: 2, only: ["web"], kinds: { Pod: 1, Job: 1 } } }, { resources }), [
    "resources.count: expected 2, got 3",
    'resources.only: expected exactly ["web"], got ["db","net","web"]',
    "resources.kinds.Pod: expected 1, got 2",
    "resources.kinds.Job: expected 1, got 0",
  ]);
  assert.deepEqual(
    await lines({ resources: { count: { $gte: 3 } } }, { resources }),
    [],
    "operators work in all of them",
  );
});

test("resource: a part of an object, or its absence, with the step that set it", async () => {
  const resources = { web: composed("Pod", "web", { spec: { replicas: 2 } }) };
  const record = { steps: new Map([["web", "compose"]]) };
  assert.deepEqual(await lines({ resource: { web: { spec: { replicas: 2 } }, other: "absent" } }, { resources }), []);
  assert.deepEqual(await lines({ resource: { web: { spec: { replicas: 3 } } } }, { resources, record }), [
    'resource.web.spec.replicas: expected 3, got 2 (set by step "compose")',
  ]);
  assert.deepEqual(await lines({ resource: { web: "absent" } }, { resources }), [
    "resource.web: expected none, got Pod",
  ]);
  assert.deepEqual(await lines({ resource: { wep: {} } }, { resources }), [
    "resource.wep: resource is missing; composed: web; did you mean web?",
  ]);
  const operation = { ...app(), kind: "Operation" };
  assert.deepEqual(await lines({ resource: { web: {} } }, { operation, xr: undefined }), [
    "resource.web: resource is missing; applied: none",
  ]);
});

test("resource: values of Secrets are not printed", async () => {
  const resources = { key: composed("Secret", "key", { data: { password: "aHVudGVyMg==" }, type: "Opaque" }) };
  assert.deepEqual(await lines({ resource: { key: { data: { password: "b3RoZXI=" }, type: "x" } } }, { resources }), [
    "resource.key.data.password: another value (sensitive)",
    'resource.key.type: expected "x", got "Opaque"',
  ]);
  const config = { key: composed("ConfigMap", "key", { data: { password: "a" } }) };
  assert.deepEqual(await lines({ resource: { key: { data: { password: "b" } } } }, { resources: config }), [
    'resource.key.data.password: expected "b", got "a"',
  ]);
});

test("xr, claim, operation and outputs are parts of the objects; the spec has all its fields, metadata no server fields", async () => {
  assert.deepEqual(await lines({ xr: { spec: { size: "s", generation: 7 } } }), []);
  assert.deepEqual(await lines({ xr: { metadata: { uid: "u" } } }), ['xr.metadata.uid: expected "u", got nothing']);
  assert.deepEqual(await lines({ claim: { spec: {} } }), ["claim: expected an object, got nothing"]);
  const operation = { ...app(), status: { pipeline: [{ step: "a", output: { n: 1 } }, { step: "b" }] } };
  assert.deepEqual(
    await lines({ operation: { kind: "App" }, outputs: { a: { n: 1 }, b: {} } }, { operation, xr: undefined }),
    [],
  );
  assert.deepEqual(await lines({ outputs: { a: { n: 2 } } }, { operation, xr: undefined }), [
    "outputs.a.n: expected 2, got 1",
  ]);
});

test("conditions are matched in any order, without their times", async () => {
  const xr = app(condition("Synced", "True"), condition("Ready", "False", "Creating"));
  assert.deepEqual(
    await lines(
      {
        conditions: [
          { type: "Ready", reason: "Creating" },
          { type: "Synced", status: "True" },
        ],
      },
      { xr },
    ),
    [],
  );
  assert.deepEqual(await lines({ conditions: { type: "Ready", status: "True" } }, { xr }), [
    'conditions: expected an item {"type":"Ready","status":"True"}, got 2; closest: conditions.status: expected "True", got "False"',
  ]);
  assert.deepEqual(await lines({ conditions: [{ lastTransitionTime: { $exists: true } }] }, { xr }), [
    'conditions: expected an item {"lastTransitionTime":{"$exists":true}}, got 2; closest: conditions.lastTransitionTime: expected existence true, got nothing',
  ]);
});

test("ready, synced and succeeded: the reason and message of the condition explain a difference", async () => {
  const xr = app(
    condition("Ready", "False", "Creating", "web is not ready"),
    condition("Synced", "True", "ReconcileSuccess"),
  );
  assert.deepEqual(await lines({ ready: false, synced: true }, { xr }), []);
  assert.deepEqual(await lines({ ready: true, synced: false }, { xr }), [
    "ready: expected true, got false (Creating: web is not ready)",
    "synced: expected false, got true (ReconcileSuccess)",
  ]);
  assert.deepEqual(await lines({ ready: true }, { xr: app() }), ["ready: expected true, got false (no condition)"]);
  assert.deepEqual(await lines({ ready: true }, { xr: undefined }), ["ready: expected true, got false (no condition)"]);
});

test("succeeded: an Operation that is retried is explained by why it is not synced", async () => {
  const unknown = condition("Succeeded", "Unknown", "Running");
  const retried = { operation: app(unknown, condition("Synced", "False", "ReconcileError", "no Pod")), xr: undefined };
  assert.deepEqual(await lines({ succeeded: true }, retried), [
    "succeeded: expected true, got false (ReconcileError: no Pod)",
  ]);
  const running = { operation: app(unknown, condition("Synced", "True", "ReconcileSuccess")), xr: undefined };
  assert.deepEqual(await lines({ succeeded: true }, running), ["succeeded: expected true, got false (Running)"]);
});

test("fatal: one of the fatal results and failures matches", async () => {
  const given = {
    record: { results: [{ severity: "Fatal", message: "no Pod" }] },
    session: { failures: [{ text: "cannot run step" }] },
  };
  assert.deepEqual(await lines({ fatal: "^no" }, given), []);
  assert.deepEqual(await lines({ fatal: "run step$" }, given), []);
  assert.deepEqual(await lines({ fatal: "x" }, given), [
    'fatal: expected a fatal result that matches "x", got no Pod; cannot run step',
  ]);
  assert.deepEqual(await lines({ fatal: "x" }), ['fatal: expected a fatal result that matches "x", got none']);
  assert.deepEqual(await lines({ fatal: "(" }, given), ["fatal: Invalid regular expression: /(/: Unterminated group"]);
});

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
