// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { keptCrds } from "@purlin/composition";
import { createKubeClient } from "@purlin/kube-client";
import { crdType, installCrds } from "@purlin/kube-controller";
import { startTestServer } from "@purlin/kube-controller/testing";
import type { KubeObject } from "@purlin/kube-objects/object";
import { unusedDefinitions } from "./unused-command.ts";

test("active definitions without objects are unused, also those whose CRD is not there", async () => {
  await using closing = new AsyncDisposableStack();
  const server = await startTestServer();
  closing.defer(() => server.stop());
  const client = createKubeClient(server.connect());
  closing.defer(() => client.close());
  await installCrds(client, keptCrds());
  const specOf = (plural: string, kind: string): object => ({
    group: "example.org",
    names: { plural, kind },
    scope: "Namespaced",
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
  });
  const define = async (plural: string, kind: string, state: string): Promise<void> => {
    const spec = specOf(plural, kind);
    const metadata = { name: `${plural}.example.org` };
    const type = { apiVersion: "apiextensions.crossplane.io/v1alpha1", kind: "ManagedResourceDefinition" };
    await client.create({ ...type, metadata, spec: { ...spec, state } } as KubeObject);
    if (plural !== "ghosts") await installCrds(client, [{ ...crdType, metadata, spec } as KubeObject]);
  };
  await define("used", "Used", "Active");
  await define("idles", "Idle", "Active");
  await define("ghosts", "Ghost", "Active");
  await define("sleepers", "Sleeper", "Inactive");
  await client.create({ apiVersion: "example.org/v1", kind: "Used", metadata: { name: "a", namespace: "default" } });
  const names = (await unusedDefinitions(client)).map(({ metadata }) => metadata.name);
  assert.deepEqual(names, ["ghosts.example.org", "idles.example.org"]);
});
