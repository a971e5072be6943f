// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { app, appDefinition, inspectionOf, made, now, secondsAgo } from "../../test/memory-inspection.ts";
import type { RecordedRun, RecordedStep } from "../model/explanation.ts";
import {
  fieldConflict,
  missingRequirement,
  nondeterministic,
  prunedField,
  readinessNotReported,
  recentRuns,
  renamed,
  reportedNotReady,
} from "./recorded.ts";

type Desired = RecordedRun["desired"];
type Ready = "True" | "False" | "Unspecified";

const xr = app("web");
const deployment = (spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "db", namespace: "default", ...metadata },
  spec,
});
const db = (object: JsonObject, ready: Ready = "True"): Desired => ({ resources: { db: { object, ready } } });
const step = (name: string, desired: Desired, more: Partial<RecordedStep> = {}): RecordedStep => ({
  step: name,
  functionName: `fn-${name}`,
  durationMs: 1,
  rounds: [],
  missing: [],
  warnings: [],
  desired,
  ...more,
});
const run = (desired: Desired, more: Partial<RecordedRun> = {}): RecordedRun => ({
  id: "r1",
  time: secondsAgo(90),
  observedHash: "h",
  observed: {},
  steps: [step("render", desired)],
  desired,
  ...more,
});

test("five runs are read, and none without a recorder", async () => {
  const asked: unknown[] = [];
  const history = {
    runsOf: async (...call: unknown[]) => {
      asked.push(call);
      return [run({ resources: {} })];
    },
  };
  assert.equal((await recentRuns(xr, await inspectionOf([], { history }))).length, 1);
  assert.deepEqual(asked, [[{ apiVersion: "example.org/v1", kind: "App", name: "web", namespace: "default" }, 5]]);
  assert.deepEqual(await recentRuns(xr, await inspectionOf()), []);
});

describe("E31, E33: requirements without a result", () => {
  const map = { what: "resource", apiVersion: "v1", kind: "ConfigMap", name: "regions", namespace: "team" } as const;
  const schema = { what: "schema", apiVersion: "s3.example.org/v1", kind: "Bucket" } as const;
  const requiring = (more: Partial<RecordedStep>): RecordedRun =>
    run({ resources: {} }, { steps: [step("first", { resources: {} }), step("render", { resources: {} }, more)] });

  test("an object that does not exist", async () => {
    const finding = await missingRequirement(xr, requiring({ missing: [map] }), await inspectionOf());
    assert.deepEqual(finding, {
      object: { apiVersion: "example.org/v1", kind: "App", name: "web", namespace: "default" },
      since: secondsAgo(90),
      evidence: [{ object: "App default/web", time: secondsAgo(90), text: "run r1" }],
      code: "E31",
      via: 'step "render"',
      sentence: 'Step "render" requires ConfigMap team/regions, which does not exist',
      next: ["create ConfigMap team/regions"],
    });
  });

  test("one that was created since is not missing, and the next one counts", async () => {
    const inspection = await inspectionOf([made("v1/ConfigMap", "team/regions")]);
    assert.equal(await missingRequirement(xr, requiring({ missing: [map] }), inspection), undefined);
    const both = requiring({ missing: [map, { ...map, name: "zones", namespace: undefined }] });
    assert.match((await missingRequirement(xr, both, inspection))?.sentence ?? "", /requires ConfigMap zones, /);
  });

  test("objects that are selected by labels may be absent", async () => {
    const { name: _, ...byLabels } = map;
    assert.equal(await missingRequirement(xr, requiring({ missing: [byLabels] }), await inspectionOf()), undefined);
  });

  test("a schema counts only if the step warned about it", async () => {
    const inspection = await inspectionOf();
    assert.equal(await missingRequirement(xr, requiring({ missing: [schema] }), inspection), undefined);
    const finding = await missingRequirement(xr, requiring({ missing: [schema], warnings: ["no schema"] }), inspection);
    assert.deepEqual(
      [finding?.code, finding?.sentence, finding?.next],
      [
        "E33",
        'Step "render" requires the schema of Bucket (s3.example.org/v1), which the API server does not serve',
        ["install the CRD of Bucket"],
      ],
    );
  });
});

