// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import type { KubeObject } from "@purlin/kube-objects/object";
import { TestIo } from "../../test/test-io.ts";
import type { Manifest } from "../manifests/manifest.ts";
import { checks, type Finding, placeOf } from "./finding.ts";
import {
  documentOf,
  fieldOf,
  githubError,
  githubLines,
  type Report,
  reportText,
  sarifError,
  sarifOf,
  shownName,
  statusOf,
  summaryOf,
} from "./report.ts";

const manifest = (name: string, { file = "app.yaml", line = 4, column = 3, namespace = "" } = {}): Manifest => ({
  object: { apiVersion: "acme.org/v1", kind: "App", metadata: { name, ...(namespace && { namespace }) } },
  file,
  at: () => `${file}:${line}:${column}`,
});
const wrong = manifest("shop");
const finding = (more: Partial<Finding> = {}): Finding => ({
  ...{ code: "V01", level: "error", type: "schema", manifest: wrong, path: ["spec", "size"] },
  text: "spec.size: Required value",
  ...more,
});
const missing = finding({ type: "missingSchema", level: "warning", text: "no schema for acme.org/v1 App" });
const report = (...judged: Report["judged"]): Report => ({ judged, missingPackages: [] });
const judged = (...findings: readonly Finding[]): Report["judged"][number] => ({
  manifest: wrong,
  findings,
  skippedRules: 0,
});

test("an object is valid, invalid or without a schema", () => {
  assert.equal(statusOf(judged()), "valid");
  assert.equal(statusOf(judged(finding({ level: "warning" }))), "valid");
  assert.equal(statusOf(judged(finding())), "invalid");
  assert.equal(statusOf(judged(missing)), "missingSchema");
  assert.equal(statusOf(judged(missing, finding())), "missingSchema");
  assert.equal(statusOf(judged({ ...missing, code: "V09" })), "valid", "a step requires a kind that is not known");
  assert.equal(statusOf(judged(finding({ manifest: manifest("other") }))), "valid", "an error of another object");
});

test("the sums count objects by status, findings by level, and packages that are missing as warnings", () => {
  const all = {
    ...report(judged(), judged(finding(), finding({ level: "warning" })), judged(missing)),
    missingPackages: ["a: b"],
  };
  assert.deepEqual(summaryOf(all), {
    total: 3,
    valid: 1,
    invalid: 1,
    missingSchemas: 1,
    errors: 1,
    warnings: 3,
    skippedRules: 0,
  });
  assert.deepEqual(summaryOf(report()), {
    total: 0,
    valid: 0,
    invalid: 0,
    missingSchemas: 0,
    errors: 0,
    warnings: 0,
    skippedRules: 0,
  });
});

test("the name of an object that the control plane will name is that in its Composition", () => {
  const named = (metadata: KubeObject["metadata"]): string => shownName({ apiVersion: "v1", kind: "Pod", metadata });
  const annotations = { "crossplane.io/composition-resource-name": "web" };
  assert.deepEqual([named({ name: "a", annotations }), named({ annotations }), named({})], ["a", "web", ""]);
});

test("the place of a finding is that of its field; without one, the start of the file", () => {
  assert.deepEqual(placeOf(finding()), { file: "app.yaml", line: 4, column: 3 });
  const colon = { ...wrong, at: () => "a:1:2.yaml:10:20" };
  assert.deepEqual(placeOf(finding({ manifest: colon })), { file: "a:1:2.yaml", line: 10, column: 20 });
  const packaged = { ...wrong, file: "a.xpkg", at: () => "a.xpkg" };
  assert.deepEqual(placeOf(finding({ manifest: packaged })), { file: "a.xpkg", line: 1, column: 1 });
});

test("a path is written with dots and brackets", () => {
  assert.equal(fieldOf({ path: [] }), "");
  assert.equal(fieldOf({ path: ["spec", "ports", 0, "number"] }), "spec.ports[0].number");
  assert.equal(fieldOf({ path: [0, "a"] }), "[0].a");
});

