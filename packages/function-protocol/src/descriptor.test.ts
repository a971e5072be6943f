// SPDX-License-Identifier: Apache-2.0
// New messages: what each field holds before anything is set, and what messages of one type do not share.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { create, type Message, type MessageType, messageType, zeroOf } from "./descriptor.ts";
import * as runFunction from "./gen/run-function.ts";
import {
  Condition,
  Credentials,
  RequestMeta,
  Resource,
  ResourceSelector,
  Result,
  RunFunctionRequest,
  RunFunctionResponse,
  State,
} from "./gen/run-function.ts";
import { decode } from "./message-decode.ts";
import { encode } from "./message-encode.ts";
import { allCapabilities, runFunctionPaths, serviceNames } from "./wire-methods.ts";

const isType = (value: object): value is MessageType<Message> => "fields" in value;
const types = Object.values<object>(runFunction).filter(isType);

describe("a new message", () => {
  test("has every field: zero, empty or undefined, and no unknown ones", () => {
    assert.deepEqual(create(Result), {
      ...{ severity: 0, message: "", reason: undefined, target: undefined, $unknown: undefined },
    });
    assert.deepEqual(create(Resource), {
      ...{ resource: undefined, connectionDetails: new Map(), ready: 0, $unknown: undefined },
    });
    assert.deepEqual(create(RequestMeta), { tag: "", capabilities: [], $unknown: undefined });
    assert.deepEqual(create(Credentials), { source: undefined, $unknown: undefined });
  });

  test("of two members of a group has one property for them", () => {
    assert.deepEqual(Object.keys(create(ResourceSelector)).toSorted(), [
      ...["$unknown", "apiVersion", "kind", "match", "namespace"],
    ]);
  });

  test("has what it is given; undefined leaves a field as it is", () => {
    const condition = create(Condition, { type: "Ready", status: 2, reason: undefined as never, message: "" });
    assert.deepEqual([condition.type, condition.status, condition.reason, condition.message], ["Ready", 2, "", ""]);
    const resources = new Map([["a", create(Resource)]]);
    assert.equal(create(State, { resources }).resources, resources, "a container is taken over, not copied");
  });

  test("shares no lists and maps with another one", () => {
    const [one, other] = [create(RunFunctionResponse), create(RunFunctionResponse)];
    one.results.push(create(Result));
    assert.equal(other.results.length, 0);
    const [state, another] = [create(State), create(State)];
    state.resources.set("a", create(Resource));
    assert.equal(another.resources.size, 0);
    assert.equal(create(State).resources.size, 0, "nor with one that is made later");
  });

  for (const type of types) {
    test(`of ${type.typeName} is encoded as nothing, and nothing is decoded as it`, () => {
      assert.equal(encode(type, create(type)).length, 0);
      assert.deepEqual(decode(type, new Uint8Array()), create(type));
    });
  }
});

describe("a descriptor", () => {
  test("finds its fields by number, which are in ascending order and unique", () => {
    for (const { typeName, fields, byNumber } of types) {
      const numbers = fields.map(({ number }) => number);
      assert.deepEqual(
        numbers,
        [...new Set(numbers)].toSorted((a, b) => a - b),
        typeName,
      );
      for (const field of fields) assert.equal(byNumber.get(field.number), field);
      assert.equal(byNumber.size, fields.length);
    }
    assert.equal(RunFunctionRequest.byNumber.get(99), undefined);
  });

  test("has a name for JSON that follows from the name in the .proto file", () => {
    for (const { typeName, fields } of types) {
      for (const { name, protoName } of fields) {
        const camel = protoName.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
        assert.equal(name, camel, `${typeName}.${protoName}`);
      }
    }
  });

  test("without fields makes a message without fields", () => {
    const empty = messageType<Message>("test.Empty", []);
    assert.deepEqual(create(empty), { $unknown: undefined });
  });
});

test("absent scalars stand for zero, absent messages for nothing", () => {
  const scalar = (name: "string" | "bytes" | "bool" | "int32" | "int64"): unknown =>
    zeroOf({ kind: "scalar", scalar: name });
  assert.deepEqual(
    [scalar("string"), scalar("bool"), scalar("int32"), scalar("int64"), scalar("bytes")],
    ["", false, 0, 0n, new Uint8Array()],
  );
  assert.equal(zeroOf({ kind: "enum", enum: { typeName: "E", values: { A: 1 } } }), 0);
});

test("both versions of the protocol have a service and a path", () => {
  assert.deepEqual(runFunctionPaths, {
    v1: "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction",
    v1beta1: "/apiextensions.fn.proto.v1beta1.FunctionRunnerService/RunFunction",
  });
  assert.deepEqual(Object.keys(serviceNames), ["v1", "v1beta1"]);
});

test("every capability of the protocol is sent, but not the one that stands for none", () => {
  const known = Object.values(runFunction.Capability).filter((one) => one !== 0);
  assert.deepEqual([...allCapabilities].toSorted(), known.toSorted());
});
