// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { inTurns, type Work } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import { storeOf, testRequest } from "../../test/test-server.ts";
import { applyUpdate, type UpdatePlan } from "./apply-update.ts";
import { negotiateForm } from "./object-response.ts";
import type { RestRequest } from "./rest-context.ts";

/** Work that ends when the event loop has done something else; it fails when that does not happen. */
function* untilNextTurn(): Work<never> {
  let isLater = false;
  setImmediate(() => {
    isLater = true;
  });
  for (let parts = 0; parts < 5_000_000; parts++) {
    if (isLater) throw new Error("compared in parts");
    yield;
  }
  throw new Error("compared at once");
}

test("the rights that a small role grants are compared in parts", async () => {
  await assert.rejects(inTurns(untilNextTurn()), /compared in parts/);
  const key = "/rbac.authorization.k8s.io/clusterroles/a";
  await using store = await storeOf({ [key]: { metadata: { name: "a" } } });
  const group = "rbac.authorization.k8s.io";
  const request = testRequest(`/apis/${group}/v1/clusterroles/a`);
  const rest = {
    ...{ store, request, notes: [], requiringNoEscalation: untilNextTurn },
    type: { group, resource: "clusterroles", storage: { group, resource: "clusterroles" }, rules: {} },
    target: { namespace: "", name: "a" },
    strategy: { storage: { toServed: (object: JsonObject) => object } },
  } as unknown as RestRequest;
  const plan = {
    *edit(object: JsonObject): Work<JsonObject> {
      yield;
      return object;
    },
    ...{ endpoint: "", options: { dryRun: false }, admission: undefined },
  } as unknown as UpdatePlan;
  await assert.rejects(applyUpdate(rest, plan, negotiateForm(rest.request)), /compared in parts/);
});
