// SPDX-License-Identifier: Apache-2.0
// What is stored of a run: facts, writes, conditions, messages without secrets.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, test } from "node:test";
import { finish } from "@purlin/base";
import {
  Condition,
  CredentialData,
  Credentials,
  create,
  decode,
  MatchLabels,
  RequestMeta,
  Requirements,
  Resource,
  ResourceSelector,
  Result,
  RunFunctionRequest,
  RunFunctionResponse,
  State,
  Struct,
} from "@purlin/function-protocol";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, longestMessage, shortened } from "@purlin/kube-objects/object";
import { callOf, runOf, sampleXr, stepOf } from "../../test/sample-runs.ts";
import { createRedactor } from "../redact/redact-messages.ts";
import { omittedBytes } from "../redact/redact-object.ts";
import { keyedMark, SensitiveKinds } from "../redact/sensitive-fields.ts";
import { type PreparedRun, prepareRun } from "./prepare-run.ts";
import type { CallRecord, RunRecord, WriteRecord } from "./stored-run.ts";

const mark = keyedMark(Buffer.alloc(32, 7));
const canary = "canary-secret-value";
const shown = mark(Buffer.from(canary));

function prepare(more: Partial<RunRecord> = {}, maxRunBytes = 2 ** 20): PreparedRun {
  const preparing = prepareRun(runOf(more), {
    redactor: createRedactor({ mark, sensitive: new SensitiveKinds() })(),
    mark,
    known: new WeakMap(),
    structOf: (object) => Struct.rounded(object),
    maxRunBytes,
  });
  return finish(preparing);
}

const requestIn = ({ run }: PreparedRun, step = 0): RunFunctionRequest =>
  decode(RunFunctionRequest, Buffer.from(run.steps[step]?.calls[0]?.request ?? "", "base64"));
const responseIn = ({ run }: PreparedRun, step = 0): RunFunctionResponse =>
  decode(RunFunctionResponse, Buffer.from(run.steps[step]?.calls[0]?.response ?? "", "base64"));

/** A call whose request has a secret of this value. */
function secretCall(value: string, desired: Readonly<Record<string, object>> = {}): CallRecord {
  const source = create(CredentialData, { data: new Map([["password", Buffer.from(value)]]) });
  const credentials = new Map([["db", create(Credentials, { source: { case: "credentialData", value: source } })]]);
  return callOf(desired, { credentials });
}

describe("the facts of a run", () => {
  test("are those of its resource and its revision", () => {
    const { run } = prepare({ ttlMs: 60_000 });
    const { steps, composite, revision, parts, ...facts } = run;
    assert.deepEqual(facts, {
      xr: { apiVersion: "example.org/v1", kind: "App", namespace: "default", name: "shop" },
      ...{ uid: "u1", generation: 1, resourceVersion: "7", composition: "apps", compositionRevision: "apps-1" },
      ...{ cause: "spec", began: "2026-09-21T14:13:20.000Z", durationMs: 12, outcome: "unchanged", ttlMs: 60_000 },
      ...{ writes: [], conditions: [] },
    });
    assert.ok(parts.includes(composite) && parts.includes(revision ?? ""));
  });

  test("of a resource without metadata, and of a run that ended before a revision was selected, are empty", () => {
    const xr: KubeObject = { apiVersion: "v1", kind: "App", metadata: { name: "a" } };
    const { run } = prepare({ xr, after: xr, revision: undefined, composition: "given", steps: [] });
    assert.deepEqual(
      [run.xr, run.uid, run.generation, run.resourceVersion, run.compositionRevision, run.composition, run.revision],
      [{ apiVersion: "v1", kind: "App", name: "a" }, "", 0, "", "", "given", undefined],
    );
    assert.equal(prepare({ revision: undefined }).run.composition, "");
  });

  test("the conditions are those after the run, and texts have no secrets", () => {
    const conditions = [
      { type: "Synced", status: "False", reason: "ReconcileError", message: `login with ${canary} failed` },
      { type: "Ready", status: "True", reason: "Available" },
    ];
    const { run } = prepare({
      after: { ...sampleXr, status: { conditions } },
      steps: [stepOf(0, secretCall(canary), { error: `no login with ${canary}` })],
      error: { reason: "ComposeResources", message: `cannot use ${canary}` },
      outcome: "failed",
    });
    assert.deepEqual(run.conditions, [
      { type: "Synced", status: "False", reason: "ReconcileError", message: `login with ${shown} failed` },
      { type: "Ready", status: "True", reason: "Available" },
    ]);
    assert.deepEqual([run.reason, run.error], ["ComposeResources", `cannot use ${shown}`]);
    assert.equal(run.steps[0]?.error, `no login with ${shown}`);
    assert.ok(!JSON.stringify(run).includes(canary));
  });
});

