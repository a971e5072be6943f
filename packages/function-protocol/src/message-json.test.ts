// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import {
  fromBinary,
  type JsonValue,
  fromJson as judgeFromJson,
  toJson as judgeToJson,
  toBinary,
} from "@bufbuild/protobuf";
import fc from "fast-check";
import { arbitraryMessage, judgeOf } from "../test/arbitrary-message.ts";
import { create, type Message, type MessageType } from "./descriptor.ts";
import { Duration } from "./gen/duration.ts";
import {
  MatchLabels,
  RequestMeta,
  Requirements,
  ResourceSelector,
  ResponseMeta,
  Result,
  RunFunctionRequest,
  RunFunctionResponse,
  Schema,
} from "./gen/run-function.ts";
import { decode } from "./message-decode.ts";
import { encode } from "./message-encode.ts";
import { fromJson, toJson } from "./message-json.ts";
import { Struct } from "./struct.ts";

const sorted = (json: unknown): string => JSON.stringify(json, (_, value: unknown) => sortMembers(value));

function sortMembers(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** protobuf-JSON cannot hold a duration whose parts have different signs or are out of range. */
function hasJsonForm(message: Message): boolean {
  const ttl = (message as ResponseMeta).ttl ?? (message as RunFunctionResponse).meta?.ttl;
  if (ttl === undefined) return true;
  const inRange = ttl.seconds > -315_576_000_000n && ttl.seconds < 315_576_000_000n && Math.abs(ttl.nanos) < 1e9;
  return inRange && (ttl.seconds === 0n || ttl.nanos === 0 || ttl.seconds > 0n === ttl.nanos > 0);
}

for (const type of [RunFunctionRequest, RunFunctionResponse] as MessageType<Message>[]) {
  const judge = judgeOf(type.typeName);

  test(`${type.typeName}: protobuf-es shows the same JSON`, () => {
    fc.assert(
      fc.property(arbitraryMessage(type).filter(hasJsonForm), (message) => {
        const theirs = judgeToJson(judge, fromBinary(judge, encode(type, message)));
        assert.equal(sorted(toJson(type, message)), sorted(theirs));
      }),
      { numRuns: 100 },
    );
  });

  test(`${type.typeName}: both read the same message from JSON`, () => {
    fc.assert(
      fc.property(arbitraryMessage(type).filter(hasJsonForm), (message) => {
        const json = toJson(type, message);
        const ours = encode(type, fromJson(type, json));
        const theirs = toBinary(judge, judgeFromJson(judge, json as JsonValue));
        assert.equal(sorted(toJson(type, decode(type, ours))), sorted(toJson(type, decode(type, theirs))));
      }),
      { numRuns: 100 },
    );
  });
}

test("durations are written with as many digits as they need", () => {
  const ttl = (seconds: bigint, nanos: number): unknown =>
    toJson(ResponseMeta, create(ResponseMeta, { ttl: create(Duration, { seconds, nanos }) }))["ttl"];
  assert.deepEqual(
    [ttl(60n, 0), ttl(1n, 5e8), ttl(0n, 1), ttl(-1n, -5e8), ttl(0n, -1000)],
    ["60s", "1.500s", "0.000000001s", "-1.500s", "-0.000001s"],
  );
});

test(".proto names and null are accepted", () => {
  const selector = fromJson(ResourceSelector, {
    api_version: "v1",
    kind: "ConfigMap",
    match_name: "a",
    namespace: null,
  });
  assert.deepEqual(
    { ...selector },
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      match: { case: "matchName", value: "a" },
      namespace: undefined,
      $unknown: undefined,
    },
  );
});

test("enums are names or numbers, unknown numbers stay numbers", () => {
  assert.equal(fromJson(Result, { severity: "SEVERITY_WARNING" }).severity, 2);
  assert.deepEqual(toJson(Result, create(Result, { severity: 99 })), { severity: 99 });
  assert.deepEqual(fromJson(RequestMeta, { capabilities: ["CAPABILITY_CONDITIONS", 42] }).capabilities, [4, 42]);
});

