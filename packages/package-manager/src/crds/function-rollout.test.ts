// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { mastersGroup, startApiServer } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import { createDirectTransport, createKubeClient } from "@purlin/kube-client";
import { installCrds } from "@purlin/kube-controller";
import { undescribedFields } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { rolloutCrds } from "./function-rollout.ts";

test("the steps of a rollout cannot change after it has started", async () => {
  const directory = mkdtempSync(join(tmpdir(), "rollout-crds-"));
  await using closing = new AsyncDisposableStack();
  closing.defer(() => rmSync(directory, { recursive: true, force: true }));
  const server = await startApiServer({ kinds: builtinKinds, directory });
  closing.defer(() => server.close());
  const client = createKubeClient(createDirectTransport(server.handle, { name: "admin", groups: [mastersGroup] }));
  closing.defer(() => client.close());
  await installCrds(client, rolloutCrds());
  const type = { apiVersion: "pkg.crossplane.io/v1alpha1", kind: "FunctionRollout" };
  const steps = [{ percent: 10, approval: "Manual" }, { percent: 100 }];
  await client.create({ ...type, metadata: { name: "r" }, spec: { functionRef: { name: "f" }, steps } });
  const patch = (spec: JsonObject) => client.patch({ ...type, name: "r" }, { spec }, { type: "merge" });
  // Until then its author may correct it.
  await patch({ compositionSelector: { matchLabels: { team: "a" } }, steps: [{ percent: 5 }, { percent: 100 }] });
  const found = await client.get(type, { name: "r" });
  const status = { phase: "Progressing", startedAt: "2026-01-01T00:00:00Z" };
  await client.update({ ...found, status }, { subresource: "status" });
  await assert.rejects(patch({ steps: [{ percent: 100 }] }), /spec\.steps cannot change after the rollout has started/);
  await assert.rejects(
    patch({ compositionSelector: null }),
    /spec\.compositionSelector cannot change after the rollout has started/,
  );
  const changed = await patch({ paused: true, healthGates: [{ type: "RuntimeHealthy" }] });
  assert.equal((changed["spec"] as JsonObject)["paused"], true);
});

for (const crd of rolloutCrds()) {
  test(`all fields of ${crd.metadata.name ?? ""} are described`, () => {
    assert.deepEqual(undescribedFields(crd), []);
  });
}
