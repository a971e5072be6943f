// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { expectResponse, invoke, invokeToStable, newRequest } from "@purlin/function-sdk/testing";
import { fn as app } from "./app.ts";
import { fn as database } from "./database.ts";

test("the configuration of a database is in the namespace of its spec", async () => {
  const xr = { metadata: { name: "db" }, spec: { namespace: "team", megabytes: 512 } };
  expectResponse(await invoke(database, newRequest({ xr }))).composed("configuration", {
    kind: "ConfigMap",
    metadata: { namespace: "team" },
    data: { host: "db.databases.example.org", megabytes: "512" },
  });
});

const catalog = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "image-catalog", namespace: "default" },
  data: { "shop-v1": "registry.example.org/shop:v1" },
};

function xr(image: string): object {
  return { metadata: { name: "shop-x7k2p" }, spec: { image, claimRef: { name: "shop", namespace: "team" } } };
}

test("an app requires the catalog and composes nothing before it has it", async () => {
  expectResponse(await invoke(app, newRequest({ xr: xr("shop-v1") })))
    .requiresResources("catalog")
    .notComposed("settings")
    .noFatal();
});

test("an app is made of a database, its settings and a login, in the namespace of its claim", async () => {
  const { response, calls } = await invokeToStable(app, newRequest({ xr: xr("shop-v1") }), { resources: [catalog] });
  assert.equal(calls, 2);
  expectResponse(response)
    .composed("database", { kind: "XDatabase", spec: { namespace: "team", megabytes: 512 } })
    .composed("settings", {
      metadata: { name: "shop-settings", namespace: "team" },
      data: { database: "not known yet" },
    })
    .composed("login", { kind: "Secret" })
    .compositeStatus({ url: "https://shop.team.example.org" })
    .condition("ImageFound", "True", { claim: true })
    .condition("DatabaseReady", "False", { claim: true });
});

test("an existing password is kept, and the host of the database is in the settings", async () => {
  const observed = {
    database: {
      apiVersion: "claims.example.org/v1",
      kind: "XDatabase",
      status: { host: "db.example.org", conditions: [{ type: "Ready", status: "True" }] },
    },
    login: { apiVersion: "v1", kind: "Secret", data: { password: "b2xk" } },
  };
  const request = newRequest({ xr: xr("shop-v1"), observed });
  expectResponse((await invokeToStable(app, request, { resources: [catalog] })).response)
    .composed("login", { data: { user: "c2hvcA==", password: "b2xk" } })
    .composed("settings", { data: { database: "db.example.org", image: "registry.example.org/shop:v1" } })
    .condition("DatabaseReady", "True", { claim: true });
});

test("an unknown image is a fatal result that lists the images of the catalog", async () => {
  for (const [resources, known] of [
    [[catalog], "shop-v1"],
    [[], "none"],
  ] as const) {
    const { response } = await invokeToStable(app, newRequest({ xr: xr("shop-v9") }), { resources });
    expectResponse(response)
      .fatal(`There is no image "shop-v9". The catalog has: ${known}.`)
      .condition("ImageFound", "False", { reason: "NotFound", claim: true });
  }
});
