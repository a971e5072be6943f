// SPDX-License-Identifier: Apache-2.0
// Definitions that change while composite resources of their kind exist.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  nopLogger,
  type RunFunctionRequest,
  type RunFunctionResponse,
  type RunningFunction,
  request,
  response,
  start,
} from "@purlin/function-sdk";
import type { KubeClient } from "@purlin/kube-client";
import { eventually } from "@purlin/kube-controller/testing";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import {
  app,
  appComposition,
  appDefinition,
  conditionStatus,
  type EmbeddedApi,
  functionAt,
  startEmbeddedApi,
} from "../test/embedded-api.ts";
import { startControlPlane } from "./start-control-plane.ts";

const namespace = "default";
const configMap = { apiVersion: "v1", kind: "ConfigMap" };
type Scope = "Namespaced" | "Cluster";

/** Composes a ConfigMap that shows the spec of the XR as the function sees it. */
function composeSpec(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req);
  const { crossplane: _, ...spec } = request.getObservedCompositeResource(req).resource.toJSON()["spec"] as JsonObject;
  const map = { ...configMap, metadata: { namespace }, data: { spec: JSON.stringify(spec) } };
  response.setDesiredComposedResource(rsp, "map", map, { ready: true });
  return rsp;
}

function serveFunction(): Promise<RunningFunction> {
  return start(composeSpec, { address: "127.0.0.1:0", insecure: true, metricsAddress: "", log: nopLogger });
}

function startPlane(api: EmbeddedApi): ReturnType<typeof startControlPlane> {
  const settings = { developmentFunctions: true };
  return startControlPlane({ client: api.connect(), functions: { security: "plaintext" }, settings });
}

function definitionWith(spec: JsonObject, scope: Scope = "Namespaced"): KubeObject {
  const openAPIV3Schema = { type: "object", properties: { spec: { type: "object", properties: spec } } };
  const versions = [{ name: "v1", served: true, referenceable: true, schema: { openAPIV3Schema } }];
  return { ...appDefinition, spec: { ...(appDefinition["spec"] as JsonObject), scope, versions } };
}

const appOf = (scope: Scope, spec: JsonObject): KubeObject => ({
  ...app,
  metadata: scope === "Namespaced" ? { name: "one", namespace } : { name: "one" },
  spec,
});

async function apply(users: KubeClient, ...objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) {
    await eventually(`${object.kind} is accepted`, () => users.apply(object, { fieldManager: "test", force: true }));
  }
}

async function seenSpec(users: KubeClient): Promise<unknown> {
  const { items } = await users.list(configMap, { namespace, labelSelector: "crossplane.io/composite=one" });
  const { spec } = (items[0]?.["data"] ?? {}) as { readonly spec?: string };
  return spec === undefined ? undefined : JSON.parse(spec);
}

async function untilSeen(users: KubeClient, expected: JsonObject): Promise<void> {
  let seen: unknown;
  await eventually(`functions see ${JSON.stringify(expected)}`, async () => {
    seen = await seenSpec(users);
    return JSON.stringify(seen) === JSON.stringify(expected);
  }).catch((error: unknown) => {
    assert.deepEqual(seen, expected, String(error));
  });
}

const text = { type: "string" };

test("functions see an XR without a field that its definition no longer has, and with a default it got", async () => {
  await using api = await startEmbeddedApi();
  await using fn = await serveFunction();
  await using plane = startPlane(api);
  await plane.ready;
  const { users } = api;
  const before = definitionWith({ kept: text, removed: text });
  await apply(users, functionAt(fn.address), before, appComposition);
  await apply(users, appOf("Namespaced", { kept: "a", removed: "b" }));
  await untilSeen(users, { kept: "a", removed: "b" });

  await apply(users, definitionWith({ kept: text }));
  await untilSeen(users, { kept: "a" });

  await apply(users, definitionWith({ kept: text, size: { ...text, default: "small" } }));
  await untilSeen(users, { kept: "a", size: "small" });

  await apply(users, definitionWith({ kept: text, size: { ...text, default: "large" } }));
  await untilSeen(users, { kept: "a", size: "large" });
});

const scopeChanges: readonly (readonly [Scope, Scope])[] = [
  ["Namespaced", "Cluster"],
  ["Cluster", "Namespaced"],
];

for (const [first, second] of scopeChanges) {
  test(`XRs are reconciled after their definition was deleted and created again: ${first}, then ${second}`, async () => {
    await using api = await startEmbeddedApi();
    await using fn = await serveFunction();
    await using plane = startPlane(api);
    await plane.ready;
    const { users } = api;
    await apply(users, functionAt(fn.address), appComposition);
    for (const scope of [first, second, first]) {
      await apply(users, definitionWith({ kept: text }, scope), appOf(scope, { kept: scope }));
      await untilSeen(users, { kept: scope });
      const { metadata } = appOf(scope, {});
      const key = { name: "one", namespace: metadata.namespace };
      await eventually("the XR is ready", async () => conditionStatus(await users.get(app, key), "Ready") === "True");
      await users.delete({ ...app, ...key });
      await eventually("the XR is deleted", async () => (await ignoreNotFound(users.get(app, key))) === undefined);
      await removeDefinition(users);
    }
  });
}

async function removeDefinition(users: KubeClient): Promise<void> {
  const name = appDefinition.metadata.name ?? "";
  await users.delete({ ...appDefinition, name });
  await eventually("the definition is deleted", async () => {
    return (await ignoreNotFound(users.get(appDefinition, { name }))) === undefined;
  });
}
