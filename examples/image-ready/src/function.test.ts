// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { Capability, type RunFunctionResponse } from "@purlin/function-sdk";
import { expectResponse, invoke, invokeToStable, newRequest, type RequestFixture } from "@purlin/function-sdk/testing";
import { fn } from "./function.ts";

const xr = (spec: object): object => ({
  apiVersion: "platform.example.org/v1alpha1",
  kind: "XApp",
  metadata: { name: "web-hbhcf" },
  spec: { claimRef: { name: "web", namespace: "shop" }, database: "orders", image: "Team/App:v1", ...spec },
});
const database = {
  apiVersion: "data.example.org/v1",
  kind: "Database",
  metadata: { name: "orders" },
  spec: { credentialsSecret: "s" },
};
const image = { apiVersion: "registry.example.org/v1", kind: "Image", metadata: { name: "team-app-v1" }, spec: {} };

async function settle(fixture: RequestFixture, resources: object[] = [database, image]): Promise<RunFunctionResponse> {
  const schemas = { "apps/v1/Deployment": { type: "object" } };
  const { response } = await invokeToStable(fn, newRequest({ xr: xr({}), ...fixture }), { resources, schemas });
  return response;
}

test("the first call asks and decides nothing, and loses nothing of earlier steps", async () => {
  const req = newRequest({ xr: xr({}), desired: { other: { apiVersion: "v1", kind: "Secret" } } });
  const rsp = await invoke(fn, req);
  expectResponse(rsp).requiresResources("database").requiresResources("image").requiresSchema("deployment");
  expectResponse(rsp).noFatal().noCondition("DatabaseReady").notComposed("app").noDesiredLoss(req);
});

test("a database that does not exist is as closed as one that may not be used", async () => {
  expectResponse(await settle({}, [image]))
    .fatal("You are unauthorized to access this resource.")
    .condition("DatabaseReady", "False", { reason: "Unauthorized", claim: true })
    .noCondition("ImageReady");
});

test("an image for other namespaces is as good as none", async () => {
  const theirs = { ...image, spec: { namespaces: ["billing"] } };
  expectResponse(await settle({}, [database, theirs])).condition("ImageReady", "False", { reason: "NotFound" });
});

test("the Deployment runs the image with the database's credentials", async () => {
  expectResponse(await settle({ xr: xr({ replicas: 3 }) })).composed("app", {
    metadata: { namespace: "shop" },
    spec: {
      replicas: 3,
      template: {
        spec: { containers: [{ name: "app", image: "Team/App:v1", envFrom: [{ secretRef: { name: "s" } }] }] },
      },
    },
  });
});

const deployment = (image: string, status: string): object => ({
  spec: { template: { spec: { containers: [{ image }] } } },
  status: { conditions: [{ type: "Available", status }] },
});
const readiness: Record<
  string,
  { readonly observed?: object; readonly status: "True" | "False"; readonly reason: string }
> = {
  NoDeploymentYet: { status: "False", reason: "nothing runs" },
  NotAvailable: { observed: deployment("Team/App:v1", "False"), status: "False", reason: "it starts" },
  Available: { observed: deployment("Team/App:v1", "True"), status: "True", reason: "it serves" },
  OldImage: {
    observed: deployment("team/app:v0", "True"),
    status: "False",
    reason: "what serves is the version before",
  },
  NoStatus: { observed: {}, status: "False", reason: "an object without status is neither ready nor failed" },
};
for (const [name, { observed, status, reason }] of Object.entries(readiness)) {
  test(`AppReady: ${name}`, async () => {
    const rsp = await settle({ observed: observed === undefined ? {} : { app: observed } });
    expectResponse(rsp).condition("AppReady", status, { claim: true });
    assert.equal(rsp.desired?.resources.get("app")?.ready, status === "True" ? 1 : 2, reason);
  });
}

test("no schema: the Deployment goes unchecked, with a warning", async () => {
  const schemas = { "apps/v1/Deployment": null };
  const { response } = await invokeToStable(fn, newRequest({ xr: xr({}) }), { resources: [database, image], schemas });
  expectResponse(response)
    .warning("The Deployment was not checked: this control plane has no schema for it.")
    .composed("app");
});

test("a control plane that lists what it can do, without schemas, is not asked for one", async () => {
  const capabilities = [Capability.CAPABILITY_CAPABILITIES, Capability.CAPABILITY_REQUIRED_RESOURCES];
  const rsp = await settle({ capabilities });
  expectResponse(rsp)
    .warning(/does not support required schemas/)
    .composed("app");
  assert.equal(rsp.requirements?.schemas.size, 0);
});

test("a control plane without capabilities gets requirements of the old form", async () => {
  const rsp = await settle({ capabilities: [] });
  expectResponse(rsp).composed("app");
  assert.deepEqual([...(rsp.requirements?.extraResources.keys() ?? [])], ["database", "image"]);
  assert.equal(rsp.requirements?.resources.size, 0);
});

test("a composite resource that names no image is an error, not a guess", async () => {
  const rsp = await settle({ xr: { apiVersion: "v1", kind: "XApp", spec: { database: "orders" } } });
  expectResponse(rsp).fatal(/spec\.image/);
});
