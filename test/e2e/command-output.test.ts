// SPDX-License-Identifier: Apache-2.0
// What commands print is the same on both API servers: each has one golden file, in `golden/`. Names that are made up, ages and times stand
// as words there. `--update` writes the files again.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type RunFunctionRequest, type RunFunctionResponse, request, response } from "@purlin/function-sdk";
import { annotationOf, type KubeObject } from "@purlin/kube-objects/object";
import { openRunStore, type RunStore } from "@purlin/run-store";
import { type Outcome, runInProcess } from "../../packages/cli/test/test-io.ts";
import { conditionOf, eventually, type Plane, startPlane } from "./harness/plane.ts";
import { compositionOf, definitionOf, namespaceOf } from "./harness/sample-kinds.ts";

const group = "print.example.org";
const siteType = { apiVersion: `${group}/v1`, kind: "Site" };
const pageType = { apiVersion: `${group}/v1`, kind: "Page" };
const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };
const operationType = { apiVersion: "ops.crossplane.io/v1alpha1", kind: "Operation" };
const rolloutType = { apiVersion: "pkg.crossplane.io/v1alpha1", kind: "FunctionRollout" };
const namespace = "print";

/** A Site composes Pages and a Secret, and a Page composes a ConfigMap. A Page named "bad" fails. An Operation makes a ConfigMap. */
function compose(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req);
  const xr = req.observed?.composite?.resource && request.getObservedCompositeResource(req).resource;
  const add = (name: string, object: object): void =>
    response.setDesiredComposedResource(rsp, name, object, { ready: true });
  if (xr === undefined) {
    add("map", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "done", namespace },
      data: { by: "operation" },
    });
    response.setOutput(rsp, { done: true });
    return rsp;
  }
  const { kind, spec } = xr.toJSON() as {
    readonly kind: string;
    readonly spec: { readonly pages?: string[]; readonly text?: string };
  };
  if (spec.text === "bad") response.fatal(rsp, "there is no such page");
  else if (kind === "Page") add("map", { apiVersion: "v1", kind: "ConfigMap", data: { text: spec.text } });
  else {
    add("login", { apiVersion: "v1", kind: "Secret", stringData: { password: "a-secret-password" } });
    for (const text of spec.pages ?? [])
      response.setDesiredComposedResource(rsp, text, { ...pageType, spec: { text } }, { ready: text !== "bad" });
  }
  return rsp;
}

const site = (name: string, ...pages: readonly string[]): KubeObject => ({
  ...siteType,
  metadata: { name, namespace },
  spec: { pages },
});

let plane: Plane;
let runs: RunStore;
let folder = "";
let purlin: (...args: readonly string[]) => Promise<Outcome>;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "e2e-print-"));
  runs = openRunStore({ directory: join(folder, "runs") });
  const settings = { operations: true, functionRevisionSelectors: true, functionRollouts: true };
  plane = await startPlane({ functions: { compose }, settings, runs });
  await plane.apply(
    namespaceOf(namespace),
    definitionOf({
      group,
      kind: "Site",
      scope: "Namespaced",
      spec: { pages: { type: "array", items: { type: "string" } } },
    }),
    definitionOf({ group, kind: "Page", scope: "Namespaced", spec: { text: { type: "string" } } }),
    { ...functionType, metadata: { name: "print" }, spec: { package: "registry.example.org/print:v1" } },
    compositionOf("site", siteType, "print"),
    compositionOf("page", pageType, "print"),
  );
  await installRevision();
  // From here on the control plane knows the revision of the function: the first run of each Site succeeds.
  await plane.apply({ ...siteType, metadata: { name: "first", namespace: "default" }, spec: { pages: [] } });
  await plane.until("the first Site is ready", siteType, { name: "first", namespace: "default" }, isReady);
  await plane.apply(site("shop", "one"), site("blog", "bad"), operation("done"));
  await settled();
  await plane.apply({ ...rolloutType, metadata: { name: "next" }, spec: rollout } as KubeObject);
  await plane.until("the rollout waits", rolloutType, { name: "next" }, (one) => {
    return conditionOf(one, "Progressing") !== undefined;
  });
  runs.flush();
  const kubeconfig = await plane.kubeconfig();
  const env = { PATH: process.env["PATH"], HOME: folder, KUBECONFIG: kubeconfig };
  purlin = (...args) => runInProcess(args, { cwd: folder, env });
  writeFileSync(join(folder, "site.yaml"), JSON.stringify(site("shop", "one", "two")));
  writeFileSync(join(folder, "operation.yaml"), JSON.stringify(operation("again")));
  writeFileSync(join(folder, "wrong.yaml"), JSON.stringify({ ...site("shop"), spec: { pagse: [] } }, undefined, 2));
});
after(async () => {
  await plane[Symbol.asyncDispose]();
  runs[Symbol.dispose]();
  rmSync(folder, { recursive: true, force: true });
});

