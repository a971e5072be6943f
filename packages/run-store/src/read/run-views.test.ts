// SPDX-License-Identifier: Apache-2.0
// A stored run as it is shown: its messages with their objects, and what was not kept of them.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, test } from "node:test";
import {
  create,
  encode,
  Ready,
  RequestMeta,
  Resource,
  Result,
  RunFunctionRequest,
  RunFunctionResponse,
  Severity,
  State,
  Struct,
} from "@purlin/function-protocol";
import type { StoredCall, StoredRun, StoredStep } from "../record/stored-run.ts";
import { omittedStruct } from "../redact/redact-object.ts";
import { plainMark } from "../redact/sensitive-fields.ts";
import type { RunDocument } from "../store/run-reader.ts";
import { desiredObjects, inflateRun, lastCall, omittedIn, requestJson, responseJson } from "./run-views.ts";

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
const stub = (ref: string): Struct => Struct.from({ "\u0000ref": ref });
const resource = (struct: Struct | undefined, ready?: Ready): Resource =>
  create(Resource, { resource: struct, ...(ready !== undefined && { ready }) });

const messageOf = (
  struct: Struct,
): { readonly request: RunFunctionRequest; readonly response: RunFunctionResponse } => {
  const state = create(State, { composite: resource(struct), resources: new Map([["a", resource(struct)]]) });
  return {
    request: create(RunFunctionRequest, { observed: state, input: struct }),
    response: create(RunFunctionResponse, { desired: state, context: struct, output: struct }),
  };
};

const callOf = ({ request, response }: ReturnType<typeof messageOf>): StoredCall => ({
  request: base64(encode(RunFunctionRequest, request)),
  response: base64(encode(RunFunctionResponse, response)),
});

function documentOf(calls: readonly StoredCall[], more: Partial<StoredRun> = {}, parts = {}): RunDocument {
  const step: StoredStep = {
    ...{ index: 0, name: "render", function: "fn", revision: "fn-1", package: "p", durationMs: 3 },
    ...{ bytesIn: 1, bytesOut: 2, cached: false, calls },
  };
  const run: StoredRun = {
    ...{ id: "01", xr: { apiVersion: "example.org/v1", kind: "App", name: "shop" }, uid: "u", generation: 1 },
    ...{ resourceVersion: "1", composition: "apps", compositionRevision: "apps-1", cause: "spec" },
    ...{ began: "2026-01-01T00:00:00.000Z", durationMs: 3, outcome: "composed", conditions: [], writes: [] },
    ...{ steps: [step], composite: "c", parts: ["c"], ...more },
  };
  return { run, repeats: 4, last: "2026-01-02T00:00:00.000Z", parts };
}

describe("the objects of a stored run", () => {
  const object = Struct.from({ apiVersion: "v1", kind: "ConfigMap", data: { a: "1" } });
  const parts = { c: base64(object.bytes), r: base64(Struct.from({ kind: "Revision" }).bytes) };

  test("are put back wherever a reference stands for them", () => {
    const { steps } = inflateRun(documentOf([callOf(messageOf(stub("c")))], {}, parts));
    const { request, response } = lastCall(steps[0] ?? assert.fail()) ?? assert.fail();
    const values = [
      request.observed?.composite?.resource,
      request.observed?.resources.get("a")?.resource,
      request.input,
      response?.desired?.composite?.resource,
      response?.desired?.resources.get("a")?.resource,
      response?.context,
      response?.output,
    ];
    for (const [index, struct] of values.entries()) assert.deepEqual(struct?.value, object.value, String(index));
  });

  test("an object that stayed in its message is that object", () => {
    const inline = Struct.from({ small: true });
    const { steps } = inflateRun(documentOf([callOf(messageOf(inline))], {}, parts));
    assert.deepEqual(steps[0]?.calls[0]?.request.input?.value, { small: true });
  });

  test("one that the store no longer has is empty", () => {
    const { steps, composite, revision } = inflateRun(documentOf([callOf(messageOf(stub("gone")))], { revision: "x" }));
    assert.deepEqual(steps[0]?.calls[0]?.request.input?.value, {});
    assert.deepEqual([composite, revision], [{}, {}]);
  });

  test("the composite resource and the revision are objects, and facts of the run stay", () => {
    const run = inflateRun(documentOf([], { revision: "r", reason: "R", error: "boom", ttlMs: 5 }, parts));
    assert.deepEqual(run.composite, object.value);
    assert.deepEqual(run.revision, { kind: "Revision" });
    assert.deepEqual(
      [run.repeats, run.last, run.reason, run.error, run.ttlMs],
      [4, "2026-01-02T00:00:00.000Z", "R", "boom", 5],
    );
    assert.ok(!("parts" in run));
    assert.equal(inflateRun(documentOf([])).revision, undefined);
  });

  test("a call that failed has no response, and the last call of a step is its last", () => {
    const { request } = callOf(messageOf(object));
    const whole = callOf(messageOf(stub("c")));
    const { steps } = inflateRun(documentOf([whole, { request }], {}, parts));
    const step = steps[0] ?? assert.fail();
    assert.equal(step.calls.length, 2);
    assert.equal(lastCall(step)?.response, undefined);
    assert.equal(lastCall({ ...step, calls: [] }), undefined);
  });
});

