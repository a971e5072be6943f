// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, test } from "node:test";
import { finish } from "@purlin/base";
import {
  create,
  decode,
  Resource,
  ResponseMeta,
  RunFunctionRequest,
  RunFunctionResponse,
  State,
  Struct,
} from "@purlin/function-protocol";
import { type CutPart, RunCutter, refOf } from "./cut-run.ts";

const cutter = ({ isUnique = false, known = new WeakMap<Struct, CutPart>() } = {}): RunCutter =>
  new RunCutter(known, { isUnique });
const withInput = (input: Struct): RunFunctionRequest => create(RunFunctionRequest, { input });
const decoded = (text: string): RunFunctionRequest => decode(RunFunctionRequest, Buffer.from(text, "base64"));

/** An object whose encoded form has exactly this many bytes, at least 200. */
function structOf(bytes: number, name = "text"): Struct {
  for (let length = bytes - name.length - 20; length < bytes; length++) {
    const struct = Struct.from({ [name]: "x".repeat(length) });
    if (struct.bytes.length === bytes) return struct;
  }
  return assert.fail(`there is no object of ${bytes} bytes`);
}

describe("objects are cut out of messages", () => {
  for (const [bytes, isCut] of [
    [255, false],
    [256, true],
    [257, true],
  ] as const) {
    test(`an object of ${bytes} bytes ${isCut ? "is stored apart" : "stays in its message"}`, () => {
      const cut = cutter();
      const struct = structOf(bytes);
      const { input } = decoded(finish(cut.request(withInput(struct))));
      assert.equal(cut.parts.size, isCut ? 1 : 0);
      assert.deepEqual(input?.value, isCut ? { "\u0000ref": cut.object(struct) } : struct.value);
    });
  }

  test("a reference has 32 hexadecimal digits and leads to the object", () => {
    const cut = cutter();
    const struct = structOf(300);
    const { input } = decoded(finish(cut.request(withInput(struct))));
    const ref = refOf(input ?? assert.fail("no input"));
    assert.match(ref ?? "", /^[0-9a-f]{32}$/);
    assert.equal(cut.parts.get(ref ?? ""), struct);
  });

  test("fields of a newer version of the protocol are left out, wherever they are", () => {
    const bytes = Buffer.concat([Buffer.from("9a0606", "hex"), Buffer.from("secret")]);
    const meta = create(ResponseMeta, { tag: "t", $unknown: [bytes] });
    const response = create(RunFunctionResponse, { meta, $unknown: [bytes] });
    const recorded = Buffer.from(finish(cutter().response(response)), "base64");
    assert.ok(!recorded.includes("secret"));
    assert.equal(decode(RunFunctionResponse, recorded).meta?.tag, "t");
  });

  test("a small object that could be read as a reference is cut", () => {
    const cut = cutter();
    const forged = Struct.from({ "\u0000ref": "0123" });
    const { input } = decoded(finish(cut.request(withInput(forged))));
    assert.equal(cut.parts.get(refOf(input ?? forged) ?? ""), forged);
  });

  test("equal objects have one reference, whatever the order of their members", () => {
    const cut = cutter();
    const [a, b] = ["a".repeat(200), "b".repeat(200)];
    assert.equal(cut.object(Struct.from({ a, b })), cut.object(Struct.from({ b, a })));
    assert.notEqual(cut.object(Struct.from({ a, b })), cut.object(Struct.from({ a: b, b: a })));
    assert.equal(cut.parts.size, 2);
  });

  test("an object of its own is cut whatever its size", () => {
    const cut = cutter();
    const struct = Struct.from({ a: 1 });
    assert.equal(cut.parts.get(cut.object(struct)), struct);
  });

  test("an object that an earlier run has cut is not hashed again, and is a part of this run too", () => {
    const known = new WeakMap<Struct, CutPart>();
    const struct = structOf(300);
    const first = cutter({ known }).object(struct);
    assert.equal(known.get(struct)?.ref, first);
    const part = { ref: "f".repeat(32), stub: Struct.from({ "\u0000ref": "f".repeat(32) }) };
    known.set(struct, part);
    const second = cutter({ known });
    assert.equal(second.object(struct), part.ref);
    assert.equal(second.parts.get(part.ref), struct);
  });

  test("responses are cut as requests are", () => {
    const cut = cutter();
    const desired = create(State, { composite: create(Resource, { resource: structOf(300) }) });
    const output = Struct.from({ small: true });
    const text = finish(cut.response(create(RunFunctionResponse, { desired, output })));
    const back = decode(RunFunctionResponse, Buffer.from(text, "base64"));
    const stub = back.desired?.composite?.resource ?? assert.fail("no composite");
    assert.equal(cut.parts.has(refOf(stub) ?? ""), true);
    assert.deepEqual(back.output?.value, { small: true });
  });

  test("bytes are counted once for each place of an object, and from zero after each call", () => {
    const cut = cutter();
    const [small, large] = [Struct.from({ a: 1 }), structOf(300)];
    finish(cut.request(create(RunFunctionRequest, { input: large, context: large })));
    finish(cut.request(withInput(small)));
    assert.equal(cut.takeBytes(), 600 + small.bytes.length);
    assert.equal(cut.takeBytes(), 0);
  });

  test("only a string is a reference", () => {
    assert.equal(refOf(Struct.from({ "\u0000ref": 3 })), undefined);
    assert.equal(refOf(Struct.from({ ref: "a" })), undefined);
  });
});

