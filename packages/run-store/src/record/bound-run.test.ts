// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, test } from "node:test";
import { finish } from "@purlin/base";
import {
  Condition,
  CredentialData,
  Credentials,
  create,
  MatchLabels,
  Requirements,
  Resource,
  ResourceSelector,
  Resources,
  Result,
  RunFunctionRequest,
  RunFunctionResponse,
  Schema,
  State,
  Struct,
} from "@purlin/function-protocol";
import { runOf, stepOf } from "../../test/sample-runs.ts";
import { createRedactor } from "../redact/redact-messages.ts";
import { omittedBytes } from "../redact/redact-object.ts";
import { plainMark } from "../redact/sensitive-fields.ts";
import { boundCall, boundSteps, bytesUpTo, callBytes } from "./bound-run.ts";
import type { CallRecord, StepRecord } from "./stored-run.ts";

/** An object whose encoded form has exactly this many bytes, at least 200. */
function structOf(bytes: number, name = "text"): Struct {
  for (let length = bytes - name.length - 20; length < bytes; length++) {
    const struct = Struct.from({ [name]: "x".repeat(length) });
    if (struct.bytes.length === bytes) return struct;
  }
  return assert.fail(`there is no object of ${bytes} bytes`);
}

describe("large messages", () => {
  const limit = 20_000;
  const deps = { mark: plainMark, redactor: createRedactor({ mark: plainMark })() };
  const inputOf = (input: Struct, context = Struct.from({})): CallRecord => ({
    request: create(RunFunctionRequest, { input, context }),
  });
  const inputIn = ({ request }: CallRecord): Struct => request.input ?? assert.fail("no input");

  test("the bytes of a call are those of the objects of both messages, and the texts of the response", () => {
    const [input, output] = [structOf(300), structOf(400)];
    const results = [create(Result, { message: "12345", reason: "123" })];
    const conditions = [create(Condition, { message: "1", reason: "12" }), create(Condition, {})];
    const request = create(RunFunctionRequest, { input });
    assert.equal(finish(callBytes({ request })), 300);
    const response = create(RunFunctionResponse, { output, results, conditions });
    assert.equal(finish(callBytes({ request, response })), 711);
  });

  test("a message with as many bytes as the limit stays; with one more its large objects are omitted", () => {
    const within = inputOf(structOf(limit));
    assert.equal(finish(boundCall(within, limit, deps)), within);
    const small = structOf(300);
    const bound = finish(boundCall(inputOf(structOf(limit + 1), small), limit, deps));
    assert.equal(omittedBytes(inputIn(bound).value), limit + 1);
    assert.equal(bound.request.context, small);
    assert.equal(bound.response, undefined);
  });

  for (const [bytes, isOmitted] of [
    [4096, false],
    [4097, true],
  ] as const) {
    test(`an object of ${bytes} bytes in a message that is too large ${isOmitted ? "is omitted" : "stays"}`, () => {
      const bound = finish(boundCall(inputOf(structOf(bytes), structOf(limit)), limit, deps));
      assert.equal(omittedBytes(inputIn(bound).value), isOmitted ? bytes : undefined);
    });
  }

  test("the other message of a call stays", () => {
    const [large, other] = [structOf(limit + 1), structOf(5000)];
    const request = create(RunFunctionRequest, { input: other });
    const response = create(RunFunctionResponse, { output: large });
    const bound = finish(boundCall({ request, response }, limit, deps));
    assert.equal(bound.request, request);
    assert.equal(omittedBytes(bound.response?.output?.value ?? {}), limit + 1);
    const asked = {
      request: create(RunFunctionRequest, { input: large }),
      response: create(RunFunctionResponse, { output: other }),
    };
    const reverse = finish(boundCall(asked, limit, deps));
    assert.equal(reverse.response, asked.response);
    assert.equal(omittedBytes(inputIn(reverse).value), limit + 1);
  });

  const texts = (length: number, count = 1): CallRecord => ({
    request: create(RunFunctionRequest, {}),
    response: create(RunFunctionResponse, {
      results: Array.from({ length: count }, (_, index) => create(Result, { message: `${index}`, reason: "r" })),
      conditions: [create(Condition, { type: "Ready", message: "m".repeat(length), reason: "r".repeat(length) })],
    }),
  });

  test("texts of 4096 characters stay; longer ones are cut and say how long they were", () => {
    const conditionOf = (length: number): Condition | undefined =>
      finish(boundCall(texts(length), 100, deps)).response?.conditions[0];
    const kept = conditionOf(4096);
    assert.deepEqual([kept?.message, kept?.reason], ["m".repeat(4096), "r".repeat(4096)]);
    const cut = conditionOf(4097);
    assert.deepEqual(
      [cut?.type, cut?.message, cut?.reason],
      ["Ready", `${"m".repeat(4096)}… (4097 characters)`, `${"r".repeat(4096)}… (4097 characters)`],
    );
  });

  test("the first hundred results are kept", () => {
    const results = (count: number): readonly Result[] =>
      finish(boundCall(texts(1, count), 10, deps)).response?.results ?? [];
    assert.equal(results(100).length, 100);
    assert.deepEqual([results(101).length, results(101).at(-1)?.message], [100, "99"]);
  });

  test("a result without a reason has none afterwards", () => {
    const response = create(RunFunctionResponse, { results: [create(Result, { message: "m".repeat(50) })] });
    const bound = finish(boundCall({ request: create(RunFunctionRequest, {}), response }, 10, deps));
    assert.equal(bound.response?.results[0]?.reason, undefined);
  });

  test("steps are bounded at two MiB for each message, and stay as they are otherwise", () => {
    const most = 2 * 2 ** 20;
    const steps = (...bytes: readonly number[]): readonly StepRecord[] =>
      bytes.map((one, index) => stepOf(index, inputOf(structOf(one))));
    const bounded = (all: readonly StepRecord[], maxRunBytes = 64 * 2 ** 20): readonly StepRecord[] =>
      finish(boundSteps(all, { ...deps, maxRunBytes }));
    const sizes = (all: readonly StepRecord[]) =>
      all.map(({ calls }) => calls.map((call) => omittedBytes(inputIn(call).value)));
    const within = steps(most);
    assert.equal(bounded(within)[0], within[0]);
    assert.deepEqual(sizes(bounded(steps(5000, most + 1))), [[undefined], [most + 1]]);
    assert.deepEqual(sizes(bounded(steps(5000, 5000), 10_000)), [[undefined], [undefined]]);
    assert.deepEqual(sizes(bounded(steps(5000, 5001), 10_000)), [[5000], [5001]]);
  });

  test("names count: of a message with long ones, neither details nor requirements are kept", () => {
    const connectionDetails = new Map(
      Array.from({ length: 100 }, (_, i) => [`${i}`.padStart(1000, "k"), Buffer.from("v")]),
    );
    const desired = create(State, { resources: new Map([["a", create(Resource, { connectionDetails })]]) });
    const labels = new Map(Array.from({ length: 100 }, (_, i) => [`${i}`.padStart(1000, "l"), "v"]));
    const match = { case: "matchLabels" as const, value: create(MatchLabels, { labels }) };
    const selector = create(ResourceSelector, { apiVersion: "v1", kind: "ConfigMap", match });
    const requirements = create(Requirements, { resources: new Map([["r", selector]]) });
    const response = create(RunFunctionResponse, { desired, requirements });
    const call = { request: create(RunFunctionRequest, {}), response };
    assert.equal(finish(callBytes(call)), 1 + 100_100 + "rv1ConfigMap".length + 100_100);
    const bound = finish(boundCall(call, 100_000, deps));
    assert.equal(bound.response?.desired?.resources.get("a")?.connectionDetails.size, 0);
    assert.equal(bound.response?.requirements, undefined);
  });

  test("the bytes of a run are counted up to a number", () => {
    const run = runOf({ steps: [stepOf(0, inputOf(structOf(300), structOf(1000)))] });
    assert.equal(bytesUpTo(500, run), 500);
    const bytes = bytesUpTo(1e6, run);
    assert.ok(bytes > 1000 && bytes < 2000, `${bytes}`);
  });

  const secret = new Map([["key".padEnd(1000, "k"), Buffer.alloc(2000)]]);
  const source = { case: "credentialData" as const, value: create(CredentialData, { data: secret }) };
  const resource = create(Resource, { connectionDetails: secret });
  const requests: Readonly<Record<string, readonly [number, Partial<RunFunctionRequest>]>> = {
    "credentials with their keys": [3000, { credentials: new Map([["a", create(Credentials, { source })]]) }],
    "names of credentials": [3000, { credentials: new Map([["a".repeat(3000), create(Credentials)]]) }],
    "connection details with their keys": [3000, { observed: create(State, { composite: resource }) }],
    "names of resources": [3000, { desired: create(State, { resources: new Map([["a".repeat(3000), resource]]) }) }],
    "connection details of required resources": [
      3000,
      { requiredResources: new Map([["a", create(Resources, { items: [resource] })]]) },
    ],
    "names of requirements": [3000, { extraResources: new Map([["a".repeat(3000), create(Resources)]]) }],
    "required schemas": [3000, { requiredSchemas: new Map([["a", create(Schema, { openapiV3: structOf(3000) })]]) }],
    "unknown fields": [3000, { $unknown: [new Uint8Array(3000)] }],
  };
  for (const [what, [least, message]] of Object.entries(requests)) {
    test(`the bytes of a run include ${what}`, () => {
      const call = { request: create(RunFunctionRequest, message) };
      const bytes = bytesUpTo(1e6, runOf({ steps: [stepOf(0, call)] }));
      assert.ok(bytes >= least && bytes < 2 * least + 1000, `${bytes}`);
    });
  }

  test("many long keys of the composite resource are not kept", () => {
    const connectionDetails = new Map([["k".repeat(5000), Buffer.alloc(0)]]);
    const desired = create(State, { composite: create(Resource, { connectionDetails }) });
    const call = { request: create(RunFunctionRequest, {}), response: create(RunFunctionResponse, { desired }) };
    assert.equal(finish(boundCall(call, 4000, deps)).response?.desired?.composite?.connectionDetails.size, 0);
  });
});