test("the document has an entry for each object, with its findings and their places", () => {
  const other = { manifest: manifest("b", { namespace: "team" }), findings: [], skippedRules: 0 };
  const all = { ...report(judged(finding(), finding({ path: [], text: "broken" })), other), missingPackages: ["p: q"] };
  const place = { file: "app.yaml", line: 4, column: 3, level: "error", code: "V01" };
  assert.deepEqual(documentOf(all), {
    summary: { total: 2, valid: 1, invalid: 1, missingSchemas: 0, warnings: 1 },
    resources: [
      {
        ...{ apiVersion: "acme.org/v1", kind: "App", name: "shop", status: "invalid" },
        errors: [
          { type: "schema", field: "spec.size", message: "spec.size: Required value", ...place },
          { type: "schema", message: "broken", ...place },
        ],
      },
      { apiVersion: "acme.org/v1", kind: "App", name: "b", namespace: "team", status: "valid" },
    ],
    missingPackages: ["p: q"],
  });
  const own = documentOf(report(judged(finding())), ({ code }) => ({ code })) as { resources: { errors: unknown }[] };
  assert.deepEqual(own.resources[0]?.errors, [{ code: "V01" }]);
});

test("github: an annotation for each finding, escaped", () => {
  const odd = manifest("shop", { file: "a,b.yaml" });
  assert.equal(
    githubLines(report(judged(finding(), finding({ level: "warning", manifest: odd, text: "50%\nmore: x" })))),
    `::error file=app.yaml,line=4,col=3,title=V01::App/shop: spec.size: Required value
::warning file=a%2Cb.yaml,line=4,col=3,title=V01::App/shop: 50%25%0Amore: x
`,
  );
  assert.equal(githubLines(report()), "");
});

test("github: an error that ended the validation has the place that its message begins with", () => {
  assert.equal(githubError("a.yaml:2:7: bad indentation: x"), "::error file=a.yaml,line=2,col=7::bad indentation: x\n");
  assert.equal(githubError("no such file\nat all"), "::error::no such file%0Aat all\n");
});

test("SARIF has the rules, and a result with its place for each finding", () => {
  const odd = manifest("shop", { file: "my apps/ä.yaml", line: 9, column: 1 });
  const document = sarifOf(report(judged(finding({ manifest: odd, level: "warning" }))), "1.2.3") as never as {
    version: string;
    runs: [
      {
        tool: { driver: { name: string; version: string; rules: object[] } };
        invocations: object[];
        results: object[];
      },
    ];
  };
  const [{ tool, invocations, results }] = document.runs;
  assert.deepEqual([document.version, tool.driver.name, tool.driver.version], ["2.1.0", "purlin", "1.2.3"]);
  assert.deepEqual(tool.driver.rules[0], { id: "V01", shortDescription: { text: checks.V01 } });
  assert.equal(tool.driver.rules.length, Object.keys(checks).length);
  assert.deepEqual(invocations, [{ executionSuccessful: true }]);
  const physicalLocation = {
    artifactLocation: { uri: "my%20apps/%C3%A4.yaml" },
    region: { startLine: 9, startColumn: 1 },
  };
  assert.deepEqual(results, [
    {
      ruleId: "V01",
      level: "warning",
      message: { text: "App/shop: spec.size: Required value" },
      locations: [{ physicalLocation }],
    },
  ]);
});

test("SARIF of an error that ended the validation: not successful, and a place only if there is one", () => {
  const runOf = (message: string): unknown =>
    (sarifError(message, "1") as { runs: { invocations: unknown; results: unknown }[] }).runs[0];
  assert.partialDeepStrictEqual(runOf("no such file"), {
    invocations: [{ executionSuccessful: false }],
    results: [{ level: "error", message: { text: "no such file" } }],
  });
  assert.partialDeepStrictEqual(runOf("a.yaml:2:7: bad"), {
    results: [
      {
        locations: [
          { physicalLocation: { artifactLocation: { uri: "a.yaml" }, region: { startLine: 2, startColumn: 7 } } },
        ],
      },
    ],
  });
});