describe("the desired resources of a state", () => {
  test("are those with an object, the composite resource first under its own name", () => {
    const state = create(State, {
      composite: resource(Struct.from({ status: { a: 1 } })),
      resources: new Map([
        ["b", resource(Struct.from({ kind: "B" }))],
        ["empty", resource(undefined)],
        ["a", resource(Struct.from({}))],
      ]),
    });
    assert.deepEqual(
      [...desiredObjects(state)],
      [
        ["(composite)", { status: { a: 1 } }],
        ["b", { kind: "B" }],
        ["a", {}],
      ],
    );
    assert.equal(desiredObjects(undefined).size, 0);
    assert.equal(desiredObjects(create(State)).size, 0);
  });

  test("say whether they are ready where the function does", () => {
    const kinds: Readonly<Record<string, Ready>> = {
      unspecified: Ready.READY_UNSPECIFIED,
      yes: Ready.READY_TRUE,
      no: Ready.READY_FALSE,
    };
    const resources = new Map(
      Object.entries(kinds).map(([name, ready]) => [name, resource(Struct.from({ x: 1 }), ready)]),
    );
    assert.deepEqual(Object.fromEntries(desiredObjects(create(State, { resources }))), {
      unspecified: { x: 1 },
      yes: { x: 1, "(ready)": true },
      no: { x: 1, "(ready)": false },
    });
  });
});

describe("objects that were not kept", () => {
  const large = Struct.from({ text: "x".repeat(5000) });
  const omitted = omittedStruct(large, plainMark);
  const size = large.bytes.length;

  test("are shown as their size, in requests, responses and desired resources", () => {
    const { request, response } = messageOf(omitted);
    const text = { omitted: `not kept: ${size} bytes` };
    assert.deepEqual(requestJson(request), {
      observed: { composite: { resource: text }, resources: { a: { resource: text } } },
      input: text,
    });
    assert.deepEqual(responseJson(response), {
      desired: { composite: { resource: text }, resources: { a: { resource: text } } },
      context: text,
      output: text,
    });
    assert.deepEqual(desiredObjects(response.desired).get("a"), text);
  });

  test("are counted once each, with their bytes", () => {
    const call = messageOf(omitted);
    assert.deepEqual(omittedIn(call), { objects: 1, bytes: size }, "the same object at several places");
    const other = omittedStruct(Struct.from({ text: "y".repeat(6000) }), plainMark);
    const { objects, bytes } = omittedIn({ ...call, request: messageOf(other).request });
    assert.deepEqual([objects, bytes > 11_000], [2, true]);
    assert.deepEqual(omittedIn({ request: call.request }), { objects: 1, bytes: size }, "without a response");
    assert.deepEqual(omittedIn(messageOf(large)), { objects: 0, bytes: 0 });
  });
});

test("messages are shown as protobuf-JSON: names of enums, objects as they are, no empty fields", () => {
  const request = create(RunFunctionRequest, { meta: create(RequestMeta, { tag: "t", capabilities: [1] }) });
  assert.deepEqual(requestJson(request), { meta: { tag: "t", capabilities: ["CAPABILITY_CAPABILITIES"] } });
  const results = [create(Result, { severity: Severity.SEVERITY_FATAL, message: "boom" })];
  assert.deepEqual(responseJson(create(RunFunctionResponse, { results })), {
    results: [{ severity: "SEVERITY_FATAL", message: "boom" }],
  });
});
