// SPDX-License-Identifier: Apache-2.0
// Bytes that every peer of the protocol agrees on.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { create, type Message, type MessageType } from "./descriptor.ts";
import { Duration } from "./gen/duration.ts";
import {
  RequestMeta,
  Resource,
  ResourceSelector,
  Resources,
  ResponseMeta,
  Result,
  RunFunctionRequest,
  RunFunctionResponse,
  Schema,
  State,
} from "./gen/run-function.ts";
import { decode, defaultDecodeLimits, entryLimits } from "./message-decode.ts";
import { encode, encodeCanonical } from "./message-encode.ts";
import { Struct } from "./struct.ts";

interface Golden {
  readonly type: MessageType<Message>;
  readonly message: Message;
  readonly hex: string;
}

function golden<T extends Message>(type: MessageType<T>, init: Partial<T>, hex: string): Golden {
  return { type, message: create(type, init), hex };
}

const seconds = (value: bigint): Duration => create(Duration, { seconds: value });
const unknown99 = [Buffer.from("980605", "hex")];

const cases: Record<string, Golden> = {
  "meta with all capabilities, packed": golden(
    RequestMeta,
    { tag: "t", capabilities: [1, 2, 3, 4, 5] },
    "0a0174 12050102030405",
  ),
  "ttl of a minute": golden(ResponseMeta, { tag: "t", ttl: seconds(60n) }, "0a0174 1202083c"),
  "ttl of zero is present": golden(ResponseMeta, { tag: "t", ttl: seconds(0n) }, "0a0174 1200"),
  "desired present and empty in a request": golden(RunFunctionRequest, { desired: create(State) }, "1a00"),
  "desired present and empty in a response": golden(RunFunctionResponse, { desired: create(State) }, "1200"),
  "context present and empty in a request": golden(RunFunctionRequest, { context: Struct.from({}) }, "2a00"),
  "context present and empty in a response": golden(RunFunctionResponse, { context: Struct.from({}) }, "2200"),
  "input present and empty": golden(RunFunctionRequest, { input: Struct.from({}) }, "2200"),
  "required resources, nothing matched": golden(
    RunFunctionRequest,
    { requiredResources: new Map([["a", create(Resources)]]) },
    "42050a01611200",
  ),
  "required schema, not found": golden(
    RunFunctionRequest,
    { requiredSchemas: new Map([["a", create(Schema)]]) },
    "4a050a01611200",
  ),
  "required schema, found and empty": golden(
    RunFunctionRequest,
    { requiredSchemas: new Map([["a", create(Schema, { openapiV3: Struct.from({}) })]]) },
    "4a070a016112020a00",
  ),
  "null in a Struct": golden(Resource, { resource: Struct.from({ k: null }) }, "0a09 0a070a016b12020800"),
  "value without a kind": golden(
    Resource,
    { resource: Struct.fromBytes(Buffer.from("0a050a016b1200", "hex")) },
    "0a07 0a050a016b1200",
  ),
  "severity of another version": golden(Result, { severity: 99 }, "0863"),
  "target zero is present": golden(Result, { target: 0 }, "2000"),
  "field of another version": golden(RequestMeta, { $unknown: unknown99 }, "980605"),
  "empty namespace is present": golden(ResourceSelector, { namespace: "" }, "2a00"),
  "negative enum value": golden(Result, { severity: -1 }, "08ffffffffffffffffff01"),
};

for (const [name, { type, message, hex }] of Object.entries(cases)) {
  test(`golden bytes: ${name}`, () => {
    const expected = hex.replaceAll(" ", "");
    assert.equal(encode(type, message).toString("hex"), expected);
    assert.equal(encode(type, decode(type, Buffer.from(expected, "hex"))).toString("hex"), expected);
  });
}

test("an empty map writes nothing", () => {
  assert.equal(encode(RunFunctionRequest, create(RunFunctionRequest)).length, 0);
});

test("a map entry without a value is an empty message", () => {
  const request = decode(RunFunctionRequest, Buffer.from("4a030a0161", "hex"));
  assert.deepEqual(request.requiredSchemas.get("a"), create(Schema));
});

test("capabilities sent unpacked give the same list", () => {
  assert.deepEqual(decode(RequestMeta, Buffer.from("10011003", "hex")).capabilities, [1, 3]);
});

test("capabilities sent in packed and unpacked fields are one list, in order", () => {
  const meta = decode(RequestMeta, Buffer.from("1001 12020203 1200 1004".replaceAll(" ", ""), "hex"));
  assert.deepEqual(meta.capabilities, [1, 2, 3, 4]);
});

