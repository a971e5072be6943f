// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { createKubeClient, type KubeClient } from "@purlin/kube-client";
import { installCrds } from "@purlin/kube-controller";
import { eventually, startTestServer, type TestServer } from "@purlin/kube-controller/testing";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { packageCrds } from "@purlin/package-manager";
import { applyManifests } from "./apply-manifests.ts";
import type { Manifest } from "./manifest.ts";

const provider: KubeObject = {
  apiVersion: "pkg.crossplane.io/v1",
  kind: "Provider",
  metadata: { name: "p" },
  spec: { package: "example.org/p:v1" },
};
const widget: KubeObject = { apiVersion: "example.org/v1", kind: "Widget", metadata: { name: "w" } };
const definition: KubeObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.org" },
  spec: {
    group: "example.org",
    scope: "Cluster",
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
  },
};
const config: KubeObject = { apiVersion: "v1", kind: "Namespace", metadata: { name: "other" } };
const manifestOf = (object: KubeObject): Manifest => ({ object, file: "x.yaml", at: () => `${object.kind}.yaml:1:1` });

let server: TestServer;
let client: KubeClient;
let manager: KubeClient;

before(async () => {
  server = await startTestServer();
  client = createKubeClient(server.connect());
  manager = createKubeClient(server.connect());
  const signal = AbortSignal.timeout(120_000);
  await installCrds(manager, packageCrds({ functionRevisionSelectors: false }), { signal });
});
after(async () => {
  await Promise.all([client.close(), manager.close()]);
  await server.stop();
});
beforeEach(async () => {
  for (const { apiVersion, kind, metadata } of [provider, definition]) {
    const place = { apiVersion, kind, name: metadata.name ?? "" };
    await ignoreNotFound(manager.delete(place));
    const isGone = async (): Promise<boolean> => (await ignoreNotFound(manager.get(place, place))) === undefined;
    await eventually(`the ${kind} is deleted`, isGone);
  }
});

/** Applies the widget before everything else in the files, and resolves to the kinds that were applied, in order. */
async function apply(waitMs: number, objects: readonly KubeObject[]): Promise<string[]> {
  const applied: string[] = [];
  const signal = AbortSignal.timeout(120_000);
  const onApplied = ({ object }: Manifest): void => void applied.push(object.kind);
  await applyManifests(client, objects.map(manifestOf), { waitMs, signal, onApplied });
  return applied;
}

async function report(conditions: Readonly<Record<string, "True" | "False">>): Promise<void> {
  const stored = await eventually("the Provider is applied", () =>
    ignoreNotFound(manager.get(provider, { name: "p" })),
  );
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  const list = Object.entries(conditions).map(([type, status]) => {
    return { type, status, reason: status === "True" ? "Fine" : "Broken", message: "it says so", lastTransitionTime };
  });
  await manager.update({ ...stored, status: { conditions: list } } as KubeObject, { subresource: "status" });
}

test("an object of a kind that a package brings is applied last, when the kind is served", async () => {
  const applying = apply(60_000, [widget, provider, config]);
  await report({ Installed: "False" });
  await manager.create(definition);
  assert.deepEqual(await applying, ["Namespace", "Provider", "Widget"]);
});

test("a kind that no package brings is reported as soon as all are healthy", async () => {
  const applying = apply(3_600_000, [widget, provider]);
  const refused = assert.rejects(
    applying,
    /^ApplyError: Widget\.yaml:1:1: .*no matches for kind "Widget" in version "example\.org\/v1": check the spelling/,
  );
  await report({ Installed: "True", Healthy: "True" });
  await refused;
});

test("a package that is not healthy in time is named, with what it says", async () => {
  const failure = { exitCode: 1, message: /Provider "p" is not installed: not reconciled yet$/ };
  await assert.rejects(apply(0, [widget, provider]), failure);
  await report({ Installed: "True", Healthy: "False" });
  await assert.rejects(apply(0, [widget, provider]), /Provider "p" is not healthy: Broken: it says so$/);
});

test("without a package nothing is waited for", async () => {
  const wrongInput = { exitCode: 2, message: /no matches for kind "Widget".*: check the spelling/ };
  await assert.rejects(apply(3_600_000, [widget]), wrongInput);
});
