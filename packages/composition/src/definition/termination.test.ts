// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { crdType } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import { type KubeObject, withMember } from "@purlin/kube-objects/object";
import {
  appType,
  appXrd,
  cacheType,
  cacheXrd,
  established,
  held,
  offered,
  startTestDefinitions,
  type TestDefinitions,
  xappType,
} from "../../test/definition-control.ts";
import { appDefinition, cacheDefinition } from "../../test/definitions.ts";
import { find, startTestControl } from "../../test/test-control.ts";
import { refusal } from "../../test/test-doubles.ts";
import { kinds } from "../composite-resource/constants.ts";

const shop = "shop";

async function establishApp(running: TestDefinitions): Promise<void> {
  await running.control.users.create(appDefinition());
  await running.becomes("Established", established);
  await running.becomes("Offered", offered);
}

const gone = (running: TestDefinitions, name: string): Promise<boolean> =>
  eventually(`${name} is gone`, async () => (await running.xrd(name)) === undefined);

suite("a definition that is deleted", () => {
  test("composite resources, then their controller, then the CRD, then the definition", async () => {
    await using running = await startTestDefinitions();
    const { users, engine, takeWrites } = running.control;
    await establishApp(running);
    for (const name of ["a", "b"]) {
      await users.create({ ...xappType, metadata: { name, finalizers: [held] }, spec: {} });
    }
    takeWrites();
    await users.delete({ ...kinds.definition, name: appXrd });
    await gone(running, appXrd);
    assert.deepEqual((await users.list(crdType, { fieldSelector: `metadata.name=${appXrd}` })).items, []);
    assert.ok(!engine.isRunning(`composite/${appXrd}`) && !engine.isRunning(`claim/${appXrd}`));
    const lines = takeWrites();
    const at = (line: string): number => lines.findIndex((write) => write.startsWith(line));
    const order = [
      "DELETE /apis/platform.example.org/v1alpha1/xapps",
      `DELETE /apis/apiextensions.k8s.io/v1/customresourcedefinitions/${appXrd}`,
    ].map(at);
    assert.ok(order.every((index) => index >= 0));
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    );
    const [closed, deleted] = ["close composite", `delete ${appXrd}`].map((line) => running.life.indexOf(line));
    assert.ok(closed !== undefined && closed >= 0 && closed < (deleted ?? -1), running.life.join("; "));
    assert.ok(
      running
        .events()
        .includes(`Normal TerminateComposite: Deleted composite resource CustomResourceDefinition: ${appXrd}`),
    );
  });

  test("reports that it is being deleted, and waits for instances with finalizers", async () => {
    await using running = await startTestDefinitions();
    const { users, engine } = running.control;
    await establishApp(running);
    await users.create({ ...xappType, metadata: { name: "kept", finalizers: ["test/other"] }, spec: {} });
    await users.delete({ ...kinds.definition, name: appXrd });
    await running.becomes("Established", { status: "False", reason: "TerminatingCompositeResource" });
    await eventually("the waiting event", () =>
      running.events().includes("Normal TerminateComposite: waiting for defined composite resources to be deleted"),
    );
    const kept = await find(users, xappType, "kept");
    assert.ok(kept?.metadata.deletionTimestamp);
    assert.ok(engine.isRunning(`composite/${appXrd}`), "the controller stays until the last one is gone");
    await users.update(withMember(kept, ["metadata", "finalizers"], []));
    await gone(running, appXrd);
  });

  test("namespaced composite resources are not deleted; the definition waits until a user does", async () => {
    await using running = await startTestDefinitions();
    const { users } = running.control;
    await users.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: shop } });
    await users.create(cacheDefinition("Namespaced"));
    await running.becomes("Established", established, cacheXrd);
    await users.create({ ...cacheType, metadata: { namespace: shop, name: "mine" }, spec: {} });
    await users.delete({ ...kinds.definition, name: cacheXrd });
    const waiting = "Normal TerminateComposite: waiting for defined composite resources to be deleted";
    await eventually("the waiting event", () => running.events().includes(waiting));
    const mine = await find(users, cacheType, "mine", shop);
    assert.ok(mine && !mine.metadata.deletionTimestamp);
    await users.delete({ ...cacheType, namespace: shop, name: "mine" });
    await gone(running, cacheXrd);
  });

  test("claims are deleted one by one, and both sides finish by themselves", async () => {
    await using running = await startTestDefinitions();
    const { users, takeWrites } = running.control;
    await users.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: shop } });
    await establishApp(running);
    for (const name of ["a", "b"]) {
      await users.create({ ...appType, metadata: { namespace: shop, name, finalizers: [held] }, spec: {} });
    }
    takeWrites();
    await users.delete({ ...kinds.definition, name: appXrd });
    await gone(running, appXrd);
    const lines = takeWrites();
    for (const name of ["a", "b"]) {
      const path = `/apis/platform.example.org/v1alpha1/namespaces/${shop}/apps/${name}`;
      assert.equal(lines.filter((line) => line === `DELETE ${path}`).length, 1, name);
    }
    assert.ok(
      running
        .events()
        .includes(
          "Normal RedactClaim: Deleted composite resource claim CustomResourceDefinition: apps.platform.example.org",
        ),
    );
    assert.deepEqual(
      (await users.list(crdType, { fieldSelector: "metadata.name=apps.platform.example.org" })).items,
      [],
    );
  });

  test("a CRD that it does not control is left", async () => {
    await using running = await startTestDefinitions();
    const { users } = running.control;
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: "other", uid: "other-uid", controller: true };
    const crd = {
      ...crdType,
      metadata: { name: cacheXrd, ownerReferences: [owner] },
      spec: {
        group: "platform.example.org",
        names: { kind: "Cache", plural: "caches", categories: ["composite"] },
        scope: "Cluster",
        versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
      },
    } as KubeObject;
    await users.create(crd);
    await users.create(cacheDefinition("Cluster"));
    await running.becomes("Synced", { status: "False" }, cacheXrd);
    await users.delete({ ...kinds.definition, name: cacheXrd });
    await gone(running, cacheXrd);
    assert.ok(await find(users, crdType, cacheXrd));
  });

  test("one whose schema no longer makes a CRD can be deleted all the same", async () => {
    await using running = await startTestDefinitions();
    const { users } = running.control;
    await establishApp(running);
    const versions = [{ name: "v1alpha1", served: true, referenceable: true }];
    await users.patch({ ...kinds.definition, name: appXrd }, { spec: { versions } }, { type: "merge" });
    await running.becomes("Synced", { status: "False" });
    await users.delete({ ...kinds.definition, name: appXrd });
    await gone(running, appXrd);
  });

  test("a failure on the way is reported and retried", async () => {
    await using running = await startTestDefinitions();
    const { users, failWhen } = running.control;
    await establishApp(running);
    const stop = failWhen(({ method, path }) =>
      method === "DELETE" && path.endsWith(`/customresourcedefinitions/${appXrd}`) ? refusal() : undefined,
    );
    await users.delete({ ...kinds.definition, name: appXrd });
    const warning = "Warning TerminateComposite: cannot delete composite resource CustomResourceDefinition: no";
    await eventually("the warning", () => running.events().includes(warning));
    stop();
    await gone(running, appXrd);
  });

  test("after a restart in the middle a controller still removes finalizers", async () => {
    await using control = await startTestControl();
    const first = await startTestDefinitions(control);
    await establishApp(first);
    await control.users.create({ ...xappType, metadata: { name: "kept", finalizers: [held] }, spec: {} });
    // The process ends before the deletion begins, and another one starts after.
    for (const name of [`composite/${appXrd}`, `claim/${appXrd}`, ...first.controllerNames])
      await control.engine.stop(name);
    await control.users.delete({ ...kinds.definition, name: appXrd });
    const second = await startTestDefinitions(control);
    await gone(second, appXrd);
    assert.ok(second.life.includes("start composite platform.example.org/v1alpha1 XApp"));
  });

  test("one that no longer offers claims keeps them, says so, and takes them with it when it goes", async () => {
    await using running = await startTestDefinitions();
    const { users, engine } = running.control;
    await users.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: shop } });
    await establishApp(running);
    await users.create({ ...appType, metadata: { namespace: shop, name: "kept", finalizers: [held] }, spec: {} });
    await users.patch({ ...kinds.definition, name: appXrd }, { spec: { claimNames: null } }, { type: "merge" });
    const { message } = await running.becomes("Offered", { status: "False", reason: "ClaimsNotOffered" });
    assert.match(message ?? "", /^spec\.claimNames was removed: existing claims are kept/);
    assert.ok(!engine.isRunning(`claim/${appXrd}`));
    assert.ok(await find(users, appType, "kept", shop));
    await users.delete({ ...kinds.definition, name: appXrd });
    await gone(running, appXrd);
    assert.deepEqual(
      (await users.list(crdType, { fieldSelector: "metadata.name=apps.platform.example.org" })).items,
      [],
    );
  });

  test("one that offers its claims again looks after them again", async () => {
    await using running = await startTestDefinitions();
    const { users, engine } = running.control;
    await establishApp(running);
    await users.patch({ ...kinds.definition, name: appXrd }, { spec: { claimNames: null } }, { type: "merge" });
    await running.becomes("Offered", { status: "False" });
    const claimNames = { kind: "App", plural: "apps" };
    await users.patch({ ...kinds.definition, name: appXrd }, { spec: { claimNames } }, { type: "merge" });
    await running.becomes("Offered", offered);
    assert.ok(engine.isRunning(`claim/${appXrd}`));
  });
});
