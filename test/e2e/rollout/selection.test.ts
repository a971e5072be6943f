// SPDX-License-Identifier: Apache-2.0
// Which of several active revisions a step uses, what that means for the rest of the system, and where it is reported.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import { conditionOf, eventually } from "../harness/plane.ts";
import { alphaChoice, type BucketScene, functionName, stableChoice, startBucketScene } from "./bucket-scene.ts";
import { compositionRevisionType, compositionType, functionType, lockType, revisionText } from "./kinds.ts";

const spec = { revisionHistoryLimit: 9, activeRevisionLimit: 2 };
const free = { namespace: "team-a", name: "free" };
const pinned = { namespace: "team-a", name: "pinned" };
const selecting = { namespace: "team-b", name: "selecting" };
const configurationType = { apiVersion: "pkg.crossplane.io/v1", kind: "Configuration" };

let scene: BucketScene;

/** The version that composed a bucket last, after another look at it. */
async function versionFor(key: { namespace: string; name: string }): Promise<string> {
  await scene.look(key);
  // The first reconcile of a bucket may come before its revision is in the cache; it is reconciled again then.
  await scene.well(key);
  const { function: ran } = await scene.madeBy(key);
  const { version = "" } = (await scene.composed(key))["data"] as { version?: string };
  const revision = (await scene.revisions()).find(({ metadata }) => metadata.name === ran);
  assert.equal(revision && revisionText(revision).spec.image, scene.packageOf(version), "it names the one that ran");
  await scene.renders(key);
  return version;
}

async function upgrade(version: string, channel: string): Promise<KubeObject> {
  await scene.publish(version);
  await scene.install({ version, channel, spec });
  return scene.serving(version);
}

before(async () => {
  scene = await startBucketScene({ functionRevisionSelectors: true });
  const first = await upgrade("v1.0.0", "stable");
  await upgrade("v1.1.0", "stable");
  await scene.compose("free");
  await scene.compose("pinned", { functionRevisionRef: { name: first.metadata.name } });
  await scene.compose("selecting", stableChoice);
  for (const key of [free, pinned, selecting]) await scene.addBucket(key, key.name);
});
after(() => scene[Symbol.asyncDispose]());

suite("which revision a step gets", () => {
  test("of two that carry the labels, the higher; a named one is that one", async () => {
    assert.equal(await versionFor(selecting), "v1.1.0");
    assert.equal(await versionFor(free), "v1.1.0");
    assert.equal(await versionFor(pinned), "v1.0.0");
  });

  test("two buckets in turn, each by its own, however often", async () => {
    for (let turn = 0; turn < 5; turn++) {
      assert.deepEqual([await versionFor(pinned), await versionFor(free)], ["v1.0.0", "v1.1.0"], `turn ${turn}`);
    }
  });

  test("a newer one that has not answered yet is passed over", async () => {
    await scene.publish("v1.2.0", { isBroken: true });
    await scene.install({ version: "v1.2.0", channel: "stable", spec });
    await scene.until("its Function is not healthy", functionType, { name: functionName }, (one) => {
      return conditionOf(one, "Healthy")?.status === "False";
    });
    assert.equal(revisionText(await scene.revisionOf("v1.2.0")).spec.desiredState, "Active");
    assert.deepEqual([await versionFor(selecting), await versionFor(free)], ["v1.1.0", "v1.1.0"]);
    assert.equal(await versionFor(pinned), "v1.0.0", "and it replaces no serving revision");
    for (const key of [free, pinned, selecting]) assert.deepEqual(await scene.warnings(key), []);
  });

  test("the one that mends it is taken as soon as it answers; one that serves is kept for each that does not", async () => {
    await upgrade("v1.3.0", "stable");
    let active = "";
    await eventually(
      "the lowest is inactive",
      async () => {
        const all = (await scene.revisions()).filter((one) => revisionText(one).spec.desiredState === "Active");
        active = all.map((one) => revisionText(one).spec.image.split(":").at(-1)).join();
        return active === "v1.1.0,v1.2.0,v1.3.0";
      },
      () => active,
    );
    for (const key of [selecting, free]) {
      await eventually(`${key.name} is made by it`, async () => (await versionFor(key)) === "v1.3.0");
    }
  });
});

