// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { mastersGroup, startApiServer } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import { createDirectTransport, createKubeClient, type KubeClient } from "@purlin/kube-client";
import { installCrds } from "@purlin/kube-controller";
import { undescribedFields } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { rolloutCrds } from "./function-rollout.ts";

const type = { apiVersion: "pkg.crossplane.io/v1alpha1", kind: "FunctionRollout" };
const template = { ...type, kind: "FunctionRolloutTemplate" };
const closing = new AsyncDisposableStack();
let client: KubeClient;

before(async () => {
  const directory = mkdtempSync(join(tmpdir(), "rollout-crds-"));
  closing.defer(() => rmSync(directory, { recursive: true, force: true }));
  const server = await startApiServer({ kinds: builtinKinds, directory });
  closing.defer(() => server.close());
  client = createKubeClient(createDirectTransport(server.handle, { name: "admin", groups: [mastersGroup] }));
  closing.defer(() => client.close());
  await installCrds(client, rolloutCrds());
});

after(() => closing.disposeAsync());

test("the steps of a rollout cannot change after it has started", async () => {
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

const refusedPlans: Readonly<Record<string, { plan: JsonObject; text: RegExp }>> = {
  "a DesiredDiff gate without a shadow step": {
    plan: { steps: [{ percent: 100 }], healthGates: [{ type: "DesiredDiff" }] },
    text: /a DesiredDiff gate needs a step with shadow: true/,
  },
  "percentages that shrink": {
    plan: { steps: [{ percent: 50 }, { percent: 10 }, { percent: 100 }] },
    text: /percentages must not shrink/,
  },
  "steps that never reach all": { plan: { steps: [{ percent: 50 }] }, text: /a step must reach percent: 100/ },
  "two steps of one name": {
    plan: {
      steps: [
        { name: "a", percent: 5 },
        { name: "a", percent: 100 },
      ],
    },
    text: /names of steps must be unique/,
  },
  "a gate without its limit": {
    plan: { steps: [{ percent: 100 }], healthGates: [{ type: "FunctionErrors" }] },
    text: /the gate needs maxRatio/,
  },
  "a deadline that steps and bake time cannot meet": {
    plan: {
      steps: [{ percent: 10, minDuration: "1h" }, { percent: 50, minDuration: "45m" }, { percent: 100 }],
      bakeTime: "15m",
      progressDeadline: "2h",
    },
    text: /progressDeadline can never be met/,
  },
  "a query whose result cannot be in its range": {
    plan: {
      steps: [{ percent: 100 }],
      healthGates: [{ type: "Prometheus", url: "http://prometheus", query: "up", min: "10", max: "9.5" }],
    },
    text: /min must not be greater than max/,
  },
  "a candidate that must be faster than it can be": {
    plan: { steps: [{ percent: 100 }], healthGates: [{ type: "CallDuration", maxIncrease: "-1" }] },
    text: /maxIncrease must not be negative/,
  },
  "a deadline of zero": {
    plan: { steps: [{ percent: 100 }], progressDeadline: "0s" },
    text: /must be longer than zero/,
  },
};

for (const [title, { plan, text }] of Object.entries(refusedPlans)) {
  test(`a rollout and a template are refused alike: ${title}`, async () => {
    const spec = { functionRef: { name: "f" }, ...plan };
    await assert.rejects(client.create({ ...type, metadata: { generateName: "r-" }, spec }), text);
    await assert.rejects(client.create({ ...template, metadata: { generateName: "t-" }, spec: plan }), text);
  });
}

test("a deadline that is just long enough is accepted", async () => {
  const steps = [{ percent: 10, minDuration: "1h" }, { percent: 100 }];
  const spec = { steps, bakeTime: "59m", progressDeadline: "2h" };
  await client.create({ ...template, metadata: { name: "just-enough" }, spec });
});

test("a template with a shadow step may judge differences", async () => {
  const steps = [{ shadow: true }, { percent: 100 }];
  const spec = { steps, healthGates: [{ type: "DesiredDiff", maxDeleted: 0 }] };
  const created = await client.create({ ...template, metadata: { name: "careful" }, spec });
  assert.equal(created.metadata.name, "careful");
});

for (const crd of rolloutCrds()) {
  test(`all fields of ${crd.metadata.name ?? ""} are described`, () => {
    assert.deepEqual(undescribedFields(crd), []);
  });
}
