// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { runInProcess } from "../../test/test-io.ts";
import { type EmbeddedServer, startEmbeddedServer } from "../apiserver/embedded-server.ts";
import { commandTable } from "../commands/command-table.ts";
import { currentWord, listedValues, splitLine } from "./complete-command.ts";
import { completionScripts } from "./completion-command.ts";

let folder: TempFolder;
let server: EmbeddedServer;

before(async () => {
  folder = tempFolder();
  server = await startEmbeddedServer({ directory: join(folder.path, ".purlin"), port: 0, warn: () => {} });
  const objects = ["shop", "shelf", "cart"].map(
    (name) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: default}\n`,
  );
  const other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: elsewhere, namespace: kube-system}\n";
  const odd = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: 'team:a b$x'}\n";
  const defined = [
    ["CompositeResourceDefinition", "compositeresourcedefinitions", "apiextensions.crossplane.io"],
    ["Function", "functions", "pkg.crossplane.io"],
    ["App", "apps", "example.org"],
  ].map(([kind = "", plural = "", group = ""]) => definitionOf(kind, plural, group));
  const definition = `apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: apps.example.org}
spec: {group: example.org, names: {kind: App, plural: apps}}
`;
  const fn = "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: fn-shop}\n";
  const blog = "apiVersion: example.org/v1\nkind: App\nmetadata: {name: blog}\n";
  await runInProcess(["apply", "-f", "-"], {
    cwd: folder.path,
    stdin: [...objects, other, odd, ...defined, definition, fn, blog].join("---\n"),
  });
});
after(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** A CRD of a kind with any fields. */
function definitionOf(kind: string, plural: string, group: string): string {
  return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: ${plural}.${group}
  annotations: {api-approved.kubernetes.io: unapproved}
spec:
  group: ${group}
  scope: Cluster
  names: {kind: ${kind}, plural: ${plural}}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`;
}

/** On a busy machine an answer takes longer than a shell would wait. */
const patient = { PURLIN_COMPLETION_TIMEOUT: "10m" };

/** The values that are offered for the words of a command line. */
async function offered(...words: string[]): Promise<string[]> {
  const { exitCode, stdout, stderr } = await runInProcess(["__complete", "--", ...words], {
    cwd: folder.path,
    env: patient,
  });
  assert.deepEqual([exitCode, stderr], [0, ""]);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t")[0] ?? "");
}

const cases: Readonly<Record<string, { readonly words: readonly string[]; readonly want: readonly string[] }>> = {
  Commands: { words: ["co"], want: ["none", "completion"] },
  Groups: { words: ["xp"], want: ["none", "xpkg"] },
  InAGroup: { words: ["xpkg", "pu"], want: ["none", "push", "pull"] },
  Options: { words: ["get", "cm", "--na"], want: ["none", "--namespace"] },
  UsedOption: { words: ["get", "-n", "default", "--na"], want: ["none"] },
  Values: { words: ["get", "cm", "-o", ""], want: ["none", "table", "wide", "yaml", "json", "name", "jsonpath="] },
  ValuesAfterEquals: { words: ["get", "cm", "--output=y"], want: ["none", "--output=yaml"] },
  OpenValue: { words: ["get", "cm", "-o", "jsonp"], want: ["open", "jsonpath="] },
  Shells: { words: ["completion", "z"], want: ["none", "zsh"] },
  Files: { words: ["apply", "-f", ""], want: ["files"] },
  FileArguments: { words: ["render", "xr.yaml", ""], want: ["files"] },
  Folders: { words: ["up", "--data-dir", ""], want: ["folders"] },
  Types: { words: ["get", "configm"], want: ["none", "configmaps"] },
  Names: { words: ["get", "cm", "sh"], want: ["none", "shelf", "shop"] },
  SecondName: { words: ["get", "cm", "cart", "sho"], want: ["none", "shop"] },
  Pairs: { words: ["explain", "configmaps/sh"], want: ["none", "configmaps/shelf", "configmaps/shop"] },
  OtherNamespace: { words: ["get", "-n", "kube-system", "cm", "else"], want: ["none", "elsewhere"] },
  Namespaces: { words: ["get", "cm", "-n", "kube-p"], want: ["none", "kube-public"] },
  CauseCodes: { words: ["explain", "--code", "e01"], want: ["none", "E01"] },
  OddNames: { words: ["get", "clusterrole", "team:a b"], want: ["none", "team:a b$x"] },
  Contexts: { words: ["get", "--context", ""], want: ["none", "purlin"] },
  ForAnObject: { words: ["events", "--for", "configmaps/ca"], want: ["none", "configmaps/cart"] },
  Functions: { words: ["diff", "--function", "fn-"], want: ["open", "fn-shop="] },
  CompositeNames: { words: ["diff", "--xr", "bl"], want: ["none", "blog"] },
  CompositesByKind: { words: ["logs", "--xr", "App/"], want: ["none", "App/blog"] },
  ListedArguments: { words: ["top", ""], want: ["none", "functions", "xrs"] },
  UnknownCommand: { words: ["nonsense", ""], want: ["none"] },
  UnknownType: { words: ["get", "nonsense", ""], want: ["none"] },
  UnknownOption: { words: ["get", "--nonsense", "cm", "sho"], want: ["none", "shop"] },
};
for (const [name, { words, want }] of Object.entries(cases)) {
  test(`completion of words: ${name}`, async () => {
    assert.deepEqual(await offered(...words), want);
  });
}

