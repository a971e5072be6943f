// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { ready, startTestClaims, type TestClaims } from "../../test/definition-control.ts";

const specOf = (object: KubeObject): JsonObject => object["spec"] as JsonObject;

suite("claims without server-side apply", () => {
  let claims: TestClaims;
  before(async () => {
    claims = await startTestClaims({ settings: { serverSideApply: false } });
  });
  after(() => claims[Symbol.asyncDispose]());

  test("are bound, and write nothing once they are settled", async () => {
    await claims.create("plain", { image: "a" }, { labels: { tier: "x" } });
    await claims.pass("plain");
    const xr = await claims.xr("plain");
    assert.equal(xr.metadata.labels?.["tier"], "x");
    assert.equal(memberAt(xr, ["spec", "image"]), "a");
    assert.deepEqual(
      xr.metadata.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`),
      ["crossplane Update"],
    );
    await claims.editStatus(xr, { url: "u", conditions: [ready()] });
    await claims.pass("plain");
    await claims.pass("plain");
    claims.control.takeWrites();
    await claims.pass("plain");
    assert.deepEqual(claims.control.takeWrites(), []);
    assert.equal(memberAt(await claims.claim("plain"), ["status", "url"]), "u");
  });

  test("what is removed from the claim stays, and comes back", async () => {
    await claims.create("sticky", { image: "a", net: { port: 1, host: "h" } }, { labels: { a: "1" } });
    await claims.pass("sticky");
    await claims.edit(await claims.claim("sticky"), ["metadata", "labels"], undefined);
    await claims.edit(await claims.claim("sticky"), ["spec", "net"], { host: "new" });
    await claims.pass("sticky");
    const xr = await claims.xr("sticky");
    assert.equal(xr.metadata.labels?.["a"], "1");
    assert.deepEqual(specOf(xr)["net"], { port: 1, host: "new" });
    assert.deepEqual(specOf(await claims.claim("sticky"))["net"], { port: 1, host: "new" });
  });

  test("what the composite resource has fills what the claim leaves open, its own fields apart", async () => {
    await claims.create("filled", { image: "a" });
    await claims.pass("filled");
    const secret = { name: "s", namespace: "shop" };
    await claims.edit(await claims.xr("filled"), ["spec", "writeConnectionSecretToRef"], secret);
    await claims.edit(await claims.xr("filled"), ["spec", "sizes"], ["s"]);
    await claims.edit(await claims.xr("filled"), ["spec", "compositionRef"], { name: "c" });
    await claims.edit(await claims.xr("filled"), ["spec", "compositionRevisionRef"], { name: "c-1" });
    await claims.pass("filled");
    const spec = specOf(await claims.claim("filled"));
    assert.deepEqual(spec["sizes"], ["s"]);
    assert.deepEqual(spec["compositionRef"], { name: "c" });
    assert.deepEqual(spec["compositionRevisionRef"], { name: "c-1" });
    assert.equal(spec["compositionUpdatePolicy"], "Automatic");
    assert.equal(spec["writeConnectionSecretToRef"], undefined);
    assert.equal(spec["claimRef"], undefined);
  });

  test("under Automatic a revision that is gone there is gone here", async () => {
    await claims.create("none", { compositionRevisionRef: { name: "old" } });
    await claims.pass("none");
    await claims.pass("none");
    assert.equal(specOf(await claims.claim("none"))["compositionRevisionRef"], undefined);
  });

  test("status is merged, never removed", async () => {
    await claims.create("status", {});
    await claims.pass("status");
    await claims.editStatus(await claims.xr("status"), { url: "u", hosts: ["a"], conditions: [ready("False")] });
    await claims.pass("status");
    await claims.editStatus(await claims.xr("status"), { hosts: ["b"], conditions: [ready("False")] });
    await claims.pass("status");
    const status = (await claims.claim("status"))["status"] as JsonObject;
    assert.equal(status["url"], "u");
    assert.deepEqual(status["hosts"], ["b"]);
  });
});