const rollout = { functionRef: { name: "print" }, steps: [{ percent: 10 }, { percent: 100 }] };

const operation = (name: string): KubeObject =>
  ({
    ...operationType,
    metadata: { name },
    spec: { mode: "Pipeline", pipeline: [{ step: "print", functionRef: { name: "compose" } }] },
  }) as KubeObject;

/** As a package manager does: a revision of the function, with the address of the one that serves. */
async function installRevision(): Promise<void> {
  const served = await plane.get(functionType, { name: "compose" });
  const endpoint = annotationOf(served, "render.crossplane.io/runtime-development-target") ?? "";
  const made = await plane.users.create({
    apiVersion: "pkg.crossplane.io/v1",
    kind: "FunctionRevision",
    metadata: { name: "print-1", labels: { "pkg.crossplane.io/package": "print" } },
    spec: { desiredState: "Active", image: "registry.example.org/print:v1", revision: 1 },
  });
  await plane.users.update({ ...made, status: { endpoint, capabilities: ["composition"] } }, { subresource: "status" });
}

const isReady = (one: KubeObject): boolean => conditionOf(one, "Ready")?.status === "True";

/** Everything has the state in which it stays. */
async function settled(): Promise<void> {
  await plane.until("shop is ready", siteType, { name: "shop", namespace }, isReady);
  await plane.until("blog waits", siteType, { name: "blog", namespace }, (one) => {
    return conditionOf(one, "Ready")?.status === "False";
  });
  await eventually("one page is ready, and the bad one has failed", async () => {
    const { items } = await plane.users.list(pageType, { namespace });
    return items.some(isReady) && items.some((one) => conditionOf(one, "Synced")?.status === "False");
  });
  await plane.until("the Operation ends", operationType, { name: "done" }, (one) => {
    return conditionOf(one, "Succeeded")?.status === "True";
  });
}

const inNamespace = ["-n", namespace];
const recorded = (): readonly string[] => ["--recorder-dir", join(folder, "runs")];

/** The first run of a composite resource. */
function firstRun(name: string): string {
  return runs.reader.list({ kind: "Site", name }).at(-1)?.id ?? "";
}

/** The commands by the names of their golden files. */
const commands: Readonly<Record<string, () => readonly string[]>> = {
  get: () => ["get", "sites,pages", ...inNamespace],
  "get-wide": () => ["get", "sites", "-o", "wide", ...inNamespace],
  "get-name": () => ["get", "sites,configmaps", "-o", "name", ...inNamespace],
  "get-yaml": () => ["get", "composition", "site", "-o", "yaml"],
  describe: () => ["describe", "site", "shop", ...inNamespace],
  trace: () => ["trace", "site", "shop", "-o", "wide", ...inNamespace],
  "trace-tree": () => ["trace", "site", "shop", "-o", "tree", ...inNamespace],
  explain: () => ["explain", "site/blog", ...inNamespace],
  "explain-all": () => ["explain", ...inNamespace],
  events: () => ["events", "--for", "site/shop", "--types", "Normal", ...inNamespace],
  diff: () => ["diff", "site.yaml"],
  "diff-markdown": () => ["diff", "site.yaml", "-o", "markdown"],
  validate: () => ["validate", "wrong.yaml", "--cluster"],
  "rollout-status": () => ["rollout", "status", "next"],
  "rollout-history": () => ["rollout", "history", "next"],
  "operation-run": () => ["operation", "run", "operation.yaml"],
  "runs-ls": () => ["runs", "ls", "operation/done", ...recorded()],
  "runs-show": () => ["runs", "show", firstRun("shop"), ...recorded()],
  "runs-diff": () => ["runs", "diff", firstRun("shop"), firstRun("blog"), ...recorded()],
  "runs-blame": () => ["runs", "blame", "site/shop", ...recorded()],
  top: () => ["top"],
  logs: () => ["logs"],
  version: () => ["version"],
};

