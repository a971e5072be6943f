// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { kubectlSchema } from "@purlin/kube-objects/yaml";
import { load } from "js-yaml";
import { parseYaml, parseYamlStream } from "./yaml-file.ts";
import type { PathSegment } from "./yaml-position.ts";

const scalars: Record<string, { readonly yaml: string; readonly value: unknown; readonly reason: string }> = {
  Yes: { yaml: "yes", value: true, reason: "kubectl reads the booleans of YAML 1.1" },
  Off: { yaml: "Off", value: false, reason: "kubectl reads the booleans of YAML 1.1" },
  QuotedYes: { yaml: '"yes"', value: "yes", reason: "quotes make a text" },
  LowerNorway: { yaml: "n", value: false, reason: "even one letter, as in Go" },
  FileMode: { yaml: "0644", value: 420, reason: "a leading zero is octal, as file modes are written" },
  ModernOctal: { yaml: "0o17", value: 15, reason: "YAML 1.2 octal" },
  NotOctal: { yaml: "089", value: 89, reason: "8 and 9 are not octal digits, so Go falls back to a decimal float" },
  Hex: { yaml: "0x1F", value: 31, reason: "hexadecimal" },
  Binary: { yaml: "-0b11", value: -3, reason: "binary with a sign" },
  Underscore: { yaml: "1_000", value: 1000, reason: "underscores group digits" },
  Zero: { yaml: "0", value: 0, reason: "a lone zero is not octal" },
  Int64: { yaml: "-9223372036854775808", value: -(2n ** 63n), reason: "no digit of an int64 is lost" },
  Beyond2To53: { yaml: "9007199254740993", value: 9007199254740993n, reason: "no digit of an int64 is lost" },
  BeyondInt64: { yaml: "9223372036854775808", value: 2 ** 63, reason: "an integer of more than 64 bits is a float" },
  Float: { yaml: "1e3", value: 1000, reason: "exponents make floats" },
  Date: { yaml: "2024-01-01", value: "2024-01-01", reason: "JSON has no dates" },
  Time: { yaml: "12:30", value: "12:30", reason: "no base-60 numbers" },
  Null: { yaml: "~", value: null, reason: "null" },
};
for (const [name, { yaml, value, reason }] of Object.entries(scalars)) {
  test(`scalars as kubectl reads them: ${name}`, () => {
    assert.deepEqual(load(yaml, { schema: kubectlSchema }), value, reason);
  });
}

test("merge keys and aliases are followed", () => {
  const [document] = parseYaml("a: &a {x: 1}\nb:\n  <<: *a\n  z: 2\nc: *a\n", "f.yaml");
  assert.deepEqual(document?.value, { a: { x: 1 }, b: { x: 1, z: 2 }, c: { x: 1 } });
});

test("a key that reads as a boolean becomes its name, as with kubectl", () => {
  assert.deepEqual(parseYaml("y: 1\n1: 2\n", "f.yaml")[0]?.value, { true: 1, 1: 2 });
});

test("documents are split and empty ones left out", () => {
  const documents = parseYaml("# nothing\n---\na: 1\n---\n---\nb: 2\n", "f.yaml");
  assert.deepEqual(
    documents.map(({ value }) => value),
    [{ a: 1 }, { b: 2 }],
  );
  assert.deepEqual(
    documents.map((document) => document.at([Object.keys(document.value as object)[0] ?? ""])),
    ["f.yaml:3:1", "f.yaml:6:1"],
  );
});

test("the key __proto__ is a key like any other", () => {
  const [document] = parseYaml("__proto__: {x: 1}\n", "f.yaml");
  assert.deepEqual(Object.keys(document?.value as object), ["__proto__"]);
  assert.equal(Object.getPrototypeOf(document?.value), Object.prototype);
});

