// SPDX-License-Identifier: Apache-2.0
// The object commands of purlin beside those of kubectl, on one server: same words in, same text out.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type ApiServer, startApiServer } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import { load } from "js-yaml";
import { cacheDirectory } from "../../../tools/peers/cache-directory.ts";
import { kubernetes } from "../../../tools/peers/kubernetes.ts";
import { installed } from "../../../tools/peers/peer.ts";
import { type ProgramResult, type RunningProgram, runProgram, startProgram } from "./run-program.ts";

const root = join(import.meta.dirname, "../../..");
const manifest = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.org}
spec:
  group: example.org
  names: {kind: Widget, plural: widgets, shortNames: [wd], categories: [toys]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: Size, type: string, jsonPath: .spec.size}
    - {name: Note, type: string, jsonPath: .spec.note, priority: 1}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
apiVersion: v1
kind: Namespace
metadata: {name: team}
`;
const objects = `
apiVersion: v1
kind: ConfigMap
metadata: {name: one, labels: {app: shop, tier: front}, annotations: {example.org/note: "a: b"}}
data: {key: "1", other.key: dotted}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two, labels: {app: shop}}
data: {key: "2"}
---
apiVersion: v1
kind: Secret
metadata: {name: login, labels: {tier: front}}
---
apiVersion: example.org/v1
kind: Widget
metadata: {name: w, labels: {app: shop}, annotations: {example.org/note: short}}
spec:
  size: large
  note: wide only
  count: 3
  ratio: 1.5
  enabled: true
  apiURL: https://example.org
  markup: {"<a>": "x & y < z"}
  ports: [80, 443, 8080]
  parts:
  - {name: a, size: 1, tags: [x, z]}
  - {name: b, size: 2}
  - {name: c, size: 30, kind: odd}
