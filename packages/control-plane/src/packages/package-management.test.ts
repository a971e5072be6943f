// SPDX-License-Identifier: Apache-2.0
// From a package in a registry to composed resources, with real processes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import type { KubeObject } from "@purlin/kube-objects/object";
import {
  app,
  appComposition,
  appDefinition,
  conditionStatus,
  type EmbeddedApi,
  startProcessScene,
} from "../../test/embedded-api.ts";

const namespace = "default";
const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };
const revisionType = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" };

async function define({ users }: EmbeddedApi): Promise<void> {
  for (const object of [appDefinition, appComposition]) await users.create(object);
  const one = { ...app, metadata: { name: "one", namespace }, spec: { text: "x" } };
  await eventually("Apps are served", () => users.create(one));
}

const versionOf = async ({ users }: EmbeddedApi): Promise<string | undefined> => {
  const { items } = await users.list(
    { apiVersion: "v1", kind: "ConfigMap" },
    { namespace, labelSelector: "crossplane.io/composite=one" },
  );
  return (items[0]?.["data"] as { version?: string } | undefined)?.version;
};

/** Asks for another look at the App. */
async function poke({ users }: EmbeddedApi, token: string): Promise<void> {
  const annotations = { "crossplane.io/reconcile-requested-at": token };
  await users.patch({ ...app, namespace, name: "one" }, { metadata: { annotations } }, { type: "merge" });
}

test("a package is installed, runs in a process, composes, and is upgraded without a failed reconcile", async () => {
  await using scene = await startProcessScene();
  const { api } = scene;
  await scene.publish("v1");
  await scene.install("v1");
  await eventually("the function is healthy", async () => {
    const found = await api.users.get(functionType, { name: "fn" });
    return conditionStatus(found, "Healthy") === "True" && conditionStatus(found, "Installed") === "True";
  });
  await define(api);
  await eventually("v1 has composed", async () => (await versionOf(api)) === "v1");
  await scene.publish("v2");
  await scene.install("v2");
  // Requested now and then: constant requests open the circuit breaker.
  let looks = 0;
  await eventually("v2 composes", async () => {
    await poke(api, String(looks++));
    await new Promise((resolve) => setTimeout(resolve, 500));
    return (await versionOf(api)) === "v2";
  });
  await eventually("one revision is left active", async () => {
    const { items } = await api.users.list(revisionType);
    const active = items.filter((one) => (one["spec"] as { desiredState: string }).desiredState === "Active");
    return items.length === 2 && active.length === 1;
  });
  const { items: events } = await api.users.list({ apiVersion: "v1", kind: "Event" }, { namespace });
  const ofApp = events.filter((event) => (event["involvedObject"] as KubeObject).kind === "App");
  const warnings = ofApp.filter((event) => event["type"] === "Warning").map((event) => event["message"]);
  assert.deepEqual(warnings, [], "no reconcile failed because a function was upgraded");
});

test("two revisions are active, and a composition chooses by label", async () => {
  await using scene = await startProcessScene({ functionRevisionSelectors: true });
  const { api } = scene;
  const limits = { revisionHistoryLimit: 4, activeRevisionLimit: 2 };
  await scene.publish("v1");
  await scene.install("v1", limits, { channel: "stable" });
  await define(api);
  await eventually("v1 has composed", async () => (await versionOf(api)) === "v1");
  const choose = async (channel: string): Promise<void> => {
    const step = {
      step: "compose",
      functionRef: { name: "fn" },
      functionRevisionSelector: { matchLabels: { channel } },
    };
    const spec = { ...(appComposition["spec"] as object), pipeline: [step] };
    await api.users.apply({ ...appComposition, spec } as KubeObject, { fieldManager: "user", force: true });
  };
  await choose("stable");
  await scene.publish("v2");
  await scene.install("v2", limits, { channel: "alpha" });
  await eventually("both are active", async () => {
    const found = await api.users.get(functionType, { name: "fn" });
    const { activeRevisions = [] } = (found["status"] ?? {}) as { activeRevisions?: string[] };
    return activeRevisions.length === 2 && conditionStatus(found, "Healthy") === "True";
  });
  await poke(api, "look");
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.equal(await versionOf(api), "v1", "the stable revision stays selected");
  await choose("alpha");
  await eventually("v2 composes for the alpha channel", async () => (await versionOf(api)) === "v2");
  await eventually("the App names the revision that ran", async () => {
    const found = await api.users.get(app, { namespace, name: "one" });
    const { crossplane } = (found["status"] ?? {}) as {
      crossplane?: { functionRevisions?: { functionRevision: string }[] };
    };
    const current = (await api.users.get(functionType, { name: "fn" }))["status"] as { currentRevision: string };
    return crossplane?.functionRevisions?.[0]?.functionRevision === current.currentRevision;
  });
});