describe("a secret", () => {
  test("of an object that is left out is hidden elsewhere", () => {
    const padding = "x".repeat(2 * 2 ** 20);
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, stringData: { key: canary } };
    const objects = { secret: { ...secret, padding: "x".repeat(5000) }, large: { padding }, map: { data: { canary } } };
    const prepared = prepare({ steps: [stepOf(0, callOf(objects))] }, 64 * 2 ** 20);
    const { resources } = responseIn(prepared).desired ?? assert.fail("no desired state");
    assert.deepEqual(resources.get("map")?.resource?.value, { data: { canary: shown } });
    assert.ok((omittedBytes(resources.get("secret")?.resource?.value ?? {}) ?? 0) > 5000);
  });

  for (const [what, padding, maxRunBytes] of [
    ["message", 2 * 2 ** 20, 64 * 2 ** 20],
    ["run", 10, 1000],
  ] as const) {
    test(`at the end of what is kept of a text of a large ${what} is hidden, not cut in two`, () => {
      const text = `${"x".repeat(4090)}${canary}${"y".repeat(5000)}`;
      const { request, response } = secretCall(canary, { map: { data: { padding: "x".repeat(padding) } } });
      const results = [create(Result, { severity: 2, message: text })];
      const call = { request, response: { ...(response ?? assert.fail("no response")), results } };
      const [kept] = responseIn(prepare({ steps: [stepOf(0, call)] }, maxRunBytes)).results;
      assert.equal(kept?.message, `${"x".repeat(4090)}**REDA… (${text.length} characters)`);
    });
  }

  test("of a later step is hidden in an earlier one", () => {
    const prepared = prepare({
      steps: [stepOf(0, callOf({ map: { data: { url: `https://u:${canary}@host` } } })), stepOf(1, secretCall(canary))],
    });
    const { resource } = responseIn(prepared).desired?.resources.get("map") ?? {};
    assert.deepEqual(resource?.value, { data: { url: `https://u:${shown}@host` } });
  });

  test("makes the tags of its run opaque: a tag is a hash of everything", () => {
    const plain = prepare();
    assert.deepEqual([requestIn(plain).meta?.tag, responseIn(plain).meta?.tag], ["tag", "tag"]);
    const secret = prepare({ steps: [stepOf(0, secretCall(canary))] });
    const opaque = mark(Buffer.from("tag"));
    assert.deepEqual([requestIn(secret).meta?.tag, responseIn(secret).meta?.tag], [opaque, opaque]);
    assert.deepEqual([...secret.tags], [[0, opaque]]);
  });

  test("does not make an empty or missing tag into one", () => {
    const { request, response } = secretCall(canary);
    const empty = { request: { ...request, meta: create(RequestMeta) }, response };
    assert.equal(requestIn(prepare({ steps: [stepOf(0, empty)] })).meta?.tag, "");
    const missing = {
      request: { ...request, meta: undefined },
      response: response && { ...response, meta: undefined },
    };
    const prepared = prepare({ steps: [stepOf(0, missing)] });
    assert.deepEqual([requestIn(prepared).meta, responseIn(prepared).meta], [undefined, undefined]);
    assert.deepEqual([...prepared.tags], [[0, ""]]);
  });

  test("of the input stays out of the messages, with its key", () => {
    const prepared = prepare({ steps: [stepOf(0, secretCall(canary))] });
    const { source } = requestIn(prepared).credentials.get("db") ?? {};
    assert.equal(Buffer.from(source?.value.data.get("password") ?? []).toString(), shown);
  });
});