describe("E46: status fields that the API server drops", () => {
  const definedBy = (status: JsonObject | undefined): KubeObject => ({
    ...appDefinition,
    spec: {
      ...(appDefinition["spec"] as JsonObject),
      versions: [
        { name: "v1alpha1", schema: { openAPIV3Schema: { properties: { status: { properties: { old: {} } } } } } },
        { name: "v1", referenceable: true, schema: { openAPIV3Schema: { properties: { ...(status && { status }) } } } },
      ],
    },
  });
  const closed = { type: "object", properties: { seen: { type: "string" } } };
  const setting = (status: JsonObject): RecordedRun => {
    const desired: Desired = { composite: { status }, resources: {} };
    const none: Desired = { resources: {} };
    return run(desired, { steps: [step("first", none), step("second", desired), step("third", none)] });
  };
  const ask = async (run: RecordedRun, schema: JsonObject | undefined = closed, object = xr) =>
    prunedField(object, run, await inspectionOf([definedBy(schema)]));

  test("the first field by name, and the last step that sets it", async () => {
    const finding = await ask(setting({ zone: "a", seen: "x", address: "10.0.0.1" }));
    assert.deepEqual(
      [finding?.code, finding?.path, finding?.sentence, finding?.next],
      [
        "E46",
        "status.address",
        'status.address is not in the schema of apps.example.org, so the API server drops it; step "second" sets it',
        ["add status.address to the XRD"],
      ],
    );
  });

  test("fields of Crossplane, declared fields and open schemas keep what is set", async () => {
    const own = {
      conditions: [],
      connectionDetails: {},
      crossplane: {},
      claimConditionTypes: [],
      lastHandledReconcileAt: "",
    };
    assert.equal(await ask(setting({ ...own, seen: "x" })), undefined);
    assert.equal(await ask(setting({ any: 1 }), { "x-kubernetes-preserve-unknown-fields": true }), undefined);
  });

  test("a field that the object has was not dropped", async () => {
    assert.equal(await ask(setting({ any: 1 }), closed, { ...xr, status: { any: 1 } }), undefined);
  });

  test("without a schema for the status every field is dropped", async () => {
    for (const schema of [undefined, {}]) assert.equal((await ask(setting({ any: 1 }), schema))?.path, "status.any");
    assert.equal((await ask(setting({ old: 1 })))?.path, "status.old", "of another version");
  });

  test("a run without a status, or a kind without an XRD, has no such field", async () => {
    assert.equal(await ask(run({ resources: {} })), undefined);
    assert.equal(prunedField(xr, setting({ any: 1 }), await inspectionOf()), undefined);
  });
});

describe("E47: readiness that no step reports", () => {
  const ready = { status: { conditions: [{ type: "Ready", status: "True" }] } };
  const both: Desired = {
    resources: {
      a: { object: deployment(), ready: "Unspecified" },
      b: { object: deployment(), ready: "Unspecified" },
      c: { object: deployment(), ready: "False" },
    },
  };
  const recorded = run(both, { observed: { a: ready, b: ready, c: ready } });

  test("one resource, and several", () => {
    assert.equal(
      readinessNotReported(xr, recorded, ["a"])?.sentence,
      "No step reports whether a is ready, although its own condition Ready is True",
    );
    const finding = readinessNotReported(xr, recorded, ["a", "b", "c"]);
    assert.equal(
      finding?.sentence,
      "No step reports whether a, b are ready, although their own conditions Ready are True",
    );
    assert.deepEqual(finding?.next, ["add function-auto-ready as the last step, or set ready in a function"]);
  });

  test("a resource that is not ready itself, or that a step reports on, does not count", () => {
    assert.equal(readinessNotReported(xr, recorded, ["c", "unknown"]), undefined);
    assert.equal(readinessNotReported(xr, run(both), ["a"]), undefined);
    const unready = {
      status: {
        conditions: [
          { type: "Ready", status: "False" },
          { type: "Synced", status: "True" },
        ],
      },
    };
    assert.equal(readinessNotReported(xr, run(both, { observed: { a: unready } }), ["a"]), undefined);
  });
});

describe("E53: a step reports that the composite resource is not ready", () => {
  const saying = (...states: readonly (Ready | undefined)[]): RecordedRun => {
    const desireds = states.map((compositeReady): Desired => ({ compositeReady, resources: {} }));
    return run(desireds.at(-1) ?? { resources: {} }, {
      steps: desireds.map((desired, index) => step(`s${index + 1}`, desired)),
    });
  };

  test("the step that said so first, of those that were not contradicted", () => {
    const finding = reportedNotReady(xr, saying("Unspecified", "False", "False"));
    assert.equal(finding?.sentence, 'Step "s2" reports that the composite resource is not ready');
    assert.deepEqual([finding?.via, finding?.next], ['step "s2"', ["purlin runs show r1"]]);
    assert.equal(reportedNotReady(xr, saying("False", "True", "False"))?.via, 'step "s3"');
  });

  test("a later step that reports the opposite wins", () => {
    for (const last of ["True", "Unspecified", undefined] as const) {
      assert.equal(reportedNotReady(xr, saying("False", last)), undefined);
    }
  });
});

