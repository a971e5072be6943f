// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { NoMatchError } from "@purlin/kube-client";
import { forbidden } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { startEmbeddedApi } from "../test/embedded-api.ts";
import { isLiveCrossplane, refuseBesideCrossplane, startControlPlane } from "./start-control-plane.ts";

const namespace = "crossplane-system";
const type = { apiVersion: "apps/v1", kind: "Deployment" };

function deployment(name: string, app: string): KubeObject {
  const labels = { app };
  return {
    ...type,
    metadata: { name, namespace, labels },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "main:1" }] } },
    },
  };
}

test("a Deployment of Crossplane that is ready is named, with the way to take over; any other is none of our business", async () => {
  await using api = await startEmbeddedApi();
  const { users } = api;
  await users.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const setReady = async (name: string, readyReplicas: number): Promise<void> => {
    const found = await users.get(type, { namespace, name });
    const status = { replicas: readyReplicas, readyReplicas };
    await users.update({ ...found, status }, { subresource: "status" });
  };
  const check = () => refuseBesideCrossplane(users, namespace);
  await check();
  await users.create(deployment("rbac", "crossplane-rbac-manager"));
  await setReady("rbac", 1);
  await check();
  await users.create(deployment("core", "crossplane"));
  await check();
  await setReady("core", 2);
  await assert.rejects(check(), (error) => {
    assert.ok(isLiveCrossplane(error));
    assert.match(error.message, /^Deployment "core" in namespace "crossplane-system" runs Crossplane/);
    assert.match(error.message, /kubectl --namespace crossplane-system scale deployment core --replicas=0/);
    return true;
  });
  await refuseBesideCrossplane(users, "default");
  const plane = startControlPlane({ client: api.connect(), functions: { security: "plaintext" }, beforeStart: check });
  await assert.rejects(plane.ready, isLiveCrossplane);
  assert.deepEqual(api.writes, [], "nothing was installed");
  await setReady("core", 0);
  await check();
});

test("a server without Deployments runs none; one that does not let us look is not trusted", async () => {
  await refuseBesideCrossplane({ list: () => Promise.reject(new NoMatchError(type)) }, namespace);
  const denied = forbidden({ group: "apps", resource: "deployments" }, "", "not for you");
  await assert.rejects(
    refuseBesideCrossplane({ list: () => Promise.reject(denied) }, namespace),
    /cannot determine whether Crossplane runs in namespace "crossplane-system": .*not for you/,
  );
});
