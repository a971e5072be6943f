// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { mastersGroup } from "@purlin/kube-apiserver";
import { createKubeClient } from "@purlin/kube-client";
import { installCrds } from "@purlin/kube-controller";
import { startTestServer, type TestServer } from "@purlin/kube-controller/testing";
import { isDeletionDenied } from "@purlin/kube-objects/errors";
import { usageCrd } from "../crds/usages.ts";
import { configMapType, refTo, usageType } from "../testing/usage-scene.ts";
import { createUsageGuard } from "./usage-guard.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer({ guardDelete: createUsageGuard() });
});
after(() => server.stop());

test("a user with the name of the server itself, such as an impersonated one, deletes nothing that is protected", async () => {
  await using closing = new AsyncDisposableStack();
  const groups = [mastersGroup, "system:authenticated"];
  const users = createKubeClient(server.connect("kubectl", { name: "system:apiserver", groups }));
  closing.defer(() => users.close());
  await installCrds(users, [usageCrd()]);
  const metadata = { name: "used", namespace: "default" };
  await users.create({ ...configMapType, metadata });
  await users.create({ ...usageType, metadata: { ...metadata, name: "u" }, spec: { of: refTo("used"), reason: "r" } });
  await assert.rejects(users.delete({ ...configMapType, ...metadata }), isDeletionDenied);
  await assert.rejects(users.deleteCollection(configMapType, { namespace: "default" }), isDeletionDenied);
  assert.ok(await users.get(configMapType, metadata));
});