const brokenLists: Readonly<Record<string, string>> = {
  "is longer than the message": "12050102",
  "ends inside a number": "120201800a00",
};
for (const [what, hex] of Object.entries(brokenLists)) {
  test(`a packed list that ${what} is refused with the name of its field`, () => {
    assert.throws(() => decode(RequestMeta, Buffer.from(hex, "hex")), {
      code: "MALFORMED",
      message: /^RequestMeta\.capabilities: /,
    });
  });
}

test("an unknown capability is kept and written again", () => {
  const meta = decode(RequestMeta, Buffer.from("1202012a", "hex"));
  assert.deepEqual(meta.capabilities, [1, 42]);
  assert.equal(encode(RequestMeta, meta).toString("hex"), "1202012a");
});

test("unknown fields at every level survive", () => {
  // Request field 99, meta field 99 and an unknown source of credentials.
  const hex = "0a03980605 3a0a0a016312050a0098060 5 980605".replaceAll(" ", "");
  assert.equal(encode(RunFunctionRequest, decode(RunFunctionRequest, Buffer.from(hex, "hex"))).toString("hex"), hex);
});

test("a field with another wire type than ours is kept as unknown", () => {
  const meta = decode(RequestMeta, Buffer.from("0805", "hex"));
  assert.equal(meta.tag, "");
  assert.equal(encode(RequestMeta, meta).toString("hex"), "0805");
});

test("a message field that occurs twice is merged", () => {
  const request = decode(RunFunctionRequest, Buffer.from("0a030a01740a03120101", "hex"));
  assert.deepEqual({ ...request.meta }, { tag: "t", capabilities: [1], $unknown: undefined });
});

test("a Struct that occurs twice is merged", () => {
  const one = Struct.from({ a: 1, b: 1 });
  const two = Struct.from({ b: 2 });
  const field = (struct: Struct): Buffer => encode(RunFunctionRequest, create(RunFunctionRequest, { input: struct }));
  const request = decode(RunFunctionRequest, Buffer.concat([field(one), field(two)]));
  assert.deepEqual(request.input?.value, { a: 1, b: 2 });
});

test("a Struct of a message gives the same bytes each time it is asked", () => {
  const input = Struct.from({ a: 1, b: "two" });
  const bytes = encode(
    RunFunctionRequest,
    create(RunFunctionRequest, { meta: create(RequestMeta, { tag: "t" }), input }),
  );
  const request = decode(RunFunctionRequest, bytes);
  for (let i = 0; i < 3; i++) assert.deepEqual(Buffer.from(request.input?.bytes ?? []), Buffer.from(input.bytes));
  assert.deepEqual(encode(RunFunctionRequest, request), bytes);
});

test("a later member of a oneof replaces an earlier one", () => {
  const selector = decode(ResourceSelector, Buffer.from("1a016e2200", "hex"));
  assert.equal(selector.match?.case, "matchLabels");
});

const malformed: Record<string, { readonly hex: string; readonly says: RegExp }> = {
  "ends in a varint": { hex: "0a8", says: /RunFunctionRequest/ },
  "ends in a field": { hex: "0a05", says: /RunFunctionRequest\.meta: the message ends in the middle of a field/ },
  "field number zero": { hex: "0000", says: /RunFunctionRequest: tag 0 has no field number/ },
  "varint of eleven bytes": { hex: "0affffffffffffffffffffff01", says: /longer than ten bytes/ },
  "wire type 7": { hex: "9f06", says: /wire type 7 does not exist/ },
  "group without an end": { hex: "9b06", says: /ends in the middle/ },
  "nested field names its path": { hex: "0a020a05", says: /RunFunctionRequest\.meta: RequestMeta\.tag: / },
};

for (const [name, { hex, says }] of Object.entries(malformed)) {
  test(`malformed: ${name}`, () => {
    assert.throws(
      () => decode(RunFunctionRequest, Buffer.from(hex.padEnd(hex.length + (hex.length % 2), "0"), "hex")),
      {
        name: "ProtocolError",
        message: says,
      },
    );
  });
}

test("a string that is not UTF-8 fails, and the error names the field", () => {
  const bytes = Buffer.from("0a040a02fffe", "hex");
  assert.throws(() => decode(RunFunctionRequest, bytes), { code: "INVALID_UTF8", message: /meta: RequestMeta\.tag/ });
});

