// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonValue, jsonEqual, printJson } from "@purlin/kube-objects/json";
import fc from "fast-check";
import { parseYaml, printYaml } from "./yaml-file.ts";
import type { PathSegment } from "./yaml-position.ts";

/** Words that one version of YAML or another takes for something else than text. */
const tricky = [
  "yes",
  "No",
  "ON",
  "off",
  "y",
  "N",
  "null",
  "~",
  "",
  "0644",
  "089",
  "0o17",
  "0b11",
  "-0x1F",
  "1_000",
  "1e3",
  ".5",
  "5.",
];
const odd = [
  ".inf",
  "-.INF",
  ".nan",
  "12:30:45",
  "2024-01-01",
  "<<",
  "=",
  "- a",
  "a: b",
  "# c",
  "*x",
  "&x",
  "!t",
  "|",
  ">",
  "%d",
  "@a",
  "`",
];
const text = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: "grapheme", maxLength: 12 }) },
  fc.constantFrom(...tricky, ...odd),
  fc.constantFrom(
    "a\nb",
    "a\n",
    "\n",
    " a",
    "a ",
    "\t",
    "a\tb",
    "a\r\nb",
    "\u0085",
    "\u2028",
    "\ufeff",
    "é",
    "日本",
    "\u0007",
    "🙂",
  ),
);
const scalar = fc.oneof(
  text,
  fc.boolean(),
  fc.constant(null),
  fc.integer(),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
const json = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, scalar, tie("list"), tie("object")),
  list: fc.array(tie("value"), { maxLength: 4 }),
  object: fc.dictionary(text, tie("value"), { maxKeys: 4 }),
}));

/** A double has one value, however many digits of it are printed: read as an integer, it is compared as a double. */
function requireEqual(read: unknown, value: object): void {
  if (!jsonEqual((read ?? {}) as JsonValue, value as JsonValue)) assert.deepEqual(read, value);
}

test("what is printed reads back the same, whatever the words look like", () => {
  fc.assert(
    fc.property(json.object, (value) => {
      const [document] = parseYaml(printYaml(value), "f.yaml");
      requireEqual(document?.value, value);
    }),
    { numRuns: 500 },
  );
});

test("JSON is YAML: what printJson prints reads back the same", () => {
  fc.assert(
    fc.property(json.object, fc.constantFrom({}, { indent: 2 }), (value, options) => {
      const [document] = parseYaml(printJson(value, options), "f.json");
      requireEqual(document?.value, value);
    }),
    { numRuns: 300 },
  );
});

/** Every path in a value. */
function* paths(value: unknown, base: readonly PathSegment[] = []): Generator<readonly PathSegment[]> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    const path = [...base, Array.isArray(value) ? Number(key) : key];
    yield path;
    yield* paths(member, path);
  }
}

const name = fc.stringMatching(/^[a-z]{3,8}$/).filter((word) => !["yes", "off", "true", "null"].includes(word));
const tidy = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, fc.nat(), tie("list"), tie("object")),
  list: fc.array(tie("value"), { minLength: 1, maxLength: 4 }),
  object: fc.dictionary(name, tie("value"), { minKeys: 1, maxKeys: 4 }),
}));

test("a member is found at its key, in block and in flow style", () => {
  fc.assert(
    fc.property(tidy.object, fc.boolean(), (value, flow) => {
      const source = flow ? JSON.stringify(value).replaceAll('"', "").replaceAll(":", ": ") : printYaml(value);
      const lines = source.split("\n");
      const [document] = parseYaml(source, "f.yaml");
      for (const path of paths(value)) {
        const [, line = "", column = ""] = document?.at(path).split(":") ?? [];
        const rest = lines[Number(line) - 1]?.slice(Number(column) - 1) ?? "";
        const last = path.at(-1);
        if (typeof last === "string") assert.ok(rest.startsWith(`${last}:`), `${path.join(".")} is not at "${rest}"`);
      }
    }),
    { numRuns: 200 },
  );
});

test("whatever is read, the answer is documents or one line for the user", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (source) => {
      try {
        parseYaml(source, "f.yaml");
      } catch (error) {
        assert.equal((error as Error).name, "UserError");
        assert.match((error as Error).message, /^f\.yaml(:\d+:\d+)?: invalid YAML: /);
      }
    }),
    { numRuns: 1_000 },
  );
});
