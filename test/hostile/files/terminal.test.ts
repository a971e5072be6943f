// SPDX-License-Identifier: Apache-2.0
// What others wrote has no effects on the terminal of a user: names of files, texts in them and messages of programs, in many commands.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { run } from "../../../packages/cli/src/run.ts";
import { TestIo } from "../../../packages/cli/test/test-io.ts";

const root = mkdtempSync(join(tmpdir(), "hostile-terminal-"));
after(() => rmSync(root, { recursive: true, force: true }));

/** Clears the screen, sets a title, rings the bell, hides and reverses what follows. */
const evil = "a\u001b[2J\u001b]0;t\u0007\u001b[8m\u009b2J\u202eb";
const inYaml = JSON.stringify(evil).replaceAll("\u009b", "\\u009b").replaceAll("\u202e", "\\u202e");
const inName = evil.replaceAll("/", "");

const xr = `apiVersion: example.org/v1\nkind: App\nmetadata: {name: ${inYaml}, namespace: ${inYaml}}\nspec: {${inYaml}: ${inYaml}}\n`;
const definition = `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: apps.example.org}
spec:
  group: example.org
  scope: Cluster
  names: {kind: App, plural: apps}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema:
        description: ${inYaml}
        type: object
        properties: {spec: {type: object, properties: {a: {type: string, description: ${inYaml}, enum: [${inYaml}]}}}}
`;
const composition = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: ${inYaml}}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: App}
  mode: Pipeline
  pipeline: [{step: ${inYaml}, functionRef: {name: ${inYaml}}}]
`;
const suite = `apiVersion: test.purlin.dev/v1alpha1
kind: CompositionTest
metadata: {name: ${inYaml}}
spec:
  inputs: {composition: c.yaml, functions: c.yaml, xr: xr.yaml}
  cases: [{name: ${inYaml}, expect: {writes: 3}}, {name: ${inYaml}c, skip: ${inYaml}}]