describe("the messages of a step", () => {
  test("are those of each call; the bytes are those of the last one", () => {
    const large = { text: "x".repeat(300) };
    const first = callOf({ a: large });
    const second = callOf({ a: large, b: { text: "y".repeat(400) } }, { input: Struct.from(large) });
    const { run } = prepare({ steps: [{ ...stepOf(0, first), calls: [first, second] }] });
    const [step] = run.steps;
    assert.equal(step?.calls.length, 2);
    const bytes = (object: object): number => Struct.from(object).bytes.length;
    assert.equal(step?.bytesIn, bytes(sampleXr) + bytes(large));
    assert.equal(step?.bytesOut, bytes(large) + bytes({ text: "y".repeat(400) }));
  });

  test("of a call that failed have no response and no bytes of one", () => {
    const { request } = callOf({});
    const { run } = prepare({ steps: [stepOf(0, { request }, { error: "boom", isCached: true, durationMs: 9 })] });
    const { calls, bytesIn, ...facts } = run.steps[0] ?? assert.fail();
    assert.deepEqual(facts, {
      ...{ index: 0, name: "step-0", function: "fn", revision: "fn-1", package: "example.org/fn:v1", durationMs: 9 },
      ...{ bytesOut: 0, cached: true, error: "boom" },
    });
    assert.deepEqual(Object.keys(calls[0] ?? {}), ["request"]);
  });

  test("of a run that is too large are kept without their large objects", () => {
    const big = { text: "x".repeat(6000) };
    const small = { text: "y".repeat(100) };
    const steps = [stepOf(0, callOf({ big, small }))];
    const objects = [big, small, sampleXr].map((object) => Struct.from(object).bytes.length);
    const bytes = objects.reduce((sum, length) => sum + length, "bigsmalltagtag".length);
    const at = (limit: number, name: string): unknown => {
      const prepared = prepare({ steps }, limit);
      const { resource } = responseIn(prepared).desired?.resources.get(name) ?? {};
      const ref = resource?.value["\u0000ref"];
      return (typeof ref === "string" ? prepared.parts.get(ref) : resource)?.value;
    };
    assert.deepEqual(at(bytes, "big"), big);
    assert.equal(omittedBytes(at(bytes - 1, "big") as never), Struct.from(big).bytes.length);
    assert.deepEqual(at(bytes - 1, "small"), small);
  });

  test("the composite resource is that of the first request, or the one that was read", () => {
    const observed = create(State, { composite: create(Resource, { resource: Struct.from({ seen: true }) }) });
    const seen = prepare({ steps: [stepOf(0, callOf({}, { observed }))] });
    assert.deepEqual(seen.parts.get(seen.run.composite)?.value, { seen: true });
    const read = prepare({ steps: [] });
    assert.deepEqual(read.parts.get(read.run.composite)?.value, sampleXr);
  });
});

describe("the digest of a run", () => {
  const digest = (more: Partial<RunRecord> = {}): string => prepare(more).digest.toString("hex");

  test("is the same at another time and for another reason", () => {
    assert.equal(digest(), digest({ beganMs: 1, endedMs: 2, cause: "timer" }));
  });

  test("differs with the outcome, the steps, the writes and the conditions", () => {
    const call = callOf({ map: { apiVersion: "v1", kind: "ConfigMap", data: { text: "hello" } } });
    const write: WriteRecord = { verb: "update", apiVersion: "v1", kind: "ConfigMap", name: "a" };
    const condition = { type: "Ready", status: "True", reason: "Available" };
    const others: Readonly<Record<string, Partial<RunRecord>>> = {
      outcome: { outcome: "composed" },
      error: { error: { reason: "", message: "boom" } },
      write: { writes: [write] },
      conditions: { after: { ...sampleXr, status: { conditions: [condition] } } },
      "name of a step": { steps: [stepOf(0, call, { name: "other" })] },
      "revision of a function": { steps: [stepOf(0, call, { revisionName: "fn-2" })] },
      "failure of a step": { steps: [stepOf(0, call, { error: "boom" })] },
      "answer of a cache": { steps: [stepOf(0, call, { isCached: true })] },
    };
    const found = new Map([[digest(), "none"]]);
    for (const [name, more] of Object.entries(others)) {
      const one = digest(more);
      assert.equal(found.get(one), undefined, name);
      found.set(one, name);
    }
  });
});