test("every output format that a command documents is offered", () => {
  for (const { name, options = [] } of commandTable) {
    for (const { flags, description } of options.filter(({ flags }) => flags.includes("<format>"))) {
      assert.ok(listedValues(description).length > 1, `${name} ${flags}: ${description}`);
    }
  }
});

test("without a control plane, or with one that does not answer, nothing is offered and nothing fails", async (t) => {
  using empty = tempFolder();
  const none = await runInProcess(["__complete", "--", "get", "cm", ""], { cwd: empty.path });
  assert.deepEqual(none, { exitCode: 0, stdout: "none\n", stderr: "" });
  const silent = createServer().listen(0, "127.0.0.1");
  t.after(() => silent.close());
  const address = silent.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const config = `apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "http://127.0.0.1:${port}"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
`;
  empty.write("kubeconfig", config);
  const hung = await runInProcess(["__complete", "--", "get", "--kubeconfig", "kubeconfig", "cm", ""], {
    cwd: empty.path,
  });
  assert.deepEqual(hung, { exitCode: 0, stdout: "none\n", stderr: "" });
});

test("a line is split as a shell splits it", () => {
  assert.deepEqual(splitLine("purlin get 'a b' c\\ d \"e\" "), ["purlin", "get", "a b", "c d", "e", ""]);
  assert.deepEqual(splitLine("purlin get --o=j"), ["purlin", "get", "--o=j"]);
  assert.equal(currentWord(["--output=j"], "j"), "--output=".length);
  assert.equal(currentWord(["--output="], "="), "--output=".length);
  assert.equal(currentWord(["configmaps/sh"], "configmaps/sh"), 0);
});

test("bash completes with the printed script", async () => {
  const command = new URL("../../bin/purlin.js", import.meta.url).pathname;
  const line = async (text: string, words: readonly string[]): Promise<string> => {
    const script = `${completionScripts.bash}
purlin() { "${process.execPath}" "${command}" "$@"; }
COMP_LINE='${text}' COMP_POINT=${text.length}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}) COMP_CWORD=${words.length - 1}
_purlin
printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = await promisify(execFile)("bash", ["-c", script], {
      cwd: folder.path,
      env: { ...process.env, ...patient },
    });
    assert.equal(stderr, "");
    return stdout.trim();
  };
  assert.equal(await line("purlin get cm --output=ya", ["purlin", "get", "cm", "--output", "=", "ya"]), "yaml");
  assert.equal(await line("purlin get cm ca", ["purlin", "get", "cm", "ca"]), "cart");
  const role = ["purlin", "get", "clusterrole"];
  assert.equal(await line("purlin get clusterrole team:", [...role, "team", ":"]), "a\\ b\\$x", "as a shell reads it");
  assert.equal(
    await line('purlin get clusterrole "team:', [...role, '"team:']),
    "team:a b$x",
    "within quotes as it is",
  );
});

test("zsh and fish complete a word without the quotes that it begins with", () => {
  assert.match(completionScripts.zsh, /"\$\{\(@Q\)words\[2,CURRENT-1\]\}" "\$\{\(Q\)PREFIX\}"/);
  assert.match(completionScripts.fish, /set -l current \(commandline -oct\)/);
});

test("another shell is refused with those that are supported", async () => {
  const { exitCode, stderr } = await runInProcess(["completion", "tcsh"]);
  assert.equal(exitCode, 2);
  assert.equal(stderr, 'error: shell "tcsh" is not supported: use bash, zsh or fish\n');
});
