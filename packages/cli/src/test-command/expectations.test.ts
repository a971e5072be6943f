// SPDX-License-Identifier: Apache-2.0
// Expectations over a state that a test sets; sessions that reconcile are in test-command.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { app, composed, condition, lines } from "../../test/case-state.ts";

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

test("not: a failed reconcile neither makes it hold nor goes unreported", async () => {
  const resources = { web: composed("ConfigMap", "web") };
  const failing = { resources, session: { failures: [{ text: "cannot apply" }] } };
  assert.deepEqual(await lines({ not: { resource: { web: "absent" } } }, { resources }), []);
  assert.deepEqual(await lines({ not: { resource: { web: "absent" } } }, failing), ["reconcile failed: cannot apply"]);
  assert.deepEqual(await lines({ not: { resource: { web: {} } } }, failing), [
    'not: {"resource":{"web":{}}} holds',
    "reconcile failed: cannot apply",
  ]);
  assert.deepEqual(await lines({ not: { synced: true } }, failing), [], "the case is about the failure");
});

test("not: valid is that something was refused", async () => {
  const refused = { session: { refusals: [{ text: "spec.size: Required", isInvalid: true }] } };
  assert.deepEqual(await lines({ not: { valid: true } }, refused), []);
  assert.deepEqual(await lines({ not: { valid: true } }), ['not: {"valid":true} holds']);
  assert.deepEqual(await lines({ valid: true }, refused), ["valid: expected true, got false: spec.size: Required"]);
  assert.deepEqual(await lines({ not: { resources: { count: 1 } } }, refused), [
    "valid: expected true, got false: spec.size: Required",
  ]);
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
  const endless = { session: { failures: [{ text: "spec.a keeps changing", isUnsettled: true }] } };
  assert.deepEqual(await lines({ synced: false }, endless), ["spec.a keeps changing"]);
  assert.deepEqual(await lines({ fatal: "keeps" }, endless), []);
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

test("desired: exactly the resources and fields that functions return, with the step that set them", async () => {
  const web = { kind: "Pod", spec: { replicas: 2, ports: [80, 81] } };
  const record = {
    desired: { web: { resource: web, ready: "READY_TRUE" } },
    desiredComposite: { status: { url: "u" } },
    steps: new Map([["web", "compose"]]),
  };
  const given = { record };
  const desired = { composite: { status: { url: "u" } }, resources: { web } };
  assert.deepEqual(await lines({ desired }, given), []);
  assert.deepEqual(await lines({ desired: { resources: { web: { ...web, spec: { $any: true } } } } }, given), []);
  assert.deepEqual(await lines({ desired: { composite: {} } }, given), [
    'desired.composite.status: expected nothing, got {"url":"u"}',
  ]);
  assert.deepEqual(await lines({ desired: { resources: { web: { kind: "Pod", spec: { ports: [80] } } } } }, given), [
    'desired.resources.web.spec.ports[1]: expected nothing, got 81 (set by step "compose")',
    'desired.resources.web.spec.replicas: expected nothing, got 2 (set by step "compose")',
  ]);
  assert.deepEqual(await lines({ desired: { resources: { db: {} } } }, given), [
    "desired.resources.db: no step wants this resource",
    'desired.resources.web: expected none, got Pod (set by step "compose")',
  ]);
  const secret = { apiVersion: "v1", kind: "Secret", stringData: { password: "hunter2" } };
  assert.deepEqual(
    await lines(
      { desired: { resources: { key: { apiVersion: "v1", kind: "Secret" } } } },
      { record: { desired: { key: { resource: secret } } } },
    ),
    ["desired.resources.key.stringData: another value (sensitive)"],
  );
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
