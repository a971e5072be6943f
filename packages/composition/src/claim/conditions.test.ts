// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionsOf } from "@purlin/kube-objects/object";
import { appKind, ready, startTestClaims, type TestClaims } from "../../test/definition-control.ts";
import { withCompositeConditions } from "./context.ts";

const database = {
  type: "DatabaseReady",
  status: "False",
  reason: "Creating",
  message: "soon",
  lastTransitionTime: "2026-01-01T00:00:05Z",
};

suite("conditions that functions aim at the claim", () => {
  let claims: TestClaims;
  before(async () => {
    claims = await startTestClaims();
  });
  after(() => claims[Symbol.asyncDispose]());

  const setStatus = async (name: string, status: JsonObject): Promise<void> => {
    await claims.editStatus(await claims.xr(name), status);
    await claims.pass(name);
  };

  test("are copied with their time, under the claim's generation, in the order of the list", async () => {
    await claims.create("copied", { image: "a" });
    await claims.pass("copied");
    const image = { ...database, type: "ImageReady", status: "True", reason: "Available", message: "" };
    await setStatus("copied", { claimConditionTypes: ["ImageReady", "DatabaseReady"], conditions: [database, image] });
    const { generation } = (await claims.claim("copied")).metadata;
    const types = conditionsOf(await claims.claim("copied")).map(({ type }) => type);
    assert.deepEqual(types, ["Synced", "Ready", "ImageReady", "DatabaseReady"]);
    assert.deepEqual(await claims.condition("copied", "DatabaseReady"), {
      ...database,
      observedGeneration: generation,
    });
  });

  test("those of listed types only, whatever the function aimed at later", async () => {
    await claims.create("listed", {});
    await claims.pass("listed");
    const secret = { ...database, type: "Internal" };
    await setStatus("listed", { claimConditionTypes: ["DatabaseReady"], conditions: [database, secret] });
    assert.equal(await claims.condition("listed", "Internal"), undefined);
    const changed = { ...database, status: "True", reason: "Available", lastTransitionTime: "2026-01-01T00:00:09Z" };
    await setStatus("listed", { claimConditionTypes: ["DatabaseReady"], conditions: [changed, secret] });
    assert.equal((await claims.condition("listed", "DatabaseReady"))?.lastTransitionTime, "2026-01-01T00:00:09Z");
  });

  test("a listed type without a condition is skipped, and the status stays writable", async () => {
    await claims.create("incomplete", {});
    await claims.pass("incomplete");
    await setStatus("incomplete", {
      claimConditionTypes: ["Absent", "DatabaseReady"],
      conditions: [database, ready()],
    });
    assert.equal(await claims.condition("incomplete", "Absent"), undefined);
    assert.equal((await claims.condition("incomplete", "DatabaseReady"))?.reason, "Creating");
    assert.equal((await claims.condition("incomplete", "Ready"))?.reason, "Available");
  });

  test("reserved types stay the claim's own, even when listed", () => {
    const synced = { ...database, type: "Synced" };
    const xr = {
      ...appKind.compositeType,
      metadata: {},
      status: { claimConditionTypes: ["Synced"], conditions: [synced] },
    };
    const claim = { ...appKind.claimType, metadata: {} };
    assert.equal(withCompositeConditions(claim, xr), claim);
  });

  test("unchanged conditions keep their times and nothing is written", async () => {
    await claims.create("stable", {});
    await claims.pass("stable");
    await setStatus("stable", { claimConditionTypes: ["DatabaseReady"], conditions: [database, ready()] });
    const before = await claims.claim("stable");
    claims.now += 3_600_000;
    for (let i = 0; i < 5; i++) await claims.pass("stable");
    assert.equal((await claims.claim("stable")).metadata.resourceVersion, before.metadata.resourceVersion);
  });

  test("a new generation moves the time of the claim's own conditions, and not of those it copies", async () => {
    await claims.create("edited", { image: "a" });
    await claims.pass("edited");
    await setStatus("edited", { claimConditionTypes: ["DatabaseReady"], conditions: [database] });
    claims.now += 60_000;
    await claims.edit(await claims.claim("edited"), ["spec", "image"], "b");
    await claims.pass("edited");
    const { generation } = (await claims.claim("edited")).metadata;
    const [synced, copied] = [
      await claims.condition("edited", "Synced"),
      await claims.condition("edited", "DatabaseReady"),
    ];
    assert.deepEqual([synced?.observedGeneration, copied?.observedGeneration], [generation, generation]);
    assert.equal(synced?.lastTransitionTime, new Date(claims.now).toISOString().replace(".000", ""));
    assert.equal(copied?.lastTransitionTime, database.lastTransitionTime);
  });
});

test("an author's own status.claimConditions is a field like any other, and reaches the claim", async () => {
  const { sharedStatus } = await import("./context.ts");
  const status = { claimConditions: "mine", lastHandledReconcileAt: 7, crossplane: ["x"], url: "u", conditions: [] };
  const xr = { ...appKind.compositeType, metadata: {}, status };
  const none = { claimConditions: false, lastHandledReconcileAt: false, functionRevisions: false };
  const { conditions: _own, ...shared } = status;
  assert.deepEqual(sharedStatus(xr, none), shared);
  const ours = { claimConditions: true, lastHandledReconcileAt: true, functionRevisions: true };
  assert.deepEqual(sharedStatus(xr, ours), { url: "u" });
});

test("a composite resource whose status is not an object is reported", async () => {
  const { sharedStatus } = await import("./context.ts");
  const added = { claimConditions: true, lastHandledReconcileAt: true, functionRevisions: true };
  const xr = { ...appKind.compositeType, metadata: {}, status: "text" };
  assert.throws(() => sharedStatus(xr, added), { message: "composite resource status was not an object" });
  assert.equal(sharedStatus({ ...appKind.compositeType, metadata: {} }, added), undefined);
});
