// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { findStatusError } from "@purlin/kube-objects/errors";
import { testRequest } from "../../test/test-server.ts";
import {
  contentTypeOf,
  type DecodedBody,
  decodeBytes,
  readRequestBody,
  summaryOf,
  UndecodableBodyError,
} from "./request-body.ts";

const typed = (type: string): { headers: Record<string, string> } => ({ headers: { "content-type": type } });

test("the type of a body is JSON unless it says otherwise", () => {
  const types: readonly (readonly [string, string])[] = [
    ["", "application/json"],
    [";charset=utf-8", "application/json"],
    ["Application/YAML ; charset=utf-8", "application/yaml"],
    ["text/plain", "text/plain"],
  ];
  for (const [header, type] of types) assert.equal(contentTypeOf(testRequest("/", typed(header))), type, header);
  assert.equal(contentTypeOf(testRequest("/")), "application/json");
});

const read = (type: string, text: string | Uint8Array, takesProtobuf = true): Promise<DecodedBody | undefined> =>
  readRequestBody(testRequest("/", { ...typed(type), text }), { takesProtobuf });

test("a request without a body, or with an empty one, has none", async () => {
  assert.equal(await readRequestBody(testRequest("/"), { takesProtobuf: true }), undefined);
  assert.equal(await readRequestBody(testRequest("/", typed("text/plain")), { takesProtobuf: true }), undefined);
  assert.equal(await read("application/json", ""), undefined);
});

test("a value within the process is taken as it is", async () => {
  const value = { a: 1 };
  const body = await readRequestBody(testRequest("/", { body: value }), { takesProtobuf: false });
  assert.equal(body?.value, value);
  assert.deepEqual(body?.strictErrors, []);
});

test("other types are refused with those that are taken", async () => {
  const message =
    "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf";
  await assert.rejects(read("text/plain", "{}"), (error: Error) => {
    assert.equal(findStatusError(error)?.code, 415);
    assert.equal(error.message, message);
    return true;
  });
  await assert.rejects(read("application/vnd.kubernetes.protobuf", "k8s\0", false), { message });
});

test("JSON keeps large integers, and says which members come twice", async () => {
  const body = await read("application/json", '{"a":1152921504606846976,"b":{"c":1,"c":2}}');
  assert.deepEqual(body?.value, { a: 2n ** 60n, b: { c: 2 } });
  assert.deepEqual(body?.strictErrors, ['duplicate field "b.c"']);
  assert.equal(Buffer.from(body?.raw ?? []).toString().length, 43);
});

test("YAML says which members come twice, with a text for when it is an error", async () => {
  const body = await read("application/yaml", "a: 1\nb: x\na: 2\n");
  assert.deepEqual(body?.value, { a: 2, b: "x" });
  assert.deepEqual(body?.strictErrors, ['line 3: key "a" already set in map']);
  assert.equal(body?.strictText, 'yaml: unmarshal errors:\n  line 3: key "a" already set in map');
  assert.equal((await read("application/yaml", "a: 1"))?.strictText, undefined);
});

const undecodable: readonly (readonly [string, string, string, string, boolean])[] = [
  [
    "JSON that ends early",
    "application/json",
    '{"a":',
    "couldn't get version/kind; json parse error: unexpected end of JSON input",
    false,
  ],
  [
    "text that is not JSON",
    "application/json",
    "a: 1",
    "couldn't get version/kind; json parse error: invalid character 'a' looking for beginning of value",
    false,
  ],
  [
    "a number that nothing can hold",
    "application/json",
    '{"a":1e999}',
    "json: cannot unmarshal number 1e999 into Go value of type float64",
    true,
  ],
  [
    "bytes that are not protobuf",
    "application/vnd.kubernetes.protobuf",
    "{}",
    "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
    false,
  ],
];

for (const [name, type, text, message, isNumber] of undecodable) {
  test(`a body cannot be decoded: ${name}`, async () => {
    await assert.rejects(read(type, text), (error: Error) => {
      assert.ok(error instanceof UndecodableBodyError, String(error));
      assert.deepEqual([error.message, error.isNumber], [message, isNumber]);
      assert.equal(Buffer.from(error.raw).toString(), text);
      return true;
    });
    assert.throws(() => decodeBytes(Buffer.from(text), type), { message });
  });
}

test("YAML that cannot be read is undecodable, without the words for patches", async () => {
  await assert.rejects(read("application/yaml", "a: [1"), (error: Error) => {
    assert.ok(error instanceof UndecodableBodyError);
    assert.match(error.message, /^yaml: /);
    return true;
  });
});

test("the summary of a body is its beginning, in hexadecimal where it is not JSON", () => {
  const of = (text: string): string => summaryOf(Buffer.from(text));
  assert.equal(summaryOf(undefined), "<empty>");
  assert.equal(of(""), "<empty>");
  assert.equal(of('{"a":1}'), '{"a":1}');
  assert.equal(of(`{${"x".repeat(29)}`), `{${"x".repeat(29)}`);
  assert.equal(of(`{${"x".repeat(30)}`), `{${"x".repeat(29)} ...`);
  assert.equal(of("ab"), "6162");
  assert.equal(of("a".repeat(31)), `${"61".repeat(30)} ...`);
});

test("a byte order mark may stand before YAML, not before JSON", () => {
  const bytes = Buffer.from('\ufeff{"a":"b"}');
  assert.deepEqual(decodeBytes(bytes, "application/yaml").value, { a: "b" });
  const message = "couldn't get version/kind; json parse error: invalid character 'ï' looking for beginning of value";
  assert.throws(() => decodeBytes(bytes, "application/json"), { message });
});