const text = `# comment
observed:
  composite:
    resource: &xr
      spec: {image: "team/app:v1", "a.b": 3}
  resources:
  - name: one
  -
    name: two
"quoted key": |
  text
alias: *xr
`;
const places: Record<string, { readonly path: readonly PathSegment[]; readonly at: string; readonly reason: string }> =
  {
    Root: { path: [], at: "f.yaml:2:1", reason: "the document starts after the comment" },
    Member: { path: ["observed", "composite"], at: "f.yaml:3:3", reason: "a member stands at its key" },
    FlowMember: {
      path: ["observed", "composite", "resource", "spec", "a.b"],
      at: "f.yaml:5:36",
      reason: "in flow style too",
    },
    Item: { path: ["observed", "resources", 0], at: "f.yaml:7:5", reason: "an item stands where it begins" },
    ItemOnNextLine: { path: ["observed", "resources", 1, "name"], at: "f.yaml:9:5", reason: "also below its dash" },
    QuotedKey: { path: ["quoted key"], at: "f.yaml:10:1", reason: "a key begins with its quotation mark" },
    MissingMember: { path: ["observed", "composite", "nope"], at: "f.yaml:3:3", reason: "the last one on the way" },
    MissingItem: { path: ["observed", "resources", 7, "x"], at: "f.yaml:6:3", reason: "the last one on the way" },
    ThroughScalar: {
      path: ["observed", "resources", 0, "name", "x"],
      at: "f.yaml:7:5",
      reason: "scalars have no members",
    },
    ThroughAlias: { path: ["alias", "spec", "image"], at: "f.yaml:12:1", reason: "an alias stands where it is used" },
  };
for (const [name, { path, at, reason }] of Object.entries(places)) {
  test(`positions: ${name}`, () => {
    assert.equal(parseYaml(text, "f.yaml")[0]?.at(path), at, reason);
  });
}

const broken: Record<string, { readonly yaml: string; readonly says: string }> = {
  Indentation: {
    yaml: "a:\n  b: 1\n   c: 2\n",
    says: "f.yaml:3:5: invalid YAML: bad indentation of a mapping entry",
  },
  OpenBracket: { yaml: "a: [1, 2\nb: 3\n", says: "f.yaml:2:1: invalid YAML: deficient indentation" },
  DuplicateKey: { yaml: "a: 1\na: 2\n", says: "f.yaml:2:1: invalid YAML: duplicated mapping key" },
  UnknownAlias: { yaml: "a: *b\n", says: 'f.yaml:1:5: invalid YAML: unidentified alias "b"' },
  UnknownTag: { yaml: "a: !!foo b\n", says: "f.yaml:1:4: invalid YAML: unknown scalar tag !<tag:yaml.org,2002:foo>" },
};
for (const [name, { yaml, says }] of Object.entries(broken)) {
  test(`broken YAML: ${name}`, () => {
    assert.throws(() => parseYaml(yaml, "f.yaml"), {
      name: "UserError",
      message: `${says}: check this line and the one before it`,
    });
  });
}

test("a map of 20,000 keys is read in linear time", { timeout: 20_000 }, () => {
  const big = Array.from({ length: 20_000 }, (_, i) => `key-${i}: {name: ${i}}`).join("\n");
  const [document] = parseYaml(big, "f.yaml");
  assert.equal(document?.at(["key-19999", "name"]), "f.yaml:20000:13");
});

/** Each line stands for ten times the line before it. */
function bomb(lines: number, step: (name: string) => string): string {
  const names = Array.from({ length: lines }, (_, at) => `a${at}`);
  const rest = names.slice(1).map((name, at) => `${name}: &${name} ${step(names[at] ?? "")}\n`);
  return `x: 1\na0: &a0 [lol,lol,lol,lol,lol,lol,lol,lol,lol,lol]\n${rest.join("")}`;
}

const tooMuch =
  /^f\.yaml:\d+:\d+: aliases \(\*\) expand to more than 16 MiB or refer to themselves: write the values out$/;