`;
const badSuite = suite.replace("writes", inYaml);
const xprin = `tests:\n- {name: ${inYaml}, inputs: {xr: ${inYaml}, composition: c.yaml, functions: c.yaml}}\n`;
const packageMeta = `apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: ${inYaml}}\n`;
const settings = `apiVersion: purlin.dev/v1\nkind: Settings\n${inYaml}: ${inYaml}\n`;
const kubeconfig = `apiVersion: v1
kind: Config
current-context: ${inYaml}
contexts: [{name: ${inYaml}, context: {cluster: ${inYaml}, user: ${inYaml}}}]
clusters: [{name: ${inYaml}, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: ${inYaml}, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ${inYaml}}}}]
`;
const broken = `kind: 3\napiVersion: ${inYaml}\n`;
const run1 = `${JSON.stringify({ [evil]: evil })}\n`;

const files = {
  [`manifests/${inName}.yaml`]: xr,
  "manifests/xrd.yaml": definition,
  "manifests/c.yaml": composition,
  [`broken/${inName}.yaml`]: broken,
  [`foreign/${inName}.yaml`]: `a: ${inYaml}\n`,
  "foreign/xrd.yaml": definition,
  "xr.yaml": xr,
  "c.yaml": composition,
  "xrd.yaml": definition,
  [`tests/${inName}.test.yaml`]: suite,
  "tests/c.yaml": composition,
  "tests/xr.yaml": xr,
  [`bad/${inName}.test.yaml`]: badSuite,
  [`xprin/${inName}_xprin.yaml`]: xprin,
  "package/crossplane.yaml": packageMeta,
  [`package/${inName}.yaml`]: definition,
  [`package/examples/${inName}.yaml`]: xr,
  "badpackage/crossplane.yaml": packageMeta,
  [`badpackage/${inName}.yaml`]: xr,
  "settings/purlin.yaml": settings,
  "kube.yaml": kubeconfig,
  "runs.jsonl": run1,
  [`${inName}.ts`]: `throw new Error(${inYaml})`,
};

const commands: readonly (readonly string[])[] = [
  ["validate", "manifests"],
  ["validate", "broken"],
  ["validate", "foreign"],
  ["validate", "manifests", "-o", "json"],
  ["validate", "--watch", "manifests"],
  ["validate", "--watch", "broken"],
  ["resource", "validate", "manifests", "manifests"],
  ["apply", "broken"],
  ["apply", "foreign", "--kubeconfig", "kube.yaml"],
  ["diff", "broken"],
  ["diff", `${inName}.yaml`],
  ["render", "xr.yaml", "c.yaml", "c.yaml"],
  ["render", "xr.yaml", "c.yaml", `${inName}.yaml`],
  ["render", "xr.yaml", "c.yaml", "c.yaml", "--xrd", "xrd.yaml"],
  ["test", "tests"],
  ["test", "tests", "--list"],
  ["test", "tests", "--reporter", "dot"],
  ["test", "tests", "--reporter", "tap"],
  ["test", "bad"],
  ["test", "bad", "--list"],
  ["test", "xprin"],
  ["test", "xprin", "--list"],
  ["test", "manifests"],
  ["test", "tests", "--test-name-pattern", inName],
  ["types", "manifests"],
  ["types", "broken"],
  ["schemas", "manifests"],
  ["schemas", "broken"],
  ["xpkg", "build", "-f", "package", "-o", "p.xpkg"],
  ["xpkg", "build", "-f", "badpackage", "-o", "q.xpkg"],
  ["xpkg", "build", "-f", "package", "-o", `${inName}.xpkg`],
  ["xpkg", "inspect", "p.xpkg"],
  ["xpkg", "inspect", "p.xpkg", "-o", "json"],
  ["xpkg", "inspect", inName],
  ["xpkg", "push", "-f", "p.xpkg", `localhost:1/a/${inName}:v1`],
  ["get", "pods", "--kubeconfig", "kube.yaml"],
  ["get", inName, "--kubeconfig", "kube.yaml"],
  ["trace", "app", inName, "--kubeconfig", "kube.yaml"],
  ["runs", "import", "runs.jsonl", "--recorder-dir", "d"],
  ["runs", "import", inName, "--recorder-dir", "d"],
  ["runs", "ls", "--recorder-dir", inName],
  ["function", "run", `${inName}.ts`, "--insecure"],
  ["function", "call", "--target", inName, "--insecure", "--xr", "xr.yaml"],
  ["operation", "render", `${inName}.yaml`],
  ["explain", inName],
  ["init", inName],
  ["restore", inName, "--data-dir", inName],
  ["backup", "b", "--data-dir", inName],
  ["export", "--data-dir", inName],
  [inName],
  ["up", `--${inName}`],
  ["up", "manifests", "--data-dir", inName, "--port", inName],
];

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
const control = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
const ownColours = /\u001b\[(?:1|2|22|31|32|33|36|39)m/g;

let count = 0;
function freshFolder(): string {
  const folder = join(root, String(++count));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

const shown = (text: string): string => JSON.stringify(text);

/** Runs a command for as long as it prints nothing new: those that follow files do not end. */
async function outputOf(args: readonly string[], cwd: string, isTTY: boolean): Promise<readonly [string, string]> {
  const stopping = new AbortController();
  const io = new TestIo({ cwd, isTTY, signal: stopping.signal, env: { HOME: cwd, PATH: process.env["PATH"] } });
  const ended = run(args, io);
  if (args.includes("--watch") || args[0] === "function") {
    while (io.stdout.text === "" && io.stderr.text === "") await delay(20);
    await delay(200);
    stopping.abort(new Error("stopped"));
  }
  await ended;
  return [io.stdout.text, io.stderr.text];
}

const needsPackage = (args: readonly string[]): boolean =>
  args[0] === "xpkg" && args.includes("p.xpkg") && args[1] !== "build";

for (const args of commands) {
  for (const isTTY of [true, false]) {
    test(`${args.map(shown).join(" ")} ${isTTY ? "on a terminal" : "not on a terminal"}`, async () => {
      const cwd = freshFolder();
      if (needsPackage(args)) await outputOf(["xpkg", "build", "-f", "package", "-o", "p.xpkg"], cwd, false);
      const [stdout, stderr] = await outputOf(args, cwd, isTTY);
      assert.notEqual(stdout + stderr, "");
      for (const text of [stdout, stderr]) {
        assert.doesNotMatch(isTTY ? text.replaceAll(ownColours, "") : text, control, shown(text));
      }
    });
  }
}

test("the commands meet the hostile names", () => {
  assert.ok(readdirSync(join(root, "1", "manifests")).some((name) => name.includes("\u001b")));
});
