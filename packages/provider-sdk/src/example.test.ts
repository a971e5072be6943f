// SPDX-License-Identifier: Apache-2.0
// The provider of the guide, on an API server: the guide shows the files of the example, and they work.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createKubeClient } from "@purlin/kube-client";
import { installCrds } from "@purlin/kube-controller";
import { eventually, startTestServer } from "@purlin/kube-controller/testing";
import { conditionOf, conditionsOf, type KubeObject } from "@purlin/kube-objects/object";
import { Registry } from "prom-client";
import { fileResource } from "../../../examples/provider/src/file.ts";
import { managedResourceCrd } from "./managed-resource.ts";
import { runProvider, serveHealth } from "./run-provider.ts";
import { startProvider } from "./start-provider.ts";

const root = new URL("../../../", import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), "utf8");

test("the guide shows the files of the example", () => {
  const guide = read("docs/guide/write-a-provider.md");
  const shown = [
    "src/file.ts",
    "src/main.ts",
    "package/crossplane.yaml",
    "provider.yaml",
    "examples/note.yaml",
    "examples/xr.yaml",
  ];
  for (const path of shown) {
    const text = read(`examples/provider/${path}`).replace(/^\/\/ SPDX.*\n/, "");
    assert.ok(guide.includes(text), `docs/guide/write-a-provider.md differs from examples/provider/${path}`);
  }
});

test("a provider starts before its kinds are served, and its objects become files", async () => {
  await using closing = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), "purlin-files-"));
  closing.defer(() => rmSync(folder, { recursive: true, force: true }));
  const server = await startTestServer();
  closing.defer(() => server.stop());
  const client = createKubeClient(server.connect("provider-files"));
  closing.defer(() => client.close());
  const file = { ...fileResource(folder), pollIntervalMs: 50 };
  const election = { namespace: "default", identity: "test" };
  const provider = closing.use(startProvider({ name: "provider-files", client, resources: [file], election }));
  await eventually("it runs", () => provider.isRunning);
  await installCrds(client, [managedResourceCrd(file)]);
  const metadata = { name: "note.txt", namespace: "default" };
  const spec = { forProvider: { content: "hello" }, writeConnectionSecretToRef: { name: "note" } };
  await client.create({ ...file.type, metadata, spec } as KubeObject);
  const path = join(folder, "note.txt");
  await eventually("it is ready", async () => {
    const stored = await client.get(file.type, metadata);
    return conditionOf(conditionsOf(stored), "Ready").status === "True";
  });
  assert.equal(readFileSync(path, "utf8"), "hello");
  assert.ok(await client.get({ apiVersion: "v1", kind: "Secret" }, { name: "note", namespace: "default" }));
  writeFileSync(path, "changed by hand");
  await eventually("the drift is repaired", () => readFileSync(path, "utf8") === "hello");
  await client.patch({ ...file.type, ...metadata }, { spec: { forProvider: { content: "new" } } }, { type: "merge" });
  await eventually("it is updated", () => readFileSync(path, "utf8") === "new");
  await client.delete({ ...file.type, ...metadata });
  await eventually("it is gone", async () => (await client.list(file.type)).items.length === 0);
  assert.throws(() => readFileSync(path), /ENOENT/);
  const registry = new Registry();
  const health = await serveHealth({ provider, registry, port: 0 });
  const { port } = health.address() as { port: number };
  const answer = async (of: string): Promise<string> => (await fetch(`http://127.0.0.1:${port}${of}`)).text();
  assert.deepEqual([await answer("/healthz"), await answer("/nothing")], ["ok\n", "not found\n"]);
  await provider.stop();
  assert.equal(await answer("/readyz"), "waiting\n");
  health.closeAllConnections();
  health.close();
});

test("outside a Pod the program says what is missing", async () => {
  const program = { name: "provider-files", resources: [], argv: [], env: {} };
  await assert.rejects(runProvider(program), /KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set/);
});