const bombs: Record<string, { readonly yaml: string; readonly says: RegExp }> = {
  Aliases: { yaml: bomb(12, (name) => `[${Array(10).fill(`*${name}`).join(",")}]`), says: tooMuch },
  AliasesInMaps: {
    yaml: bomb(12, (name) => `{${Array.from({ length: 10 }, (_, at) => `k${at}: *${name}`).join(", ")}}`),
    says: tooMuch,
  },
  LongTextManyTimes: {
    yaml: `a: &a "${"x".repeat(100_000)}"\nb: [${Array(10_000).fill("*a").join(",")}]\n`,
    says: tooMuch,
  },
  LongKeyManyTimes: {
    yaml: `a: &a {? ${"k".repeat(1000)} : 1}\nb: [${Array(30_000).fill("*a").join(",")}]\n`,
    says: tooMuch,
  },
  ItsOwnItem: { yaml: "a: &a [*a]\n", says: tooMuch },
  ItsOwnMember: { yaml: "a: &a\n  b: *a\n", says: tooMuch },
  SecondDocument: { yaml: "a: 1\n---\nb: &b [*b]\n", says: /^f\.yaml:3:9: aliases/ },
  MergeKeys: {
    yaml: `b: &b {${Array.from({ length: 200 }, (_, at) => `k${at}: 1`).join(", ")}}\nc:\n${"- <<: *b\n".repeat(100)}`,
    says: /^f\.yaml:\d+:\d+: merge keys \(<<\) add more than 10000 members: write the values out$/,
  },
  DeepBrackets: { yaml: "[".repeat(100_000), says: /^f\.yaml:1:1000: nested deeper than 1000 levels/ },
  DeepMaps: { yaml: "{a: ".repeat(2000), says: /^f\.yaml:1:\d+: nested deeper than 1000 levels/ },
  DeepIndentation: {
    yaml: Array.from({ length: 1500 }, (_, at) => `${" ".repeat(at)}a:\n`).join(""),
    says: /^f\.yaml:\d+:\d+: nested deeper than 1000 levels/,
  },
  DeepQuestions: { yaml: "? ".repeat(2000), says: /^f\.yaml:1:\d+: nested deeper than 1000 levels/ },
  LargeDocument: {
    yaml: `a: 1\n---\nb: ${"x".repeat(8 * 1024 * 1024)}\n`,
    says: /^f\.yaml:2:4: the document is larger than 8 MiB: split it/,
  },
  ManyDocuments: {
    yaml: "--- 1\n".repeat(100_001),
    says: /^f\.yaml:100001:4: the file has more than 100000 documents: split it into several files$/,
  },
  LongTag: { yaml: `a: !<${"t".repeat(100_000)}> b\n`, says: /^f\.yaml:1:4: invalid YAML: .{200}: check this/ },
  Null: { yaml: "a: b\0c\n", says: /^f\.yaml:1:5: invalid YAML: null byte/ },
  ControlCharacter: { yaml: "a: 1\nb: \u0007\n", says: /^f\.yaml:2:4: invalid YAML: .*non-printable/ },
  HalfOfAPair: { yaml: "a: \ud800\n", says: /^f\.yaml:1:4: invalid YAML: .*non-printable/ },
};
for (const [name, { yaml, says }] of Object.entries(bombs)) {
  test(`YAML that stands for too much: ${name}`, async () => {
    assert.throws(() => parseYaml(yaml, "f.yaml"), { name: "UserError", message: says });
    await assert.rejects(parseYamlStream(yaml, "f.yaml"), { name: "UserError", message: says });
  });
}

const honest: Record<string, string> = {
  Anchors: "base: &base {image: nginx}\nuses: [*base, *base, *base]\n",
  ManyAliases: `a: &a {b: [1, 2, 3]}\nlist:\n${"- *a\n".repeat(20_000)}`,
  LargeText: `data: "${"x".repeat(3 * 1024 * 1024)}"\n`,
  DeepSchema: `${Array.from({ length: 200 }, (_, at) => `${" ".repeat(at)}properties:\n`).join("")}`,
  ManyDigits: `a: ${"9".repeat(1_000_000)}\n`,
};
for (const [name, yaml] of Object.entries(honest)) {
  test(`YAML that is large for a reason is read: ${name}`, async () => {
    assert.equal((await parseYamlStream(yaml, "f.yaml")).length, 1);
  });
}

test("the line of each item of a long list is found without reading the list again and again", async () => {
  const items = 40_000;
  const [document] = await parseYamlStream(`items:\n${"- {a: 1}\n".repeat(items)}`, "f.yaml");
  for (let at = 0; at < items; at++) assert.equal(document?.at(["items", at, "a"]), `f.yaml:${at + 2}:4`);
});

test("a stream of documents is read in turns with others", async () => {
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  const documents = await parseYamlStream(`a: ${"x".repeat(1000)}\n---\n`.repeat(20_000), "f.yaml");
  clearInterval(timer);
  assert.equal(documents.length, 20_000);
  assert.ok(turns > 5, `${turns} turns`);
});

test("directives belong to the document after them", () => {
  assert.deepEqual(
    parseYaml("%YAML 1.2\n---\na: 1\n---\nb: 2\n", "f.yaml").map((document) => [document.value, document.at(["b"])]),
    [
      [{ a: 1 }, "f.yaml:3:1"],
      [{ b: 2 }, "f.yaml:5:1"],
    ],
  );
});