suite("the rest of the system", () => {
  test("other packages resolve what they need, with two active revisions of it", async () => {
    const mended = await upgrade("v1.4.0", "alpha");
    const source = scene.packageOf("any").replace(/:any$/, "");
    await scene.registry.publishConfiguration({ name: "acme/platform:v1.0.0", dependsOn: { [source]: ">=v1.0.0" } });
    const reference = `${scene.registry.address}/acme/platform:v1.0.0`;
    await scene.apply({ ...configurationType, metadata: { name: "platform" }, spec: { package: reference } });
    await scene.until("it is healthy", configurationType, { name: "platform" }, (one) => {
      return conditionOf(one, "Healthy")?.status === "True";
    });
    const lock = await scene.get(lockType, { name: "lock" });
    const packages = lock["packages"] as unknown as { name: string; version: string }[];
    const own = packages.filter(({ name }) => name.startsWith(`${functionName}-`));
    assert.deepEqual(
      own.map(({ name, version }) => [name, version]),
      [[mended.metadata.name, "v1.4.0"]],
    );
  });

  test("a revision that cannot compose spoils only the compositions that get it", async () => {
    await scene.publish("v1.5.0", { packageSpec: "{capabilities: [operation]}" });
    await scene.install({ version: "v1.5.0", channel: "beta", spec });
    await scene.serving("v1.5.0");
    const betaChoice = { functionRevisionSelector: { matchLabels: { "release-channel": "beta" } } };
    const spoilt = await scene.compose("beta", betaChoice);
    const sound = await scene.compose("alpha", alphaChoice);
    const found = await scene.until("it is judged", compositionRevisionType, { name: spoilt }, (one) => {
      return conditionOf(one, "ValidPipeline")?.status === "False";
    });
    assert.equal(conditionOf(found, "ValidPipeline")?.reason, "MissingCapabilities");
    await scene.until("the other is valid", compositionRevisionType, { name: sound }, (one) => {
      return conditionOf(one, "ValidPipeline")?.status === "True";
    });
    const key = { namespace: "team-b", name: "alpha" };
    await scene.addBucket(key, "alpha");
    assert.equal(await versionFor(key), "v1.4.0");
  });
});

suite("where the revision that ran is reported", () => {
  const storeType = { apiVersion: "example.org/v1", kind: "XStore" };
  const claimType = { apiVersion: "example.org/v1", kind: "Store" };
  const definition: KubeObject = {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "CompositeResourceDefinition",
    metadata: { name: "xstores.example.org" },
    spec: {
      group: "example.org",
      names: { kind: "XStore", plural: "xstores" },
      claimNames: { kind: "Store", plural: "stores" },
      versions: [{ name: "v1", served: true, referenceable: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  };

  test("a composite resource of a claim, and not the claim", async () => {
    const pipeline = [{ step: "make", functionRef: { name: functionName }, ...alphaChoice }];
    const composition = {
      ...compositionType,
      metadata: { name: "stores" },
      spec: { compositeTypeRef: storeType, mode: "Pipeline", pipeline },
    } as unknown as KubeObject;
    await scene.apply(definition, composition);
    const key = { namespace: "team-a", name: "shop" };
    await scene.apply({ ...claimType, metadata: key, spec: { compositionRef: { name: "stores" } } });
    const claim = await scene.until(
      "it is ready",
      claimType,
      key,
      (one) => conditionOf(one, "Ready")?.status === "True",
    );
    const { resourceRef } = claim["spec"] as unknown as { resourceRef: { name: string } };
    const composite = await scene.get(storeType, { name: resourceRef.name });
    const alpha = (await scene.serving("v1.4.0")).metadata.name;
    assert.deepEqual((composite["status"] as { crossplane?: object }).crossplane, {
      functionRevisions: [{ step: "make", functionRevision: alpha }],
    });
    assert.equal((claim["status"] as { crossplane?: object }).crossplane, undefined);
  });
});
