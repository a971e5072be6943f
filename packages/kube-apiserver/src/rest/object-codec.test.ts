// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestServer } from "@purlin/kube-builtin/testing";
import { definitionsPath, widgetCrd } from "../testing/widget-crd.ts";

const widgets = "/apis/example.org/v1/namespaces/default/widgets";

test("an object that is too large is not stored, also when it comes without a body", async () => {
  await using server = await startTestServer();
  await server.post(definitionsPath, widgetCrd);
  await server.until(widgets, ({ code }) => code === 200);
  const widget = (name: string, megabytes: number) => ({
    apiVersion: "example.org/v1",
    kind: "Widget",
    metadata: { name },
    spec: { replicas: 1, color: "x".repeat(megabytes * 2 ** 20) },
  });
  const { code } = await server.send(widgets, { method: "POST", body: widget("large", 5) });
  assert.equal(code, 413);
  assert.equal((await server.send(`${widgets}/large`)).code, 404);
  await server.post(widgets, widget("small", 1));
});
