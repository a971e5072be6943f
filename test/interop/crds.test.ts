// SPDX-License-Identifier: Apache-2.0
// Our CRDs on the embedded server and on a real one: both take them, and both judge objects alike.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { compositionCrds, keptCrds } from "@purlin/composition";
import type { KubeClient } from "@purlin/kube-client";
import { crdType, installCrds } from "@purlin/kube-controller";
import { judgeCrdCase } from "@purlin/kube-controller/testing";
import type { KubeObject } from "@purlin/kube-objects/object";
import { packageCrds } from "@purlin/package-manager";
import { crdCases } from "../../packages/composition/test/crd-cases.ts";
import { packageCrdCases } from "../../packages/package-manager/test/package-crd-cases.ts";
import { eventually } from "../e2e/harness/plane.ts";
import { startTwoServers, type TwoServers } from "./apiserver/two-servers.ts";

const ours = (): readonly KubeObject[] => [
  ...compositionCrds(),
  ...keptCrds(),
  ...packageCrds({ functionRevisionSelectors: true }),
];

let servers: TwoServers;
const clients = new Map<string, KubeClient>();
before(async () => {
  servers = await startTwoServers();
  for (const server of [servers.embedded, servers.real]) clients.set(server.name, await server.connect());
});
after(async () => {
  for (const client of clients.values()) await client.close();
  await servers[Symbol.asyncDispose]();
});

for (const name of ["embedded", "real"] as const) {
  const client = (): KubeClient => clients.get(name) as KubeClient;

  suite(`on the ${name} server`, () => {
    test("a cluster that ran another control plane keeps its versions and fields", async () => {
      await client().create(earlierFunction);
      const type = { apiVersion: "pkg.crossplane.io/v1alpha1", kind: "Function" };
      await untilServed(client(), type);
      await client().create({ ...type, metadata: { name: "kept" }, spec: { package: "old", theirs: "x" } });
      await installCrds(client(), ours());
      const kept = await client().get(type, { name: "kept" });
      assert.equal((kept["spec"] as { theirs?: string }).theirs, "x");
      const crd = await client().get(crdType, { name: "functions.pkg.crossplane.io" });
      const { versions } = crd["spec"] as { readonly versions: readonly { name: string; storage: boolean }[] };
      assert.deepEqual(
        versions.map((version) => `${version.name} ${version.storage}`),
        ["v1alpha1 true", "v1 false", "v1beta1 false"],
      );
      await client().delete({ ...crdType, name: "functions.pkg.crossplane.io" });
      await untilGone(client(), "functions.pkg.crossplane.io");
    });

    test("all are accepted, and a second time nothing is written", async () => {
      await installCrds(client(), ours());
      const seen = new Set<string>();
      await installCrds(client(), ours(), { onProgress: ({ what }) => seen.add(what) });
      assert.deepEqual([...seen].sort(), ["established", "unchanged"]);
    });

    for (const [about, cases] of Object.entries(crdCases)) {
      suite(about, () => {
        for (const [title, one] of Object.entries(cases)) {
          test(`${title}: ${one.reason}`, () => judgeCrdCase(client(), one));
        }
      });
    }

    suite("packages", () => {
      for (const [title, one] of Object.entries(packageCrdCases)) {
        test(`${title}: ${one.reason}`, () => judgeCrdCase(client(), one));
      }
    });
  });
}

/** A CRD of one of our kinds as some other release may have left it. */
const earlierFunction: KubeObject = {
  ...crdType,
  metadata: { name: "functions.pkg.crossplane.io", labels: { app: "crossplane" } },
  spec: {
    group: "pkg.crossplane.io",
    names: { kind: "Function", plural: "functions", categories: ["theirs"] },
    scope: "Cluster",
    versions: [
      {
        name: "v1alpha1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: { type: "object", properties: { package: { type: "string" }, theirs: { type: "string" } } },
            },
          },
        },
      },
    ],
  },
};

async function untilServed(client: KubeClient, type: { apiVersion: string; kind: string }): Promise<void> {
  await eventually(`${type.kind} is served`, () => client.list(type));
}

async function untilGone(client: KubeClient, name: string): Promise<void> {
  await eventually(`${name} is gone`, async () => {
    const { items } = await client.list(crdType, { fieldSelector: `metadata.name=${name}` });
    return items.length === 0;
  });
}