describe("digests of runs", () => {
  const digest = (fill: (cut: RunCutter) => void, isUnique = false): string => {
    const cut = cutter({ isUnique });
    fill(cut);
    return cut.digest().toString("hex");
  };
  const resources = (...names: readonly string[]): RunFunctionRequest => {
    const entries = names.map((name) => [name, create(Resource, { resource: Struct.from({ name }) })] as const);
    return create(RunFunctionRequest, { observed: create(State, { resources: new Map(entries) }) });
  };

  test("the order of the members of maps does not count, unless the run is unique", () => {
    const of = (isUnique: boolean, ...names: readonly string[]): string =>
      digest((cut) => void finish(cut.request(resources(...names))), isUnique);
    assert.equal(of(false, "a", "b"), of(false, "b", "a"));
    assert.notEqual(of(true, "a", "b"), of(true, "b", "a"));
    assert.equal(of(true, "a", "b"), of(true, "a", "b"));
  });

  test("the order of the members of maps is kept in the message", () => {
    const { observed } = decoded(finish(cutter().request(resources("b", "a"))));
    assert.deepEqual([...(observed?.resources.keys() ?? [])], ["b", "a"]);
  });

  test("the content of a large object counts", () => {
    const of = (name: string): string => digest((cut) => void finish(cut.request(withInput(structOf(300, name)))));
    assert.equal(of("one"), of("one"));
    assert.notEqual(of("one"), of("two"));
  });

  test("texts count with their boundaries", () => {
    const of = (...texts: readonly string[]): string =>
      digest((cut) => {
        for (const text of texts) cut.add(text);
      });
    assert.notEqual(of("ab", "c"), of("a", "bc"));
    assert.notEqual(of("a", ""), of("a"));
    assert.equal(of("a", "b"), of("a", "b"));
  });
});

describe("a message that costs too much to encode", () => {
  const of = (resources: number, nameLength: number): RunFunctionResponse => {
    const names = Array.from({ length: resources }, (_, index) => `${index}`.padEnd(nameLength, "n"));
    const desired = create(State, { resources: new Map(names.map((name) => [name, create(Resource)])) });
    return create(RunFunctionResponse, { meta: create(ResponseMeta, { tag: "tag" }), desired });
  };
  const kept = (response: RunFunctionResponse): RunFunctionResponse =>
    decode(RunFunctionResponse, Buffer.from(finish(cutter().response(response)), "base64"));

  test("is kept as its tag: one with long names, one with many resources", () => {
    assert.equal(kept(of(1000, 1000)).desired?.resources.size, 1000);
    for (const large of [of(5000, 1000), of(40_000, 5)]) {
      assert.deepEqual([kept(large).meta?.tag, kept(large).desired], ["tag", undefined]);
    }
  });

  test("does not keep a long tag either", () => {
    const meta = create(ResponseMeta, { tag: "t".repeat(5 * 2 ** 20) });
    assert.equal(kept(create(RunFunctionResponse, { meta })).meta, undefined);
  });
});