describe("the fields that a write changed", () => {
  const object = (spec: JsonObject, metadata: JsonObject = {}): KubeObject => ({
    ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", ...metadata }, spec },
  });
  const changed = (before: KubeObject | undefined, after: KubeObject | undefined): number => {
    const write: WriteRecord = { verb: "update", apiVersion: "v1", kind: "ConfigMap", name: "a", before, after };
    return prepare({ writes: [write] }).run.writes[0]?.changed ?? -1;
  };

  test("are counted: values that differ, members that came or went", () => {
    assert.equal(changed(object({ a: 1, b: 2 }), object({ a: 1, b: 3 })), 1);
    assert.equal(changed(object({ a: 1 }), object({ b: 1 })), 2);
    assert.equal(changed(object({ a: { b: 1, c: 2 } }), object({ a: { b: 2, c: 3 } })), 2);
    assert.equal(changed(object({}), object({ a: { b: 1, c: { d: 1, e: 2 } } })), 3);
    assert.equal(changed(object({ a: { b: 1, c: 2 } }), object({})), 2);
    assert.equal(changed(object({ a: [1, 2, 3] }), object({ a: [1, 2, 4] })), 1, "a list is one field");
    assert.equal(changed(object({ a: [1] }), object({ a: [1] })), 0);
    assert.equal(changed(object({ a: null }), object({ a: null })), 0);
  });

  test("are not those that every write changes", () => {
    const before = object({ a: 1 }, { resourceVersion: "1", generation: 1, managedFields: [{ manager: "x" }] });
    const after = object({ a: 1 }, { resourceVersion: "2", generation: 2, managedFields: [] });
    assert.equal(changed(before, after), 0);
    assert.equal(changed(before, object({ a: 1 }, { labels: { x: "y" } })), 1);
  });

  test("of an object that is new or gone are all of its fields", () => {
    // The apiVersion, the kind, the name and two of its own.
    assert.equal(changed(undefined, object({ a: 1, b: 2 })), 5);
    assert.equal(changed(object({ a: 1, b: 2 }), undefined), 5);
    assert.equal(changed(undefined, undefined), 0);
  });

  test("are a thousand at most", () => {
    const many = Object.fromEntries(Array.from({ length: 1500 }, (_, n) => [`k${n}`, n]));
    assert.equal(changed(object({}), object(many)), 1000);
    assert.equal(changed(undefined, object(many)), 1000);
    const few = Object.fromEntries(Array.from({ length: 999 }, (_, n) => [`k${n}`, n]));
    assert.equal(changed(object({}), object(few)), 999);
  });

  test("stand beside the write, without the objects", () => {
    const write: WriteRecord = {
      ...{ verb: "apply", apiVersion: "v1", kind: "Secret", namespace: "n", name: "a", subresource: "status" },
      before: object({}),
      after: object({ a: 1 }),
    };
    assert.deepEqual(prepare({ writes: [write] }).run.writes, [
      {
        ...{ verb: "apply", apiVersion: "v1", kind: "Secret", namespace: "n", name: "a", subresource: "status" },
        changed: 1,
      },
    ]);
  });
});