const wrong: Record<string, { readonly type: MessageType<Message>; readonly json: unknown; readonly says: RegExp }> = {
  "a list for a message": { type: RunFunctionRequest, json: [], says: /^the message: expected an object, not \[\]$/ },
  "unknown field": {
    type: RunFunctionRequest,
    json: { observed: { composit: {} } },
    says: /^observed\.composit: State has no field "composit"; it has composite, resources$/,
  },
  "string for a Struct": {
    type: RunFunctionRequest,
    json: { input: "a" },
    says: /^input: expected an object, not "a"$/,
  },
  "number for a string": { type: RequestMeta, json: { tag: 1 }, says: /^tag: expected a string, not 1$/ },
  "unknown enum name": {
    type: Result,
    json: { severity: "BAD" },
    says: /^severity: expected one of SEVERITY_UNSPECIFIED, .*, not "BAD"$/,
  },
  "bad base64": {
    type: RunFunctionRequest,
    json: { credentials: { c: { credentialData: { data: { "a.b": "%" } } } } },
    says: /^credentials\.c\.credentialData\.data\["a\.b"\]: expected base64, not "%"$/,
  },
  "bad duration": { type: ResponseMeta, json: { ttl: "1m" }, says: /^ttl: expected a duration such as "60s"/ },
  "both of a oneof": {
    type: Requirements,
    json: { resources: { a: { matchName: "x", matchLabels: {} } } },
    says: /^resources\.a\.matchLabels: only one of its group may be set$/,
  },
  "object for a list": {
    type: RunFunctionResponse,
    json: { results: {} },
    says: /^results: expected a list, not \{\}$/,
  },
  "item of a list": {
    type: RunFunctionResponse,
    json: { results: [{}, 1] },
    says: /^results\[1\]: expected an object, not 1$/,
  },
  "list for a map": { type: MatchLabels, json: { labels: [] }, says: /^labels: expected an object, not \[\]$/ },
  "long values are cut": { type: RequestMeta, json: { tag: ["x".repeat(500)] }, says: /^.{0,120}…$/ },
  "value JSON cannot hold": {
    type: Schema,
    json: { openapiV3: { a: Number.NaN } },
    says: /^openapiV3: a: NaN has no JSON form$/,
  },
};
for (const [name, { type, json, says }] of Object.entries(wrong)) {
  test(`bad input: ${name}`, () => {
    assert.throws(() => fromJson(type, json), { name: "ProtocolError", message: says });
  });
}

const paths: Record<string, { readonly json: unknown; readonly path: string }> = {
  "an unknown field": { json: { observed: { composit: {} } }, path: "observed.composit" },
  "an item of a list": { json: { meta: { capabilities: [1, "X"] } }, path: "meta.capabilities[1]" },
  "a member inside a Struct": { json: { input: { "a.b": [{ c: Number.NaN }] } }, path: 'input["a.b"][0].c' },
  "the whole message": { json: 1, path: "" },
};
for (const [name, { json, path }] of Object.entries(paths)) {
  test(`the error carries the path of ${name}`, () => {
    assert.throws(() => fromJson(RunFunctionRequest, json), { name: "ProtocolError", path });
  });
}

test("a Struct JSON cannot show is an error, not a guess", () => {
  const kindless = create(Schema, { openapiV3: Struct.fromBytes(Buffer.from("0a050a016b1200", "hex")) });
  assert.throws(() => toJson(Schema, kindless), { message: /a value without a kind, which JSON cannot show/ });
  const nan = create(Schema, { openapiV3: Struct.fromBytes(Buffer.from("0a0e0a016b120911000000000000f87f", "hex")) });
  assert.throws(() => toJson(Schema, nan), { message: /NaN, which JSON cannot show/ });
});

test("the key __proto__ survives", () => {
  const json = JSON.parse('{"labels":{"__proto__":"x"}}') as object;
  assert.equal(JSON.stringify(toJson(MatchLabels, fromJson(MatchLabels, json))), '{"labels":{"__proto__":"x"}}');
});
