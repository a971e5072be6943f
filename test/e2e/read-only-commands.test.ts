// SPDX-License-Identifier: Apache-2.0
// Commands that only look, on the API server of the suite: what `purlin diff` predicts happens, and none of them sends a request that
// could change anything.
import assert from "node:assert/strict";
import { subscribe } from "node:diagnostics_channel";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { ClientRequest } from "node:http";
import type { OutgoingHttpHeaders } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type RunFunctionRequest, type RunFunctionResponse, request, response } from "@purlin/function-sdk";
import { annotationOf, type KubeObject } from "@purlin/kube-objects/object";
import { type Outcome, runInProcess } from "../../packages/cli/test/test-io.ts";
import { conditionOf, eventually, type Plane, startPlane } from "./harness/plane.ts";
import { compositionOf, definitionOf, namespaceOf } from "./harness/sample-kinds.ts";

const group = "look.example.org";
const siteType = { apiVersion: `${group}/v1`, kind: "Site" };
const pageType = { apiVersion: `${group}/v1`, kind: "Page" };
const configMap = { apiVersion: "v1", kind: "ConfigMap" };
const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };
const namespace = "look";

/** A Site composes Pages, and a Page composes a ConfigMap. */
function compose(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req);
  const { resource: xr } = request.getObservedCompositeResource(req);
  const { kind, spec } = xr.toJSON() as {
    readonly kind: string;
    readonly spec: { readonly pages?: string[]; readonly text?: string };
  };
  const add = (name: string, object: object): void =>
    response.setDesiredComposedResource(rsp, name, object, { ready: true });
  if (kind === "Site") for (const text of spec.pages ?? []) add(text, { ...pageType, spec: { text } });
  else add("map", { ...configMap, data: { text: spec.text } });
  return rsp;
}

const site = (...pages: readonly string[]): KubeObject => ({
  ...siteType,
  metadata: { name: "shop", namespace },
  spec: { pages },
});

/** Requests of commands, as `METHOD path?query`. Others in this process have other user agents. */
const sent: string[] = [];
const note = (agent: unknown, method: unknown, path: unknown): void => {
  if (/^purlin/.test(String(agent))) sent.push(`${String(method)} ${String(path)}`);
};
subscribe("http2.client.stream.created", (message) => {
  const { headers } = message as { readonly headers: OutgoingHttpHeaders };
  note(headers["user-agent"], headers[":method"] ?? "GET", headers[":path"]);
});
subscribe("http.client.request.created", (message) => {
  const { request: one } = message as { readonly request: ClientRequest };
  note(one.getHeader("user-agent"), one.method, one.path);
});

let plane: Plane;
let folder = "";
let purlin: (...args: readonly string[]) => Promise<Outcome>;
before(async () => {
  plane = await startPlane({ functions: { compose } });
  folder = mkdtempSync(join(tmpdir(), "e2e-look-"));
  await plane.apply(
    namespaceOf(namespace),
    definitionOf({
      group,
      kind: "Site",
      scope: "Namespaced",
      spec: { pages: { type: "array", items: { type: "string" } } },
    }),
    definitionOf({ group, kind: "Page", scope: "Namespaced", spec: { text: { type: "string" } } }),
    { ...functionType, metadata: { name: "look" }, spec: { package: "registry.example.org/look:v1" } },
    compositionOf("site", siteType, "look"),
    compositionOf("page", pageType, "look"),
  );
  await installRevision();
  await plane.apply(site("one"));
  await eventually("the Site and its Page are ready", async () => {
    const lists = await Promise.all([siteType, pageType].map((type) => plane.users.list(type, { namespace })));
    const all = lists.flatMap(({ items }) => items);
    return all.length === 2 && all.every((one) => conditionOf(one, "Ready")?.status === "True");
  });
  const kubeconfig = await plane.kubeconfig();
  const env = { PATH: process.env["PATH"], HOME: folder, KUBECONFIG: kubeconfig };
  purlin = (...args) => runInProcess(args, { cwd: folder, env });
});
after(async () => {
  rmSync(folder, { recursive: true, force: true });
  await plane[Symbol.asyncDispose]();
});

/** As a package manager does: a revision of the function, with the address of the one that serves. */
async function installRevision(): Promise<void> {
  const served = await plane.get(functionType, { name: "compose" });
  const endpoint = annotationOf(served, "render.crossplane.io/runtime-development-target") ?? "";
  const made = await plane.users.create({
    apiVersion: "pkg.crossplane.io/v1",
    kind: "FunctionRevision",
    metadata: { name: "look-1", labels: { "pkg.crossplane.io/package": "look" } },
    spec: { desiredState: "Active", image: "registry.example.org/look:v1", revision: 1 },
  });
  await plane.users.update({ ...made, status: { endpoint, capabilities: ["composition"] } }, { subresource: "status" });
}

/** Every object of the namespace with its version. */
async function versions(): Promise<string> {
  const lists = await Promise.all([siteType, pageType, configMap].map((type) => plane.users.list(type, { namespace })));
  return JSON.stringify(
    lists.flatMap(({ items }) => items.map(({ kind, metadata }) => [kind, metadata.name, metadata.resourceVersion])),
  );
}

async function texts(): Promise<string[]> {
  const { items } = await plane.users.list(configMap, { namespace });
  return items.flatMap((one) => (one["data"] as { readonly text?: string } | undefined)?.text ?? []).sort();
}

test("what diff predicts of a composite resource and of those nested in it happens", async () => {
  writeFileSync(join(folder, "site.yaml"), JSON.stringify(site("one", "two")));
  const before = await versions();
  const diff = await purlin("diff", "site.yaml", "-o", "json");
  assert.equal(diff.exitCode, 3, diff.stdout + diff.stderr);
  const { summary, xrs } = JSON.parse(diff.stdout) as {
    readonly summary: { readonly added: number; readonly modified: number; readonly removed: number };
    readonly xrs: readonly { readonly changes: readonly { readonly type: string; readonly kind: string }[] }[];
  };
  assert.deepEqual([summary.added, summary.modified, summary.removed], [2, 1, 0]);
  const changes = xrs.flatMap((xr) => xr.changes.map(({ type, kind }) => `${type} ${kind}`)).sort();
  assert.deepEqual(changes, ["added ConfigMap", "added Page", "modified Site"]);
  assert.equal(await versions(), before, "nothing has changed");
  await plane.apply(site("one", "two"));
  await eventually("both pages are composed", async () => (await texts()).join() === "one,two");
  const again = await purlin("diff", "site.yaml");
  assert.deepEqual([again.exitCode, again.stderr], [0, ""], again.stdout);
});

const commands: readonly (readonly string[])[] = [
  ["get", "sites", "-n", namespace],
  ["describe", "site", "shop", "-n", namespace],
  ["trace", "site", "shop", "-n", namespace],
  ["explain", "site/shop", "-n", namespace],
  ["events", "-n", namespace],
  ["diff", "site.yaml"],
  ["version"],
];

for (const args of commands) {
  test(`purlin ${args[0]} sends no request that could change anything`, async () => {
    sent.length = 0;
    const { stdout, stderr } = await purlin(...args);
    assert.ok(sent.length > 0, `no request was seen: ${stdout}${stderr}`);
    const isHarmless = (one: string): boolean =>
      one.startsWith("GET ") ||
      /[?&]dryRun=All(&|$)/.test(one) ||
      /^POST \/apis\/auth\w+\.k8s\.io\/\S+reviews$/.test(one);
    assert.deepEqual(
      sent.filter((one) => !isHarmless(one)),
      [],
    );
  });
}
