// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish, type Work } from "@purlin/base";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import {
  documentPayload,
  encodedPayload,
  joinedPayload,
  madePayload,
  type Payload,
  textPayload,
} from "./api-request.ts";

const textOf = (payload: Payload): string => Buffer.concat([...payload.chunks()]).toString();
const value: JsonObject = { a: "<é>", n: 2n ** 60n };

test("JSON is one line with a line break; indented JSON ends without one", () => {
  const json = documentPayload(value, { mediaType: "application/json" });
  assert.equal(textOf(json), '{"a":"\\u003cé\\u003e","n":1152921504606846976}\n');
  assert.equal(json.contentType, "application/json");
  assert.equal(json.value(), value);
  const pretty = documentPayload(value, { mediaType: "application/json", pretty: true });
  assert.equal(textOf(pretty), '{\n  "a": "\\u003cé\\u003e",\n  "n": 1152921504606846976\n}');
});

test("JSON that indentation would multiply comes on one line, with a line break", () => {
  let deep: JsonValue = Array.from({ length: 90_000 }, () => 1);
  for (let depth = 0; depth < 900; depth++) deep = { a: deep };
  const text = textOf(documentPayload({ deep }, { mediaType: "application/json", pretty: true }));
  assert.ok(text === `${JSON.stringify({ deep })}\n`);
});

test("YAML is the same with and without indentation", () => {
  for (const pretty of [false, true]) {
    const yaml = documentPayload(value, { mediaType: "application/yaml", pretty });
    assert.equal(textOf(yaml), 'a: <é>\n"n": 1152921504606846976\n');
    assert.equal(yaml.contentType, "application/yaml");
  }
});

test("the content type may say more than the media type", () => {
  const contentType = "application/json;as=Table";
  assert.equal(documentPayload({}, { mediaType: "application/json", contentType }).contentType, contentType);
});

test("a document that is made when it is needed is made in parts or at once", () => {
  let made = 0;
  const payload = madePayload(
    // biome-ignore lint/correctness/useYield: in one part
    function* (): Work<JsonObject> {
      made += 1;
      return { made };
    },
    { mediaType: "application/json" },
  );
  assert.equal(made, 0, "not before it is needed");
  assert.equal(textOf(payload), '{"made":1}\n');
  assert.deepEqual(payload.value(), { made: 2 });
  const rendered = finish(payload.rendering?.() ?? assert.fail());
  assert.equal(Buffer.concat([...rendered]).toString(), '{"made":3}\n');
});

test("a text has its own type, and bytes that are JSON already stay as they are", () => {
  assert.deepEqual([textOf(textPayload("é")), textPayload("é").value()], ["é", "é"]);
  assert.equal(textPayload("x").contentType, "text/plain; charset=utf-8");
  assert.equal(textPayload("x", "a/b").contentType, "a/b");
  const bytes = [Buffer.from("{"), Buffer.from("}")];
  const encoded = encodedPayload(
    () => bytes,
    () => ({}),
  );
  assert.equal(encoded.chunks(), bytes);
  assert.deepEqual([encoded.contentType, encoded.value()], ["application/json", {}]);
  const joined = joinedPayload(
    // biome-ignore lint/correctness/useYield: in one part
    function* () {
      return bytes;
    },
    () => ({ a: 1 }),
  );
  assert.equal(textOf(joined), "{}");
  assert.deepEqual(joined.value(), { a: 1 });
});
