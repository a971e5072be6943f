// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { manualClock } from "@purlin/base/testing";
import { createKubeClient, type KubeTransport } from "@purlin/kube-client";
import { installCrds } from "@purlin/kube-controller";
import { eventually, startTestServer } from "@purlin/kube-controller/testing";
import { StatusError } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { defineManagedResource, managedResourceCrd } from "./managed-resource.ts";
import { startProvider } from "./start-provider.ts";

const refusals = {
  "a provider whose rights come late": { code: 403, reason: "Forbidden" },
  "an API server that fails": { code: 500, reason: "InternalError" },
} as const;

for (const [what, { code, reason }] of Object.entries(refusals)) {
  test(`${what}: a kind that could not be listed at first is reconciled later`, async () => {
    await using closing = new AsyncDisposableStack();
    const server = await startTestServer();
    closing.defer(() => server.stop());
    let [isRefused, refused] = [true, 0];
    const refusing = (inner: KubeTransport): KubeTransport => {
      const check = ({ path }: { readonly path: string }): void => {
        if (!isRefused || !path.includes("/apis/late.example.org/v1/ones")) return;
        refused += 1;
        const message = "ones.late.example.org is not available";
        throw new StatusError({
          kind: "Status",
          apiVersion: "v1",
          metadata: {},
          status: "Failure",
          message,
          reason,
          code,
        });
      };
      return {
        ...inner,
        request: async (request) => {
          check(request);
          return inner.request(request);
        },
      };
    };
    const client = createKubeClient(refusing(server.connect("provider-late")));
    closing.defer(() => client.close());
    const users = createKubeClient(server.connect("users"));
    closing.defer(() => users.close());
    const observed: string[] = [];
    const resource = defineManagedResource({
      type: { apiVersion: "late.example.org/v1", kind: "One" },
      plural: "ones",
      forProvider: { type: "object" },
      async observe({ externalName }) {
        observed.push(externalName);
        return { exists: true, upToDate: true };
      },
      create: () => assert.fail("it exists"),
      update: () => assert.fail("it is up to date"),
      delete: () => assert.fail("it is not deleted"),
    });
    await installCrds(users, [managedResourceCrd(resource)]);
    const metadata = { name: "a", namespace: "default" };
    await users.create({ ...resource.type, metadata, spec: { forProvider: {} } } as KubeObject);
    const clock = manualClock();
    closing.use(startProvider({ name: "provider-late", client, resources: [resource], clock }));
    await eventually("the list is refused", () => refused > 0);
    isRefused = false;
    await eventually("the object is observed", () => {
      clock.advance(1000);
      return observed.length > 0;
    });
  });
}