describe("E64: equal input, different output", () => {
  const stamped = (stamp: JsonObject): RecordedRun => run(db(deployment({}, { labels: stamp })));

  test("the first field that differs is named", () => {
    const finding = nondeterministic(xr, [stamped({ a: "1", b: "2" }), stamped({ a: "1", b: "3", c: "4" })]);
    assert.deepEqual(
      [finding?.code, finding?.path, finding?.sentence, finding?.next],
      [
        "E64",
        "metadata.labels.b",
        'Step "render" returns another metadata.labels.b of resource "db" in every run, for equal input',
        ["correct Function fn-render: equal requests must have equal responses"],
      ],
    );
  });

  test("a field that only one run has differs", () => {
    assert.equal(nondeterministic(xr, [stamped({}), stamped({ a: "1" })])?.path, "metadata.labels.a");
    assert.equal(nondeterministic(xr, [stamped({ a: "1" }), stamped({})])?.path, "metadata.labels.a");
  });

  test("a resource that only one run has is named, without a path", () => {
    const none = run({ resources: {} });
    for (const runs of [
      [stamped({}), none],
      [none, stamped({})],
    ]) {
      const finding = nondeterministic(xr, runs) ?? assert.fail();
      assert.equal(finding.sentence, 'Step "render" returns resource "db" in some runs only, for equal input');
      assert.equal(Object.hasOwn(finding, "path"), false);
    }
  });

  test("resources are compared in the order of their names, whichever run has them", () => {
    const both: Desired = {
      resources: { a: { object: deployment(), ready: "True" }, db: { object: deployment({ x: 1 }), ready: "True" } },
    };
    const finding = nondeterministic(xr, [run(db(deployment({ x: 2 }))), run(both)]);
    assert.equal(finding?.sentence, 'Step "render" returns resource "a" in some runs only, for equal input');
  });

  test("equal outputs, other inputs, and a single run show nothing", () => {
    assert.equal(nondeterministic(xr, [stamped({ a: "1" }), stamped({ a: "1" })]), undefined);
    assert.equal(nondeterministic(xr, [stamped({ a: "1" }), { ...stamped({ a: "2" }), observedHash: "g" }]), undefined);
    assert.equal(nondeterministic(xr, [stamped({ a: "1" })]), undefined);
    assert.equal(nondeterministic(xr, []), undefined);
  });

  test("runs of another pipeline cannot be compared", () => {
    const longer = {
      ...stamped({ a: "1" }),
      steps: [step("render", db(deployment())), step("more", db(deployment()))],
    };
    const shorter = { ...stamped({ a: "1" }), steps: [step("render", db(deployment()))] };
    assert.equal(nondeterministic(xr, [longer, shorter]), undefined);
  });
});

