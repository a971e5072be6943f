// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import fc from "fast-check";
import { arbitraryMessage } from "../test/arbitrary-message.ts";
import { decodeInTurns } from "./decode-in-turns.ts";
import { create } from "./descriptor.ts";
import { Resource, Result, RunFunctionResponse, State } from "./gen/run-function.ts";
import { decode } from "./message-decode.ts";
import { encode } from "./message-encode.ts";
import { Struct } from "./struct.ts";

/** More than is read at once. */
const filler = create(Result, { message: "x".repeat(70_000) });

function large(response: RunFunctionResponse): Buffer {
  return encode(RunFunctionResponse, { ...response, results: [...response.results, filler] });
}

test("a large message reads the same in turns as at once", async () => {
  await fc.assert(
    fc.asyncProperty(arbitraryMessage(RunFunctionResponse), async (response) => {
      const bytes = large(response as RunFunctionResponse);
      assert.deepEqual(await decodeInTurns(RunFunctionResponse, bytes), decode(RunFunctionResponse, bytes));
    }),
    { numRuns: 100 },
  );
});

test("a message in parts, with unknown fields between them, reads the same in turns", async () => {
  const state = (name: string): Buffer =>
    encode(
      RunFunctionResponse,
      create(RunFunctionResponse, {
        desired: create(State, {
          composite: create(Resource, { resource: Struct.from({ [name]: 1 }) }),
          resources: new Map([[name, create(Resource)]]),
        }),
      }),
    );
  const unknown = Buffer.from("980605", "hex");
  const bytes = Buffer.concat([unknown, state("a"), unknown, state("b"), large(create(RunFunctionResponse)), unknown]);
  const whole = decode(RunFunctionResponse, bytes);
  assert.deepEqual(await decodeInTurns(RunFunctionResponse, bytes), whole);
  assert.deepEqual(whole.desired?.composite?.resource?.value, { a: 1, b: 1 });
});

test("an error in turns names the same field", async () => {
  const tooLong = Buffer.concat([large(create(RunFunctionResponse)), Buffer.from("12030a05", "hex")]);
  const unread = { code: "MALFORMED", message: /^RunFunctionResponse\.desired: / };
  assert.throws(() => decode(RunFunctionResponse, tooLong), unread);
  await assert.rejects(decodeInTurns(RunFunctionResponse, tooLong), unread);
});

test("other work runs while a large message is read", async () => {
  const resources = new Map(
    Array.from({ length: 30_000 }, (_, i) => [`r${i}`, create(Resource, { resource: Struct.from({ i }) })] as const),
  );
  const bytes = encode(RunFunctionResponse, create(RunFunctionResponse, { desired: create(State, { resources }) }));
  let turns = 0;
  const count = setInterval(() => turns++, 0);
  await decodeInTurns(RunFunctionResponse, bytes);
  clearInterval(count);
  assert.ok(turns > 1, `${turns}`);
});
