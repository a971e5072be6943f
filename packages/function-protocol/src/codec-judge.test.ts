// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { equals, fromBinary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { arbitraryMessage, judgeOf } from "../test/arbitrary-message.ts";
import type { Message, MessageType } from "./descriptor.ts";
import * as health from "./gen/health.ts";
import * as reflection from "./gen/reflection.ts";
import * as runFunction from "./gen/run-function.ts";
import { decode } from "./message-decode.ts";
import { encode } from "./message-encode.ts";

const isType = (value: object): value is MessageType<Message> => "fields" in value;
const types = [runFunction, health, reflection].flatMap((module) => Object.values<object>(module).filter(isType));
const readOptions = { readUnknownFields: true };

for (const type of types) {
  const judge = judgeOf(type.typeName);

  test(`${type.typeName}: protobuf-es writes what we wrote`, () => {
    fc.assert(
      fc.property(arbitraryMessage(type), (message) => {
        const ours = encode(type, message);
        const read = fromBinary(judge, ours, readOptions);
        assert.equal(Buffer.from(toBinary(judge, read)).toString("hex"), ours.toString("hex"));
      }),
      { numRuns: 60 },
    );
  });

  test(`${type.typeName}: we read what protobuf-es wrote`, () => {
    fc.assert(
      fc.property(arbitraryMessage(type), (message) => {
        const theirs = toBinary(judge, fromBinary(judge, encode(type, message)));
        const again = encode(type, decode(type, theirs));
        assert.ok(equals(judge, fromBinary(judge, again), fromBinary(judge, theirs)));
      }),
      { numRuns: 60 },
    );
  });
}

test("every message type of the function protocol is judged, in both versions", () => {
  assert.equal(types.length, 26);
  for (const type of types.filter(({ typeName }) => typeName.includes(".fn.proto."))) {
    const twin = judgeOf(type.typeName.replace(".v1.", ".v1beta1."));
    assert.deepEqual(
      twin.fields.map((field) => [field.number, field.name, field.fieldKind]),
      judgeOf(type.typeName).fields.map((field) => [field.number, field.name, field.fieldKind]),
    );
  }
});

test("bytes that are not a message give a ProtocolError and nothing else", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      try {
        const message = decode(runFunction.RunFunctionRequest, bytes);
        message.input?.value;
        message.observed?.composite?.resource?.value;
      } catch (error) {
        assert.equal((error as Error).name, "ProtocolError");
      }
    }),
    { numRuns: 3000 },
  );
});

test("a message cut short or damaged gives a ProtocolError or another message, never a crash", () => {
  const damaged = fc
    .tuple(arbitraryMessage(runFunction.RunFunctionRequest), fc.nat(), fc.nat(255), fc.boolean())
    .map(([message, at, value, cut]) => {
      const bytes = encode(runFunction.RunFunctionRequest, message);
      if (bytes.length === 0) return bytes;
      if (cut) return bytes.subarray(0, at % bytes.length);
      bytes[at % bytes.length] = value;
      return bytes;
    });
  fc.assert(
    fc.property(damaged, (bytes) => {
      try {
        const message = decode(runFunction.RunFunctionRequest, bytes);
        for (const { resource } of message.observed?.resources.values() ?? []) resource?.value;
      } catch (error) {
        assert.equal((error as Error).name, "ProtocolError");
      }
    }),
    { numRuns: 1000 },
  );
});