describe("E63: another writer of a field", () => {
  const fighting = (wanted: JsonObject, observed: JsonObject): RecordedRun =>
    run(db(deployment(wanted)), { observed: { db: deployment(observed) } });
  const managed = (...managers: readonly (readonly [string, JsonObject])[]): KubeObject =>
    made("apps/v1/Deployment", "default/db", {
      metadata: { managedFields: managers.map(([manager, fieldsV1]) => ({ manager, fieldsV1 })) },
    });
  const replicas = { "f:spec": { "f:replicas": {} } };
  const own = "apiextensions.crossplane.io/composed/abc";
  const two = [fighting({ replicas: 2 }, { replicas: 5 }), fighting({ replicas: 2 }, { replicas: 5 })];
  const sentence = async (live: KubeObject | undefined, runs = two): Promise<string | undefined> =>
    (await fieldConflict(xr, runs, await inspectionOf(live === undefined ? [] : [live])))?.sentence;

  test("both managers are named, with the values", async () => {
    assert.equal(
      await sentence(managed([own, replicas], ["hpa", replicas])),
      `spec.replicas of resource "db": step "render" sets 2 as ${own}, and hpa sets 5`,
    );
  });

  test("another manager that does not own the field is better than none", async () => {
    assert.match((await sentence(managed([own, replicas], ["kubectl", {}]))) ?? "", /, and kubectl sets 5$/);
    assert.match((await sentence(managed([own, replicas]))) ?? "", /, and another writer sets 5$/);
    assert.match((await sentence(undefined)) ?? "", /sets 2 as the control plane, and another writer sets 5$/);
  });

  test("the control plane is named when the other one wrote last, and owns the field alone", async () => {
    assert.equal(
      await sentence(managed([own, {}], ["hpa", replicas])),
      `spec.replicas of resource "db": step "render" sets 2 as ${own}, and hpa sets 5`,
    );
  });

  test("runs after its own changes, in which nothing is contested, may be in between", async () => {
    const [fought = assert.fail()] = two;
    const own = fighting({ replicas: 2 }, { replicas: 2 });
    assert.match(
      (await sentence(undefined, [own, own, fought, own, fought])) ?? "",
      /^spec\.replicas of resource "db"/,
    );
    assert.equal(await sentence(undefined, [own, fought, own]), undefined);
    assert.match(
      (await sentence(undefined, [own, { ...fought, repeats: 1 }])) ?? "",
      /^spec\.replicas of resource "db"/,
    );
  });

  test("a value that the function changed itself is not contested", async () => {
    const runs = [fighting({ replicas: 3 }, { replicas: 2 }), fighting({ replicas: 2 }, { replicas: 1 })];
    assert.equal(await sentence(undefined, runs), undefined);
  });

  test("a field that the object does not have yet is not contested", async () => {
    const fresh = fighting({ replicas: 2 }, {});
    assert.equal(await sentence(undefined, [fresh, fresh]), undefined);
  });

  test("fields below are compared one by one, and lists as a whole", async () => {
    const nested = fighting({ a: { b: 1, c: 2 } }, { a: { b: 1, c: 3 } });
    assert.match((await sentence(undefined, [nested, nested])) ?? "", /^spec\.a\.c of resource/);
    const listed = fighting({ l: [1, 2] }, { l: [1, 3] });
    assert.match((await sentence(undefined, [listed, listed])) ?? "", /sets \[1,2\] as .* sets \[1,3\]$/);
  });

  test("the field must be contested in two runs", async () => {
    assert.equal(
      await sentence(undefined, [two[0] ?? assert.fail(), fighting({ replicas: 2 }, { replicas: 2 })]),
      undefined,
    );
    assert.equal(await sentence(undefined, two.slice(0, 1)), undefined);
    const other = fighting({ paused: true }, { paused: false });
    assert.equal(await sentence(undefined, [two[0] ?? assert.fail(), other]), undefined);
  });
});

describe("E66: a resource with another name", () => {
  const named = (resources: Readonly<Record<string, readonly [string, Ready]>>): RecordedRun =>
    run({
      resources: Object.fromEntries(
        Object.entries(resources).map(([name, [kind, ready]]) => [name, { object: { kind }, ready }]),
      ),
    });
  const ask = (...runs: readonly RecordedRun[]): string | undefined => renamed(xr, runs, now)?.sentence;

  test("the old one was deleted and the new one is not ready", () => {
    const runs = [named({ database: ["Bucket", "False"] }), named({ db: ["Bucket", "True"] })];
    assert.deepEqual(
      [ask(...runs), renamed(xr, runs, now)?.next],
      [
        'Resource "db" became "database": the old Bucket was deleted 90s ago, and the new one is not ready yet',
        [
          'keep the name "db" in the function, or declare the rename on the step of the Composition: moved: [{from: db, to: database}]',
        ],
      ],
    );
  });

  test("the change may be older than the run before", () => {
    const runs = [named({ b: ["X", "False"] }), named({ b: ["X", "False"] }), named({ a: ["X", "True"] })];
    assert.match(ask(...runs) ?? "", /^Resource "a" became "b"/);
  });

  test("another kind, a ready resource or a resource that stays is not a new name", () => {
    assert.equal(ask(named({ b: ["Queue", "False"] }), named({ a: ["Bucket", "True"] })), undefined);
    assert.equal(ask(named({ b: ["Bucket", "True"] }), named({ a: ["Bucket", "True"] })), undefined);
    assert.equal(ask(named({ a: ["X", "True"], b: ["X", "False"] }), named({ a: ["X", "True"] })), undefined);
    assert.equal(ask(named({ a: ["X", "True"] })), undefined);
    assert.equal(ask(), undefined);
  });
});
