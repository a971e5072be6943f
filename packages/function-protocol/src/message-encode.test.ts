// SPDX-License-Identifier: Apache-2.0
// What JavaScript lets an author put into a message, and what would otherwise be written as zeros or not at all.
import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "./descriptor.ts";
import { Duration } from "./gen/duration.ts";
import { Resource, ResponseMeta, Result, RunFunctionResponse, State } from "./gen/run-function.ts";
import { encode } from "./message-encode.ts";

const response = (fields: object): RunFunctionResponse =>
  create(RunFunctionResponse, fields as Partial<RunFunctionResponse>);
const desired = (fields: object): RunFunctionResponse =>
  response({ desired: create(State, { composite: create(Resource, fields as Partial<Resource>) }) });
const withTtl = (ttl: unknown): RunFunctionResponse =>
  response({ meta: create(ResponseMeta, { ttl: ttl as Duration }) });
const result = (fields: object): RunFunctionResponse =>
  response({ results: [create(Result, fields as Partial<Result>)] });

const mistakes: Readonly<Record<string, { reason: string; message: RunFunctionResponse; says: RegExp }>> = {
  NoStruct: {
    reason: "an object has to become a Struct first",
    message: desired({ resource: { kind: "A" } }),
    says: /^RunFunctionResponse\.desired: State\.composite: Resource\.resource: expected a Struct, .*not a value of type object$/,
  },
  NoMap: {
    reason: "a plain object has no entries",
    message: response({ desired: create(State, { resources: {} as never }) }),
    says: /State\.resources: expected a Map, not a value of type object$/,
  },
  NoList: {
    reason: "a result on its own was dropped in silence",
    message: response({ results: create(Result, { severity: 1 }) }),
    says: /^RunFunctionResponse\.results: expected a list/,
  },
  NullInList: {
    reason: "null is not a message",
    message: response({ results: [null] }),
    says: /^RunFunctionResponse\.results: expected a message, not null$/,
  },
  NameOfEnum: {
    reason: "the name of a severity was written as 0, and a fatal became a warning",
    message: result({ severity: "SEVERITY_FATAL" }),
    says: /Result\.severity: expected an integer, not a value of type string$/,
  },
  HalfAnEnum: { reason: "there is no half severity", message: result({ severity: 1.5 }), says: /an integer/ },
  NoText: {
    reason: "an Error is not a string",
    message: result({ message: new Error("x") }),
    says: /expected a string/,
  },
  NullText: { reason: "nor is null", message: result({ message: null }), says: /expected a string, not null$/ },
  TextForBytes: {
    reason: "a string was written as zeros; the message does not show the secret",
    message: desired({ connectionDetails: new Map([["password", "s3cret"]]) }),
    says: /Resource\.connectionDetails: expected bytes, not a value of type string$/,
  },
  NumberForMessage: {
    reason: "a number of seconds was a TTL of 0",
    message: withTtl(60),
    says: /ResponseMeta\.ttl: expected a message, not a value of type number$/,
  },
  NumberForBigint: {
    reason: "seconds are a bigint",
    message: withTtl({ seconds: 60, nanos: 0 }),
    says: /Duration\.seconds: expected a bigint, not a value of type number$/,
  },
  NotANumber: {
    reason: "NaN was written as 0",
    message: withTtl(create(Duration, { nanos: Number.NaN })),
    says: /Duration\.nanos: expected an integer/,
  },
};

for (const [name, { reason, message, says }] of Object.entries(mistakes)) {
  test(`a value of another type is refused with its place, ${name}: ${reason}`, () => {
    assert.throws(() => encode(RunFunctionResponse, message), {
      name: "ProtocolError",
      code: "INVALID_VALUE",
      message: says,
    });
  });
}
