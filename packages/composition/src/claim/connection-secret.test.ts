// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { controllerReference, type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { ready, shop, startTestClaims, type TestClaims } from "../../test/definition-control.ts";
import { kinds } from "../composite-resource/constants.ts";

const type = "connection.crossplane.io/v1alpha1";
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const data = { user: base64("sam"), password: base64("secret") };
const published =
  "Normal PropagateConnectionSecret: Successfully propagated connection details from composite resource";

const advice = "name another one in writeConnectionSecretToRef, or delete it";

suite("connection secrets of claims", () => {
  let claims: TestClaims;
  before(async () => {
    claims = await startTestClaims();
  });
  after(() => claims[Symbol.asyncDispose]());

  const secret = (
    name: string,
    wish: { readonly owner?: KubeObject; readonly data?: JsonObject; readonly type?: string } = {},
  ) =>
    claims.control.client.create({
      ...kinds.secret,
      metadata: { namespace: shop, name, ...(wish.owner && { ownerReferences: [controllerReference(wish.owner)] }) },
      type: wish.type ?? type,
      data: wish.data ?? data,
    });

  /** A claim whose composite resource is Ready and has connection details. */
  async function publishedClaim(
    name: string,
    wish: { readonly foreign?: boolean; readonly absent?: boolean } = {},
  ): Promise<void> {
    await claims.create(name, { writeConnectionSecretToRef: { name: `${name}-details` } });
    await claims.pass(name);
    const ref = { namespace: shop, name: `${name}-source` };
    const xr = await claims.edit(await claims.xr(name), ["spec", "writeConnectionSecretToRef"], ref);
    await claims.editStatus(xr, { conditions: [ready()] });
    if (!wish.absent) await secret(`${name}-source`, wish.foreign ? {} : { owner: xr });
    claims.control.takeWrites();
    claims.control.events.take();
  }

  const details = (name: string) =>
    claims.control.client.get(kinds.secret, { namespace: shop, name: `${name}-details` });

  test("are copied when the composite resource is ready, once", async () => {
    await publishedClaim("copied");
    assert.deepEqual(await claims.pass("copied"), {});
    const copy = await details("copied");
    assert.equal(memberAt(copy ?? {}, ["type"]), type);
    assert.deepEqual(memberAt(copy ?? {}, ["data"]), data);
    const owner = copy?.metadata.ownerReferences?.[0];
    assert.deepEqual([owner?.kind, owner?.name, owner?.controller], ["App", "copied", true]);
    assert.deepEqual(claims.control.events.take(), [published]);
    assert.equal(
      memberAt(await claims.claim("copied"), ["status", "connectionDetails", "lastPublishedTime"]),
      "2026-01-01T00:00:00Z",
    );
    assert.equal((await claims.condition("copied", "Ready"))?.status, "True");

    claims.control.takeWrites();
    claims.now += 60_000;
    await claims.pass("copied");
    assert.deepEqual(claims.control.takeWrites(), [], "69: the same data is not written");
    assert.deepEqual(claims.control.events.take(), []);
  });

  test("are replaced with the composite resource's, keys that are gone too; the time moves", async () => {
    await publishedClaim("replaced");
    await claims.pass("replaced");
    const source = await claims.control.client.get(kinds.secret, { namespace: shop, name: "replaced-source" });
    assert.ok(source);
    await claims.control.client.update({ ...source, data: { user: base64("kim") } });
    claims.now += 60_000;
    await claims.pass("replaced");
    assert.deepEqual(memberAt((await details("replaced")) ?? {}, ["data"]), { user: base64("kim") });
    const time = memberAt(await claims.claim("replaced"), ["status", "connectionDetails", "lastPublishedTime"]);
    assert.equal(time, new Date(claims.now).toISOString().replace(".000", ""));
    await claims.editStatus(await claims.xr("replaced"), { url: "u", conditions: [ready()] });
    await claims.pass("replaced");
    const kept = memberAt(await claims.claim("replaced"), ["status", "connectionDetails", "lastPublishedTime"]);
    assert.equal(kept, time, "66: it survives a new status");
  });

  test("nothing happens while claim or composite resource names no secret", async () => {
    await claims.create("claimless", {});
    await claims.pass("claimless");
    const named = await claims.edit(await claims.xr("claimless"), ["spec", "writeConnectionSecretToRef"], {
      namespace: shop,
      name: "x",
    });
    await claims.editStatus(named, { conditions: [ready()] });
    assert.deepEqual(await claims.pass("claimless"), {});
    await claims.create("refless", { writeConnectionSecretToRef: { name: "refless-details" } });
    await claims.pass("refless");
    await claims.editStatus(await claims.xr("refless"), { conditions: [ready()] });
    assert.deepEqual(await claims.pass("refless"), {});
    assert.equal(await details("refless"), undefined);
    assert.equal((await claims.condition("refless", "Ready"))?.status, "True");
  });

  const step = "cannot propagate connection details from composite resource";

  async function refused(name: string, text: string): Promise<void> {
    const failed = await claims.pass(name);
    assert.ok(failed instanceof Error);
    assert.equal(failed.message, `${step}: ${text}`);
    assert.deepEqual(claims.control.events.take(), [`Warning PropagateConnectionSecret: ${failed.message}`]);
    const synced = await claims.condition(name, "Synced");
    assert.deepEqual([synced?.status, synced?.reason, synced?.message], ["False", "ReconcileError", failed.message]);
    assert.equal((await claims.condition(name, "Ready"))?.reason, "Waiting", "71: Ready keeps its value");
  }

  test("a secret that is missing is reported", async () => {
    await publishedClaim("missing", { absent: true });
    await refused("missing", `cannot get composite resource's connection secret: secrets "missing-source" not found`);
  });

  test("a secret that the composite resource does not control is not copied", async () => {
    await publishedClaim("foreign", { foreign: true });
    await refused(
      "foreign",
      `cannot establish control of existing connection secret: Secret "shop/foreign-source" is not the composite resource's`,
    );
    assert.equal(await details("foreign"), undefined);
  });

  test("an uncontrolled secret of another type is refused", async () => {
    await secret("opaque-details", { type: "Opaque", data: {} });
    await publishedClaim("opaque");
    await refused(
      "opaque",
      `cannot create or update connection secret: refusing to modify uncontrolled secret of type "Opaque": Secret "shop/opaque-details" was not created by this control plane: ${advice}`,
    );
  });

  test("a secret of another owner is refused", async () => {
    await claims.create("other", {});
    await secret("owned-details", { owner: await claims.claim("other"), data: {} });
    await publishedClaim("owned");
    const { uid } = (await claims.claim("owned")).metadata;
    await refused(
      "owned",
      `cannot create or update connection secret: existing secret is not controlled by UID "${uid}": Secret "shop/owned-details" belongs to App "other": ${advice}`,
    );
  });

  test("an uncontrolled secret of the right type is adopted", async () => {
    await secret("adopted-details", { data: { old: base64("x") } });
    await publishedClaim("adopted");
    assert.deepEqual(await claims.pass("adopted"), {});
    const copy = await details("adopted");
    assert.deepEqual(memberAt(copy ?? {}, ["data"]), data);
    assert.equal(copy?.metadata.ownerReferences?.[0]?.name, "adopted");
  });
});
