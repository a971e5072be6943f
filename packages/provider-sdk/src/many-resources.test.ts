// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { manualClock } from "@purlin/base/testing";
import { createKubeClient } from "@purlin/kube-client";
import { installCrds } from "@purlin/kube-controller";
import { eventually, recordRequests, startTestServer } from "@purlin/kube-controller/testing";
import type { KubeObject } from "@purlin/kube-objects/object";
import { defineManagedResource, managedResourceCrd } from "./managed-resource.ts";
import { startProvider } from "./start-provider.ts";

const count = 1000;
const pollIntervalMs = 600_000;
const most = 10;

test(`${count} resources are observed a few at a time, and then once in each poll interval`, async () => {
  await using closing = new AsyncDisposableStack();
  const server = await startTestServer();
  closing.defer(() => server.stop());
  const { transport, sent } = recordRequests(server.connect("provider-many"));
  const client = createKubeClient(transport);
  closing.defer(() => client.close());
  const users = createKubeClient(server.connect("users"));
  closing.defer(() => users.close());
  const observed = new Map<string, number>();
  let [running, peak] = [0, 0];
  const resource = defineManagedResource({
    type: { apiVersion: "many.example.org/v1", kind: "One" },
    plural: "ones",
    forProvider: { type: "object" },
    pollIntervalMs,
    async observe({ externalName }) {
      peak = Math.max(peak, ++running);
      await Promise.resolve();
      running -= 1;
      observed.set(externalName, (observed.get(externalName) ?? 0) + 1);
      return { exists: true, upToDate: true };
    },
    create: () => assert.fail("it exists"),
    update: () => assert.fail("it is up to date"),
    delete: () => assert.fail("it is not deleted"),
  });
  await installCrds(users, [managedResourceCrd(resource)]);
  const create = (at: number): Promise<KubeObject> =>
    users.create({
      ...resource.type,
      metadata: { name: `one-${at}`, namespace: "default" },
      spec: { forProvider: {} },
    } as KubeObject);
  await Promise.all(Array.from({ length: count }, (_, at) => create(at)));
  const clock = manualClock();
  closing.use(
    startProvider({ name: "provider-many", client, resources: [resource], clock, maxConcurrentReconciles: most }),
  );
  const total = (): number => observed.values().reduce((sum, one) => sum + one, 0);
  // Everything is in this process, so what is left to do continues between two looks.
  let [before, quiet] = ["", 0];
  const isQuiet = (): boolean => {
    const now = `${total()} ${sent.length}`;
    quiet = now === before ? quiet + 1 : 0;
    before = now;
    return quiet > 20;
  };
  await eventually("the provider has nothing to do", () => observed.size === count && isQuiet());
  const { items } = await users.list(resource.type);
  assert.ok(items.every(({ status }) => JSON.stringify(status ?? "").includes("Available")));
  assert.equal(observed.size, count);
  assert.ok(peak <= most, `${peak} at a time`);
  assert.ok(total() <= 3 * count, `${total()} calls: the provider wakes itself`);
  assert.ok(sent.length <= 5 * count, `${sent.length} requests`);

  const [calls, requests] = [total(), sent.length];
  // Polls are spread by a tenth in both directions.
  clock.advance(pollIntervalMs * 0.89);
  assert.equal(total(), calls, "nothing is polled early");
  clock.advance(pollIntervalMs * 0.22);
  await eventually("all are polled", () => total() >= calls + count);
  assert.ok(total() <= calls + count + most, `${total() - calls} polls`);
  assert.ok(sent.length - requests <= most, `${sent.length - requests} requests for resources that did not change`);
});
