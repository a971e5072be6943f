// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, test } from "node:test";
import {
  Condition,
  CredentialData,
  Credentials,
  create,
  type JsonObject,
  RequestMeta,
  Resource,
  Resources,
  Result,
  RunFunctionRequest,
  RunFunctionResponse,
  State,
  Struct,
} from "@purlin/function-protocol";
import { plainMarks, restoreValues } from "./restore-values.ts";

const mark = "**REDACTED:0123abcd**";
const other = "**REDACTED:89abcdef**";
const unknown = "**REDACTED:ffffffff**";
const values = new Map([
  [mark, Buffer.from("s3cret")],
  [other, Buffer.from("päss")],
]);

const details = (value: string): Map<string, Uint8Array> => new Map([["password", Buffer.from(value)]]);
const resource = (object: object, value = mark): Resource =>
  create(Resource, { resource: Struct.from(object), connectionDetails: details(value) });
const passwordOf = (one: Resource | undefined): string =>
  Buffer.from(one?.connectionDetails.get("password") ?? "").toString();

/** The input of a request after its values are restored. */
function restored(input: object): JsonObject | undefined {
  return restoreValues(create(RunFunctionRequest, { input: Struct.from(input) }), values).input?.value;
}

describe("values of objects are restored", () => {
  const cases: Record<string, { readonly recorded: object; readonly want: object }> = {
    "a text that is a mark": { recorded: { a: mark }, want: { a: "s3cret" } },
    "marks inside a text": { recorded: { a: `u:${mark}@${other}/${mark}` }, want: { a: "u:s3cret@päss/s3cret" } },
    "a mark of an unknown value stays, beside a known one": {
      recorded: { a: `${unknown} ${mark}` },
      want: { a: `${unknown} s3cret` },
    },
    "the plain mark stays, for it stands for any value": {
      recorded: { a: "**REDACTED**" },
      want: { a: "**REDACTED**" },
    },
    "a text that begins like a mark stays": { recorded: { a: "**REDACTED:0123**" }, want: { a: "**REDACTED:0123**" } },
    "items of lists in lists": { recorded: { a: [[mark, 1], "b"] }, want: { a: [["s3cret", 1], "b"] } },
    "scalars other than texts stay": { recorded: { a: null, b: 1.5, c: false }, want: { a: null, b: 1.5, c: false } },
    "data of a Secret is base64": {
      recorded: { apiVersion: "v1", kind: "Secret", data: { a: mark, b: other } },
      want: { apiVersion: "v1", kind: "Secret", data: { a: "czNjcmV0", b: "cMOkc3M=" } },
    },
    "data of a Secret that was not redacted stays": {
      recorded: { apiVersion: "v1", kind: "Secret", data: { a: unknown, b: "aGk=", c: 3 } },
      want: { apiVersion: "v1", kind: "Secret", data: { a: unknown, b: "aGk=", c: 3 } },
    },
    "stringData of a Secret is text": {
      recorded: { apiVersion: "v1", kind: "Secret", stringData: { a: mark } },
      want: { apiVersion: "v1", kind: "Secret", stringData: { a: "s3cret" } },
    },
    "a Secret inside another object is one too": {
      recorded: { spec: { manifest: { apiVersion: "v1", kind: "Secret", data: { a: mark } } } },
      want: { spec: { manifest: { apiVersion: "v1", kind: "Secret", data: { a: "czNjcmV0" } } } },
    },
    "data of a kind called Secret in another group is text": {
      recorded: { apiVersion: "example.org/v1", kind: "Secret", data: { a: mark } },
      want: { apiVersion: "example.org/v1", kind: "Secret", data: { a: "s3cret" } },
    },
    "data of another kind is text": {
      recorded: { apiVersion: "v1", kind: "ConfigMap", data: { a: mark } },
      want: { apiVersion: "v1", kind: "ConfigMap", data: { a: "s3cret" } },
    },
    "data of a Secret that is one text": {
      recorded: { apiVersion: "v1", kind: "Secret", data: mark },
      want: { apiVersion: "v1", kind: "Secret", data: "s3cret" },
    },
  };
  for (const [name, { recorded, want }] of Object.entries(cases)) {
    test(name, () => assert.deepEqual(restored(recorded), want));
  }

  test("a member called __proto__ stays a member", () => {
    const recorded = JSON.parse(`{"a":{"__proto__":"${mark}","b":"${mark}"}}`) as object;
    assert.equal(JSON.stringify(restored(recorded)), '{"a":{"__proto__":"s3cret","b":"s3cret"}}');
  });

  test("bytes that are not text are restored as base64 without a loss", () => {
    const binary = new Map([[mark, Buffer.from([0xff, 0x00, 0x80])]]);
    const input = Struct.from({ apiVersion: "v1", kind: "Secret", data: { a: mark } });
    const { input: back } = restoreValues(create(RunFunctionRequest, { input }), binary);
    assert.deepEqual(back?.value["data"], { a: "/wCA" });
  });

  test("an object without marks is the same object", () => {
    const input = Struct.from({ a: [{ b: "c" }], kind: "Secret" });
    const context = Struct.from({ a: unknown });
    const back = restoreValues(create(RunFunctionRequest, { input, context }), values);
    assert.equal(back.input, input);
    assert.equal(back.context, context);
  });
});