for (const [name, argsOf] of Object.entries(commands)) {
  test(`purlin ${name.replace("-", " ")}`, async () => {
    const { exitCode, stdout, stderr } = await purlin(...argsOf());
    const text = `${stdout}${stderr && `--- stderr\n${stderr}`}--- exit code ${exitCode}\n`;
    compare(name, normal(text));
  });
}

function compare(name: string, text: string): void {
  const file = join(import.meta.dirname, "golden", `${name}.txt`);
  if (process.env["E2E_UPDATE"] !== undefined) writeFileSync(file, text);
  assert.ok(existsSync(file), `${file} is missing: run npm run e2e -- command-output --update`);
  assert.equal(text, readFileSync(file, "utf8"));
}

/** What differs from run to run and between servers, and the name that stands for it. */
const varying: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "TIME"],
  [/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "UID"],
  [/\b[0-9A-Z]{26}\b/g, "RUN"],
  [/\b(shop|blog)-[0-9a-f]{12}\b/g, "$1-HASH"],
  [/\bagain-[a-z0-9]+\b/g, "again-RANDOM"],
  [/\*\*REDACTED:[0-9a-f]{8}\*\*/g, "**REDACTED:MARK**"],
  [/\b(\d+(ms|[smhd]))+\b/g, "AGE"],
  [/( ?\(x\d+ over AGE\))/g, ""],
  [/(resourceVersion: "|Resource Version: +)\d+/g, "$1N"],
  [/(Node v|Server Version: v)[\w.+-]+/g, "$1N"],
  [/(resourceVersion: "N" -> ")\d+/g, "$1N"],
  [/\d+(?= bytes)/g, "N"],
  [/^.*"TIME" -> "TIME"\n/gm, ""],
  // Columns are as wide as what they hold; the text after a mark is indented.
  [/(?<=[^\s+|]) {2,}/g, "  "],
];

function normal(text: string): string {
  return varying.reduce((result, [pattern, word]) => result.replaceAll(pattern, word), text);
}

/** A Composition of Sites that runs one function, and a Site that uses it. */
async function siteWith(name: string, functionName: string): Promise<void> {
  await plane.apply(compositionOf(name, siteType, functionName));
  const spec = { pages: [], crossplane: { compositionRef: { name } } };
  await plane.apply({ ...siteType, metadata: { name, namespace }, spec } as KubeObject);
}

test("diff calls a function under development where the command line says, and nowhere else", async () => {
  await siteWith("dev", "compose");
  const served = await plane.get(functionType, { name: "compose" });
  const address = annotationOf(served, "render.crossplane.io/runtime-development-target") ?? "";
  const ignored = await purlin("diff", "--xr", `${namespace}/dev`);
  assert.equal(ignored.exitCode, 1, ignored.stdout);
  assert.match(ignored.stdout, /are ignored: set by field manager "kubectl" \(Apply\); name it with --function/);
  const named = await purlin("diff", "--xr", `${namespace}/dev`, "--function", `compose=${address}`, "-o", "json");
  assert.equal(named.exitCode, 0, named.stdout + named.stderr);
  const { functions } = JSON.parse(named.stdout) as { readonly functions: readonly object[] };
  assert.deepEqual(functions, [
    { name: "compose", revision: `compose@${address}`, endpoint: address, route: "override" },
  ]);
});

test("diff runs the package of a function that only the cluster can call, with and without the change", async () => {
  await plane.apply({ ...functionType, metadata: { name: "far" }, spec: { package: "127.0.0.1:1/acme/far:v1" } });
  const type = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" };
  const made = await plane.users.create({
    ...type,
    metadata: { name: "far-1", labels: { "pkg.crossplane.io/package": "far" } },
    spec: { desiredState: "Active", image: "127.0.0.1:1/acme/far:v1", revision: 1 },
  });
  const status = { endpoint: "dns:///127.0.0.1:1", capabilities: ["composition"] };
  await plane.users.update({ ...made, status }, { subresource: "status" });
  await siteWith("far", "far");
  const far = await purlin("diff", "--xr", `${namespace}/far`);
  assert.equal(far.exitCode, 1, far.stdout);
  assert.match(
    far.stdout,
    /Function "far": dns:\/\/\/127\.0\.0\.1:1 cannot be called from this machine, and its package cannot run here: ./,
  );
  assert.match(far.stdout, /name a source with --function far=SOURCE\n/);
  // What does not need it is previewed.
  assert.equal((await purlin("diff", "site.yaml")).exitCode, 3);
});