---
apiVersion: example.org/v1
kind: Widget
metadata: {name: v}
spec: {size: small}
`;

let directory: string;
let server: ApiServer;
let kubeconfig: string;
const kubectlProgram = (): string => join(installed(kubernetes, cacheDirectory), "kubectl");
const environment = (): Record<string, string> => ({ KUBECONFIG: kubeconfig, HOME: directory });
const kubectl = (args: readonly string[], input = ""): Promise<ProgramResult> =>
  runProgram({ program: kubectlProgram(), args, input, env: environment() });
const purlinArgs = (args: readonly string[]): { program: string; args: string[] } => ({
  program: process.execPath,
  args: [join(root, "packages/cli/bin/purlin.js"), ...args],
});
const purlin = (args: readonly string[], input = ""): Promise<ProgramResult> =>
  runProgram({ ...purlinArgs(args), input, env: environment(), directory });

before(async () => {
  directory = mkdtempSync(join(tmpdir(), "beside-kubectl-"));
  server = await startApiServer({ kinds: builtinKinds, directory: join(directory, "data") });
  kubeconfig = join(directory, "kubeconfig");
  writeFileSync(kubeconfig, (await server.listen()).kubeconfig, { mode: 0o600 });
  writeFileSync(join(directory, "manifest.yaml"), manifest);
  writeFileSync(join(directory, "objects.yaml"), objects);
  for (const args of [
    ["apply", "-f", "manifest.yaml"],
    ["apply", "-f", "objects.yaml", "-n", "team"],
  ]) {
    const { exitCode, stderr } = await purlin(args);
    assert.equal(exitCode, 0, stderr);
  }
});
after(async () => {
  await server.close();
  rmSync(directory, { recursive: true, force: true });
});

const inTeam = ["-n", "team"];
const template = (text: string): string[] => ["-o", `jsonpath=${text}`, ...inTeam];

/** Commands whose standard output and success must be the same, to the byte. */
const exact: readonly (readonly string[])[] = [
  ["get", "cm", "-o", "name", ...inTeam],
  ["get", "cm,secret", "-o", "name", ...inTeam],
  ["get", "cm,widgets", "-l", "app=shop", "-o", "name", ...inTeam],
  ["get", "cm", "-l", "app=shop,tier!=front", "-o", "name", ...inTeam],
  ["get", "cm", "-l", "tier in (front, back)", "-o", "name", ...inTeam],
  ["get", "cm", "-l", "!tier,app", "-o", "name", ...inTeam],
  ["get", "cm", "--field-selector", "metadata.name=two", "-o", "name", ...inTeam],
  ["get", "cm/one", "secret/login", "widget.example.org/w", "-o", "name", ...inTeam],
  ["get", "cm", "one", "two", "-o", "name", ...inTeam],
  ["get", "toys", "-o", "name", ...inTeam],
  ["get", "widgets.v1.example.org", "-o", "name", ...inTeam],
  ["get", "ns", "team", "-o", "name"],
  ["get", "widget", "w", "-o", "json", ...inTeam],
  ["get", "cm,secret", "-l", "tier=front", "-o", "json", ...inTeam],
  ["get", "widget", "w", ...template("{.spec.size}")],
  ["get", "widget", "w", ...template("{.spec.ports[*]}")],
  ["get", "widget", "w", ...template("{.spec.ports[0]} {.spec.ports[-1]} {.spec.ports[0:2]} {.spec.ports[::2]}")],
  ["get", "widget", "w", ...template("{.spec.ports[0,2]}")],
  ["get", "widget", "w", ...template("{.spec['size','count']}")],
  ["get", "widget", "w", ...template("{.spec.parts}")],
  ["get", "widget", "w", ...template('{.spec.parts[?(@.name=="b")].size}')],
  ["get", "widget", "w", ...template("{.spec.parts[?(@.size>1)].name}")],
  ["get", "widget", "w", ...template("{.spec.parts[?(@.size<=2)].name}")],
  ["get", "widget", "w", ...template('{.spec.parts[?(@.name!="b")].name}')],
  ["get", "widget", "w", ...template("{.spec.parts[?(@.kind)].name}")],
  ["get", "widget", "w", ...template("{.spec.parts[*].tags[1]}")],
  ["get", "widget", "w", ...template("{.spec.parts[0].tags}{'\\n'}{.spec.enabled} {.spec.ratio} {.spec.count}")],
  ["get", "widget", "w", ...template("{.spec.nothing}|{.nothing.at.all}")],
  ["get", "widget", "w", ...template("no braces")],
  ["get", "widget", "w", ...template("{$.spec.size} {@.spec.size} {['spec']['size']}")],
  ["get", "widget", "w", ...template("{.metadata.annotations.example\\.org/note}")],
  ["get", "cm", "one", ...template("{.data.other\\.key} {.data['other\\.key']}")],
  ["get", "cm", ...template('{range .items[*]}{.metadata.name}={.data.key}{"\\n"}{end}')],
  ["get", "cm", ...template("{.items[*].metadata.name}")],
  ["get", "cm", ...template("{range .items[*]}{range .metadata.labels}{.app}{end};{end}")],
  ["get", "cm", ...template('{.items[?(@.metadata.labels.tier=="front")].metadata.name}')],
  ["get", "cm", ...template("{.kind} {.apiVersion}")],
  ["get", "cm,secret", ...template("{.items[*].kind}")],
  // Below a list: kubectl visits the fields of an object in random order.
  ["get", "widget", "w", ...template("{.spec.parts..name}")],
];
for (const args of exact) {
  test(`same output: ${args.join(" ")}`, async () => {
    const [theirs, ours] = await Promise.all([kubectl(args), purlin(args)]);
    assert.deepEqual([ours.stdout, ours.exitCode, ours.stderr], [theirs.stdout, theirs.exitCode, theirs.stderr]);
    assert.notEqual(theirs.stdout, "", "there is something to compare");
  });
}

/** Tables and descriptions: the same words in the same places; ages and the width of columns are left out. */
const words = (text: string): string[] =>
  text
    .replaceAll(/\b\d+[smh](\d+[smh])?\b/g, "AGE")
    .split("\n")
    .map((line) => line.trimEnd().replaceAll(/(\S) {2,}/g, "$1  "));
const tables: readonly (readonly string[])[] = [
  ["get", "cm", ...inTeam],
  ["get", "widgets", "-o", "wide", ...inTeam],
  ["get", "widgets", "-A"],
  ["get", "widgets", "--no-headers", ...inTeam],
  ["get", "cm,widgets", ...inTeam],
  ["get", "cm/one", "widget/w", ...inTeam],
  ["get", "cm", "one", "two", ...inTeam],
  ["get", "pods", ...inTeam],
  ["describe", "widget", "w", ...inTeam],
  ["describe", "widget/v", ...inTeam],
  ["get", "cm", "one", "-l", "app=x", ...inTeam],
  ["get", "cm/one", "-l", "app=x", ...inTeam],
  ["get", "cm", "one", "--field-selector", "metadata.name=one", ...inTeam],
  ["get", "cm", "one", "-A"],
  ["get", "cm/one", "-A", "-o", "name"],
  ["get", "namespace", "team", "-A", "-o", "name"],
  ["describe", "cm", "one", "-A"],
  ["describe", "cm", "one", "-l", "app=x", ...inTeam],
  ["delete", "cm", "one", "-l", "app=x", ...inTeam],
];
for (const args of tables) {
  test(`same words: ${args.join(" ")}`, async () => {
    const [theirs, ours] = await Promise.all([kubectl(args), purlin(args)]);
    assert.deepEqual(words(ours.stdout), words(theirs.stdout));
    assert.deepEqual([ours.exitCode, ours.stderr], [theirs.exitCode, theirs.stderr]);
  });
}

test("YAML has the same content", async () => {
  const args = ["get", "widget", "w", "-o", "yaml", ...inTeam];
  const [theirs, ours] = await Promise.all([kubectl(args), purlin(args)]);
  assert.deepEqual(load(ours.stdout), load(theirs.stdout));
  assert.equal(ours.stdout.replaceAll("'", '"'), theirs.stdout);
});

test("an array index out of bounds and a broken template fail on both", async () => {
  for (const text of ["{.spec.ports[7]}", "{.spec.ports[0}"]) {
    const args = ["get", "widget", "w", ...template(text)];
    const [theirs, ours] = await Promise.all([kubectl(args), purlin(args)]);
    assert.notEqual(theirs.exitCode, 0, text);
    assert.notEqual(ours.exitCode, 0, text);
    assert.match(ours.stderr, /^error: --output jsonpath.*\n$/);
  }
});

test("both see the same changes with -w, in the same order", async () => {
  await kubectl(["create", "configmap", "watched", "--from-literal=a=0", ...inTeam]);
  const watched = (
    start: (args: readonly string[]) => RunningProgram,
  ): [RunningProgram, RunningProgram, RunningProgram] => [
    start(["get", "cm", "watched", "-w", "-o", "jsonpath={.data.a}{'\\n'}", ...inTeam]),
    start(["get", "cm", "-w", "-l", "seen=yes", "-o", "name", ...inTeam]),
    start(["get", "cm", "watched", "-w", "--no-headers", ...inTeam]),
  ];
  const theirs = watched((args) => startProgram({ program: kubectlProgram(), args, env: environment() }));
  const ours = watched((args) => startProgram({ ...purlinArgs(args), env: environment(), directory }));
  const all = [...theirs, ...ours];
  await Promise.all([theirs[0], theirs[2], ours[0], ours[2]].map((one) => one.lines(1)));
  // A watch without events prints nothing when it begins: it has begun once it shows the first change.
  const started = async (): Promise<void> => {
    for (let round = 1; ; round++) {
      await kubectl(["label", "cm", "one", `seen=yes`, `round=${round}`, "--overwrite", ...inTeam]);
      const seen = await Promise.race([
        Promise.all([theirs[1].lines(1), ours[1].lines(1)]).then(() => true),
        new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 500)),
      ]);
      if (seen) return;
    }
  };
  await started();
  for (const value of ["1", "2"])
    await kubectl(["patch", "cm", "watched", "-p", `{"data":{"a":"${value}"}}`, ...inTeam]);
  await kubectl(["delete", "cm", "watched", ...inTeam]);
  await Promise.all([theirs[0], theirs[2], ours[0], ours[2]].map((one) => one.lines(4)));
  const results = await Promise.all(all.map((one) => one.stop()));
  const [value, name, table, ownValue, ownName, ownTable] = results.map(({ stdout }) => stdout);
  assert.equal(ownValue, value);
  assert.equal(value, "0\n1\n2\n2\n");
  assert.deepEqual(new Set(ownName?.trim().split("\n")), new Set(name?.trim().split("\n")));
  assert.deepEqual(words(ownTable ?? ""), words(table ?? ""));
});

test("several types cannot be watched at once, by either", async () => {
  const args = ["get", "cm,secret", "-w", ...inTeam];
  const [theirs, ours] = await Promise.all([kubectl(args), purlin(args)]);
  assert.notEqual(theirs.exitCode, 0);
  assert.equal(ours.stderr, theirs.stderr);
});

test("a patch of the status reaches what kubectl shows, and delete -f removes what apply -f made", async () => {
  const patch = [
    "patch",
    "widget",
    "v",
    "--subresource",
    "status",
    "--type",
    "merge",
    "-p",
    '{"status":{"seen":true}}',
  ];
  assert.equal((await purlin([...patch, ...inTeam])).stderr, "");
  assert.equal((await kubectl(["get", "widget", "v", ...template("{.status.seen}")])).stdout, "true");
  const json = [
    "patch",
    "widget",
    "v",
    "--type",
    "json",
    "-p",
    '[{"op":"replace","path":"/spec/size","value":"tiny"}]',
  ];
  assert.equal((await purlin([...json, ...inTeam])).stderr, "");
  assert.equal((await kubectl(["get", "widget", "v", ...template("{.spec.size}")])).stdout, "tiny");
  const extra = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\n";
  assert.equal((await purlin(["apply", "-f", "-", ...inTeam], extra)).stdout, "ConfigMap extra created\n");
  assert.equal((await purlin(["delete", "-f", "-", ...inTeam], extra)).stdout, "ConfigMap extra deleted\n");
  assert.match((await kubectl(["get", "cm", "extra", ...inTeam])).stderr, /not found/);
  assert.match((await purlin(["delete", "-f", "-", ...inTeam], extra)).stderr, /not found/);
  assert.deepEqual((await purlin(["delete", "-f", "-", "--ignore-not-found", ...inTeam], extra)).exitCode, 0);
});

test("both list the same events, and print the same server version", async () => {
  const event = {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "e", namespace: "team" },
    involvedObject: { apiVersion: "example.org/v1", kind: "Widget", name: "w", namespace: "team" },
    type: "Warning",
    reason: "Odd",
    message: "something odd",
    count: 3,
    firstTimestamp: new Date(Date.now() - 3_600_000).toISOString().replace(/\.\d+/, ""),
    lastTimestamp: new Date(Date.now() - 60_000).toISOString().replace(/\.\d+/, ""),
  };
  assert.equal((await kubectl(["create", "-f", "-"], JSON.stringify(event))).stderr, "");
  for (const args of [
    ["events", ...inTeam],
    ["events", "--for", "widget/w", ...inTeam],
    ["events", "-A"],
  ]) {
    const [theirs, ours] = await Promise.all([kubectl(args), purlin(args)]);
    assert.deepEqual(words(ours.stdout), words(theirs.stdout));
    assert.match(ours.stdout, /Odd/);
  }
  const version = /Server Version: (.*)/;
  const [theirs, ours] = await Promise.all([kubectl(["version"]), purlin(["version"])]);
  assert.equal(version.exec(ours.stdout)?.[1], version.exec(theirs.stdout)?.[1]);
});
