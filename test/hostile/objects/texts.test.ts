// SPDX-License-Identifier: Apache-2.0
// Texts of a megabyte where short ones are expected: rules, formats and paths read them in one pass, or refuse them.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { send } from "../../conformance/harness/wire.ts";
import { startAttackedServer } from "../harness/server.ts";
import { define, definition, objectNamed, objectsOf, sendJson } from "./attacked-kind.ts";

const length = 1_000_000;

/** Rules that read a text. */
const rules: readonly string[] = [
  "double(self) > 0.0",
  "int(self) > 0",
  "quantity(self).isGreaterThan(quantity('1'))",
  "isQuantity(self)",
  "duration(self) > duration('1s')",
  "timestamp(self) > timestamp('2020-01-01T00:00:00Z')",
  "isURL(self)",
  "isIP(self)",
  "isCIDR(self)",
  "semver(self).major() > 0",
  "self.matches('^(a+)+$')",
  "self.split(',').size() > 0",
  "self.trim() != self.lowerAscii()",
];
const formats = [
  "duration",
  "date-time",
  "date",
  "email",
  "uri",
  "hostname",
  "ipv4",
  "cidr",
  "uuid",
  "byte",
  "bsonobjectid",
];

/** Texts on which a pattern with two parts for the same characters starts again at each of them. */
const texts: Readonly<Record<string, string>> = {
  zeros: `${"0".repeat(length)}x`,
  digits: `${"12".repeat(length / 2)}!`,
  "hexadecimal digits": `0x${"f".repeat(length)}`,
  "numbers with spaces": `${"1 ".repeat(length / 2)}!`,
  spaces: `${" ".repeat(length)}x`,
  "line breaks": `${"\n".repeat(length)}x `,
  brackets: "[".repeat(length),
  points: `1${".1".repeat(length / 2)}`,
  slashes: `${"/".repeat(length)}x`,
  "equals signs": `${"=".repeat(length)}x`,
  letters: `${"a".repeat(length)}!`,
};

const server = await startAttackedServer();
after(() => server[Symbol.asyncDispose]());
const named = (prefix: string, schemas: readonly JsonObject[]): Record<string, JsonObject> =>
  Object.fromEntries(schemas.map((schema, index) => [`${prefix}${index}`, schema]));
const properties: Record<string, JsonObject> = {
  ...named(
    "rule",
    rules.map((rule) => ({ type: "string", "x-kubernetes-validations": [{ rule }] })),
  ),
  ...named(
    "format",
    formats.map((format) => ({ type: "string", format })),
  ),
  ...named("quantity", [{ "x-kubernetes-int-or-string": true }]),
  ...named("required", [
    {
      type: "object",
      additionalProperties: { type: "object", required: ["a"], properties: { a: { type: "string" } } },
    },
  ]),
};
await define(server.target, "Text", definition("Text", properties));
const objects = objectsOf("Text");

for (const [name, text] of Object.entries(texts)) {
  test(`a text of many ${name} in every rule and format`, async () => {
    for (const field of Object.keys(properties)) {
      const value = field.startsWith("required") ? { [text]: {} } : text;
      const body = objectNamed("Text", "one", { [field]: value });
      const { code, text: answer } = await server.during(`${name} in ${field}`, () =>
        sendJson(server.target, ["POST", objects], body),
      );
      assert.ok(code === 201 || code === 422, `${field}: ${code} ${answer.slice(0, 300)}`);
      if (code === 201) assert.equal((await sendJson(server.target, ["DELETE", `${objects}/one`])).code, 200);
    }
  });

  test(`a key of many ${name} whose value lacks a field, in an update`, async () => {
    assert.equal((await sendJson(server.target, ["POST", objects], objectNamed("Text", "two", {}))).code, 201);
    const body = objectNamed("Text", "two", { required0: { [text]: {} } });
    const { code } = await server.during(`${name} in a key`, () =>
      sendJson(server.target, ["PATCH", `${objects}/two`], body, "application/merge-patch+json"),
    );
    assert.equal(code, 422);
    assert.equal((await sendJson(server.target, ["DELETE", `${objects}/two`])).code, 200);
  });
}

test("printer columns with paths of a megabyte are not read", async () => {
  for (const [index, jsonPath] of [`.${"[".repeat(length)}`, `.spec${'\\"'.repeat(length / 2)}`].entries()) {
    const kind = `Column${index}x`;
    const columns = { additionalPrinterColumns: [{ name: "A", type: "string", jsonPath }] };
    await server.during("a path", () =>
      define(server.target, kind, definition(kind, { a: { type: "string" } }, columns)),
    );
    assert.equal((await sendJson(server.target, ["POST", objectsOf(kind)], objectNamed(kind, "one", {}))).code, 201);
    const accept = "application/json;as=Table;g=meta.k8s.io;v=v1";
    const { code } = await server.during("its Table", () =>
      send(server.target, { method: "GET", path: objectsOf(kind), headers: { accept } }),
    );
    assert.equal(code, 200);
  }
});

test("memory stayed below the figure stated", () => {
  server.requireBoundedMemory();
});