describe("every part of a request is restored", () => {
  const state = (): State =>
    create(State, { composite: resource({ a: mark }), resources: new Map([["r", resource({ a: mark }, other)]]) });
  const value = create(CredentialData, { data: new Map([["token", Buffer.from(mark)]]) });
  const request = create(RunFunctionRequest, {
    meta: create(RequestMeta, { tag: "t" }),
    observed: state(),
    desired: state(),
    context: Struct.from({ a: mark }),
    credentials: new Map([
      ["aws", create(Credentials, { source: { case: "credentialData", value } })],
      ["none", create(Credentials, {})],
    ]),
    extraResources: new Map([["old", create(Resources, { items: [resource({ a: mark })] })]]),
    requiredResources: new Map([["new", create(Resources, { items: [resource({ a: mark }), resource({}, "x")] })]]),
  });
  const back = restoreValues(request, values);

  for (const at of ["observed", "desired"] as const) {
    test(`the ${at} state, with its connection details`, () => {
      assert.deepEqual(back[at]?.composite?.resource?.value, { a: "s3cret" });
      assert.equal(passwordOf(back[at]?.composite), "s3cret");
      assert.deepEqual(back[at]?.resources.get("r")?.resource?.value, { a: "s3cret" });
      assert.equal(passwordOf(back[at]?.resources.get("r")), "päss");
    });
  }

  test("credentials; those without a source stay", () => {
    const data = back.credentials.get("aws")?.source?.value.data;
    assert.equal(Buffer.from(data?.get("token") ?? "").toString(), "s3cret");
    assert.equal(back.credentials.get("none")?.source, undefined);
    assert.deepEqual([...back.credentials.keys()], ["aws", "none"]);
  });

  test("extra and required resources; details that are not marks stay", () => {
    const [old] = back.extraResources.get("old")?.items ?? [];
    assert.deepEqual([old?.resource?.value, passwordOf(old)], [{ a: "s3cret" }, "s3cret"]);
    const items = back.requiredResources.get("new")?.items ?? [];
    assert.deepEqual(items.map(passwordOf), ["s3cret", "x"]);
    assert.deepEqual(items[0]?.resource?.value, { a: "s3cret" });
  });

  test("the context is restored, and the tag stays", () => {
    assert.deepEqual(back.context?.value, { a: "s3cret" });
    assert.equal(back.meta?.tag, "t");
  });

  test("the recorded request does not change", () => {
    assert.equal(passwordOf(request.observed?.composite), mark);
    assert.deepEqual(request.context?.value, { a: mark });
    assert.equal(Buffer.from(value.data.get("token") ?? "").toString(), mark);
  });

  test("parts that are absent stay absent", () => {
    const { observed, desired, input, context } = restoreValues(
      create(RunFunctionRequest, { observed: create(State, {}) }),
      values,
    );
    assert.deepEqual([observed?.composite, desired, input, context], [undefined, undefined, undefined, undefined]);
  });

  test("a detail with a mark inside a longer text stays: only whole values are recorded as details", () => {
    const observed = create(State, { composite: resource({}, `x${mark}`) });
    assert.equal(
      passwordOf(restoreValues(create(RunFunctionRequest, { observed }), values).observed?.composite),
      `x${mark}`,
    );
  });
});

describe("plain marks", () => {
  const plain = "**REDACTED**";
  const desired = create(State, {
    composite: resource({ a: [mark, 1, null], b: { c: `x ${other}` } }),
    resources: new Map([["r", resource({ a: plain }, `${mark},${other}`)]]),
  });
  const response = create(RunFunctionResponse, {
    desired,
    context: Struct.from({ a: mark }),
    output: Struct.from({ a: other }),
    results: [create(Result, { message: `one ${mark} two ${other}`, reason: "Reason" })],
    conditions: [
      create(Condition, { type: "Ready", message: mark, reason: "Reason" }),
      create(Condition, { type: "Synced", reason: "Reason" }),
    ],
  });
  const shown = plainMarks(response);

  test("objects and connection details", () => {
    assert.deepEqual(shown.desired?.composite?.resource?.value, { a: [plain, 1, null], b: { c: `x ${plain}` } });
    assert.equal(passwordOf(shown.desired?.composite), plain);
    assert.deepEqual(shown.desired?.resources.get("r")?.resource?.value, { a: plain });
    assert.equal(passwordOf(shown.desired?.resources.get("r")), `${plain},${plain}`);
    assert.deepEqual([shown.context?.value, shown.output?.value], [{ a: plain }, { a: plain }]);
  });

  test("messages of results and conditions; a condition without a message has none afterwards", () => {
    assert.deepEqual(
      shown.results.map(({ message, reason }) => [message, reason]),
      [[`one ${plain} two ${plain}`, "Reason"]],
    );
    assert.deepEqual(
      shown.conditions.map(({ type, message }) => [type, message]),
      [
        ["Ready", plain],
        ["Synced", undefined],
      ],
    );
  });

  test("the response does not change, and a second call changes nothing", () => {
    assert.equal(response.results[0]?.message, `one ${mark} two ${other}`);
    assert.equal(passwordOf(response.desired?.composite), mark);
    assert.deepEqual(plainMarks(shown).results, shown.results);
  });

  test("a member called __proto__ stays a member", () => {
    const output = Struct.from(JSON.parse(`{"__proto__":{"a":"${mark}"}}`) as object);
    const value = plainMarks(create(RunFunctionResponse, { output })).output?.value;
    assert.equal(JSON.stringify(value), `{"__proto__":{"a":"${plain}"}}`);
  });

  test("a response without a desired state has none afterwards", () => {
    const empty = plainMarks(create(RunFunctionResponse, {}));
    assert.deepEqual([empty.desired, empty.context, empty.output], [undefined, undefined, undefined]);
    const bare = plainMarks(create(RunFunctionResponse, { desired: create(State, {}) }));
    assert.equal(bare.desired?.composite, undefined);
  });
});