test("for people: the line of the file with a mark below the field, and a line with the sums", async () => {
  using folder = tempFolder({
    "app.yaml": "a: 1\nb: 2\nc:\n  size: x\n",
    "tab.yaml": `${"\n".repeat(3)}\t\tsize: x\r\nz`,
  });
  const io = new TestIo({ cwd: folder.path });
  const tabbed = manifest("tab", { file: "tab.yaml", column: 3 });
  const text = await reportText(
    {
      judged: [
        judged(finding(), finding({ manifest: tabbed, level: "warning" })),
        { manifest: tabbed, findings: [missing], skippedRules: 0 },
      ],
      missingPackages: ["xpkg.example.org/a: not\nfound"],
    },
    io,
  );
  assert.equal(
    text,
    `app.yaml:4:3: error: App/shop: spec.size: Required value [V01]
    4 |   size: x
      |   ^
tab.yaml:4:3: warning: App/tab: spec.size: Required value [V01]
    4 | \t\tsize: x
      | \t\t^
app.yaml:4:3: warning: App/shop: no schema for acme.org/v1 App [V01]
    4 |   size: x
      |   ^
warning: xpkg.example.org/a: not found
2 objects in 2 files: 1 error, 3 warnings, 1 without a schema
`,
  );
});

test("for people: of a long line the part around the field is shown", async () => {
  using folder = tempFolder({ "long.yaml": `${"a".repeat(99)}B${"c".repeat(200)}` });
  const shown = async (column: number): Promise<readonly string[]> => {
    const placed = manifest("shop", { file: "long.yaml", line: 1, column });
    const one = { manifest: placed, findings: [finding({ manifest: placed })], skippedRules: 0 };
    const text = await reportText(report(one), new TestIo({ cwd: folder.path }));
    return text.split("\n").slice(1, 3);
  };
  const middle = await shown(100);
  assert.equal(middle[0], `    1 | …${"a".repeat(60)}B${"c".repeat(59)}…`);
  assert.equal(middle[1]?.indexOf("^"), middle[0]?.indexOf("B"));
  assert.equal((await shown(1))[0], `    1 | ${"a".repeat(99)}B${"c".repeat(20)}…`);
  const [last = "", mark = ""] = await shown(300);
  assert.deepEqual([last.length, mark.length], ["    1 | …".length + 120, last.length]);
});

test("for people: a file that is gone and standard input are not shown", async () => {
  using folder = tempFolder({ "fits.yaml": "x".repeat(120) });
  const linesOf = async (file: string): Promise<number> => {
    const placed = manifest("shop", { file, line: 1, column: 1 });
    const text = await reportText(
      report({ manifest: placed, findings: [finding({ manifest: placed })], skippedRules: 0 }),
      new TestIo({ cwd: folder.path }),
    );
    return text.trimEnd().split("\n").length;
  };
  assert.deepEqual([await linesOf("fits.yaml"), await linesOf("gone.yaml"), await linesOf("-")], [4, 2, 2]);
});

test("for people: characters that a terminal obeys are escaped, and a text is one line", async () => {
  const named = { ...wrong, object: { ...wrong.object, metadata: { generateName: "gen-\u001b[2J" } } };
  const text = await reportText(
    report(judged(finding({ manifest: named, text: "a\nb" }))),
    new TestIo({ cwd: "/nonexistent" }),
  );
  assert.equal(text, "app.yaml:4:3: error: App/gen-\\x1b[2J: a b [V01]\n1 object in 1 file: 1 error, 0 warnings\n");
});

test("rules about changes that were not evaluated are counted, and noted for people", async () => {
  const skipping = (skippedRules: number): Report => report({ ...judged(), skippedRules }, judged());
  const noted = async (number: number): Promise<string> => await reportText(skipping(number), new TestIo());
  const sums = "2 objects in 1 file: 0 errors, 0 warnings\n";
  const advice = "not evaluated: pass the objects as they were with --old\n";
  assert.equal(await noted(0), sums);
  assert.equal(await noted(1), `note: 1 CEL rule about changes was ${advice}${sums}`);
  assert.equal(await noted(2), `note: 2 CEL rules about changes were ${advice}${sums}`);
  assert.partialDeepStrictEqual(documentOf(skipping(3)), { summary: { total: 2, skippedRules: 3 } });
});

test("each check has a row in the help of the command", () => {
  const help = readFileSync(new URL("../help/validate.md", import.meta.url), "utf8");
  const rows = [...help.matchAll(/^\| (V\d+) \| [^|\n]+ \|$/gm)].map(([, code]) => code);
  assert.deepEqual(rows, Object.keys(checks), "one row a check, in the order of their codes");
});