test("a million unknown fields are read in linear time and memory", () => {
  const bytes = Buffer.alloc(3_000_000, Buffer.from("980605", "hex"));
  const request = decode(RunFunctionRequest, bytes);
  assert.equal(request.$unknown?.length, 1, "one part for all of them, not an object for each");
  assert.ok(encode(RunFunctionRequest, request).equals(bytes));
});

test("unknown fields before, between and after known ones are kept in their order", () => {
  const response = decode(
    RunFunctionResponse,
    Buffer.from("980601" + "980602" + "0a00" + "980603" + "1a00" + "980604", "hex"),
  );
  assert.deepEqual(
    response.$unknown?.map((part) => Buffer.from(part).toString("hex")),
    ["980601980602", "980603", "980604"],
  );
  assert.equal(encode(RunFunctionResponse, response).toString("hex"), "0a001a00" + "980601980602980603980604");
  for (const write of [encode, encodeCanonical]) {
    assert.equal(write(RunFunctionResponse, response, { knownOnly: true }).toString("hex"), "0a001a00");
  }
});

// Two bytes of a peer become an object of a hundred: as many as fit into a message would take all memory there is.
const floods: Readonly<Record<string, string>> = {
  "empty results": "1a00",
  "a context in parts": "2200",
  "unknown fields": "980605",
  "known and unknown fields in turn": "9806051a00",
  "states in parts": "12020a00",
  "a map entry without key and value": "12021200",
};

const maxFields = defaultDecodeLimits.fields;

for (const [name, unit] of Object.entries(floods)) {
  test(`a flood of ${name} is refused`, () => {
    const bytes = Buffer.alloc((unit.length / 2) * (maxFields + 1), Buffer.from(unit, "hex"));
    const refused = { code: "TOO_LARGE", message: "more than 1000000 fields" };
    assert.throws(() => decode(RunFunctionResponse, bytes), refused);
  });
}

test("a flood of keys in one map entry is refused", () => {
  const keys = Buffer.alloc(2 * (maxFields + 1), Buffer.from("0a00", "hex"));
  const bytes = nested(nested(keys));
  assert.throws(() => decode(RunFunctionResponse, bytes), { code: "TOO_LARGE", message: "more than 1000000 fields" });
});

/** Bytes as field 2 of another message. */
function nested(bytes: Buffer): Buffer {
  const head = [0x12];
  for (let rest = bytes.length; ; rest >>>= 7) {
    head.push(rest < 0x80 ? rest : (rest & 0x7f) | 0x80);
    if (rest < 0x80) return Buffer.concat([Buffer.from(head), bytes]);
  }
}

test("a message with as many fields as there may be is read", () => {
  const bytes = Buffer.alloc(2 * maxFields, Buffer.from("1a00", "hex"));
  assert.equal(decode(RunFunctionResponse, bytes).results.length, maxFields);
});

test("reading stops at the first entry too many of a map or list, and the error names what there is too much of", () => {
  const limits = {
    fields: 100,
    entries: new Map([
      ...entryLimits(State, { resources: { most: 2, what: "desired resources" } }),
      ...entryLimits(RunFunctionResponse, { results: { most: 1, what: "results" } }),
    ]),
  };
  const answer = (names: readonly string[], results = 0): RunFunctionResponse => {
    const resources = new Map(names.map((name) => [name, create(Resource)]));
    const bytes = encode(
      RunFunctionResponse,
      create(RunFunctionResponse, {
        desired: create(State, { resources }),
        results: Array.from({ length: results }, () => create(Result)),
      }),
    );
    return decode(RunFunctionResponse, bytes, limits);
  };
  assert.equal(answer(["a", "b"], 1).desired?.resources.size, 2);
  assert.throws(() => answer(["a", "b", "c"]), { code: "TOO_LARGE", message: "more than 2 desired resources" });
  assert.throws(() => answer([], 2), { code: "TOO_LARGE", message: "more than 1 results" });
});

test("one Struct sent half a million times is merged in linear time", () => {
  const bytes = Buffer.alloc(4 * 500_000, Buffer.from("22020a00", "hex"));
  assert.deepEqual(decode(RunFunctionRequest, bytes).input?.value, { "": null });
});

test("a message larger than the first buffer is written whole", () => {
  const big = create(RunFunctionRequest, {
    input: Struct.from({ text: "x".repeat(3_000_000), more: ["é".repeat(99_999)] }),
  });
  const again = decode(RunFunctionRequest, encode(RunFunctionRequest, big));
  assert.ok(again.input?.equals(big.input as Struct));
});