test("conditions of a response are stored with it", () => {
  const { request, response } = callOf({});
  assert.ok(response);
  const conditions = [create(Condition, { type: "DatabaseReady", status: 2, reason: "Up" })];
  const prepared = prepare({ steps: [stepOf(0, { request, response: { ...response, conditions } })] });
  assert.deepEqual(responseIn(prepared).conditions, conditions);
});

test("no half of a secret is left where an error or a condition was cut", () => {
  const secret = "S3cr3t-Passw0rd-That-Is-Long-0123456789";
  const cut = shortened(`${"x".repeat(longestMessage - 30)}${secret} and more`);
  const conditions = [{ type: "Synced", status: "False", reason: "ReconcileError", message: cut }];
  const { run, parts } = prepare({
    error: { reason: "ComposeResources", message: `cannot compose resources: ${cut}` },
    after: { ...sampleXr, status: { conditions } },
    xr: { ...sampleXr, status: { conditions } },
    steps: [
      stepOf(0, secretCall(secret, { xr: { status: { conditions } } }), { error: cut }),
      stepOf(1, { request: create(RunFunctionRequest) }, { error: cut }),
    ],
  });
  const texts = [run.error, run.conditions[0]?.message, run.steps[0]?.error, run.steps[1]?.error];
  for (const text of texts) assert.match(text ?? "", /x…$/);
  const objects = [...parts.values()].map(({ bytes }) => Buffer.from(bytes).toString("latin1"));
  assert.ok(!objects.some((text) => text.includes(secret.slice(0, 8))), "nor in an object");
});

test("names that functions choose have no secret", () => {
  const { request, response = assert.fail() } = secretCall(canary, { map: {} });
  const details = new Map([[canary, Buffer.from("x")]]);
  const labels = create(MatchLabels, { labels: new Map([["k", canary]]) });
  const kind = { apiVersion: "v1", kind: "ConfigMap" };
  const prepared = prepare({
    error: { reason: canary, message: "" },
    after: { ...sampleXr, status: { conditions: [{ type: canary, status: "True", reason: "R" }] } },
    writes: [{ verb: "apply", ...kind, name: `map-${canary}` }],
    steps: [
      stepOf(0, {
        request,
        response: {
          ...response,
          desired: create(State, { resources: new Map([[canary, create(Resource, { connectionDetails: details })]]) }),
          conditions: [create(Condition, { type: canary, status: 2, reason: "R" })],
          requirements: create(Requirements, {
            resources: new Map([
              ["a", create(ResourceSelector, { ...kind, match: { case: "matchName", value: canary } })],
            ]),
            extraResources: new Map([
              [canary, create(ResourceSelector, { ...kind, match: { case: "matchLabels", value: labels } })],
            ]),
          }),
        },
      }),
    ],
  });
  assert.ok(!JSON.stringify(prepared.run).includes(canary));
  const { desired, requirements } = responseIn(prepared);
  assert.deepEqual([...(desired?.resources.keys() ?? [])], [shown]);
  assert.deepEqual([...(desired?.resources.get(shown)?.connectionDetails.keys() ?? [])], [shown]);
  assert.equal(requirements?.resources.get("a")?.match?.value, shown);
  const match = requirements?.extraResources.get(shown)?.match;
  assert.deepEqual(match?.case === "matchLabels" && [...match.value.labels], [["k", shown]]);
  assert.deepEqual(
    responseIn(prepared).conditions.map(({ type }) => type),
    [shown],
  );
  assert.equal(prepared.run.writes[0]?.name, `map-${shown}`);
});

test("names that would be equal without their secrets stay apart", () => {
  const { request, response = assert.fail() } = secretCall("value<1>");
  const resources = new Map(["value<1>", String.raw`value\u003c1\u003e`].map((name) => [name, create(Resource)]));
  const desired = create(State, { resources });
  const prepared = prepare({ steps: [stepOf(0, { request, response: { ...response, desired } })] });
  const hidden = mark(Buffer.from("value<1>"));
  assert.deepEqual([...(responseIn(prepared).desired?.resources.keys() ?? [])], [hidden, `${hidden} (2)`]);
});
