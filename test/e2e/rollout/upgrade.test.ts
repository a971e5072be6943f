// SPDX-License-Identifier: Apache-2.0
// With the flag off a function has one revision, and an upgrade fails no reconcile: the new revision serves before the old one stops.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { conditionOf, eventually } from "../harness/plane.ts";
import { type BucketScene, functionName, startBucketScene } from "./bucket-scene.ts";
import { type ConstantLoad, startLoad } from "./constant-load.ts";
import { functionType, revisionText } from "./kinds.ts";

const buckets = ["one", "two", "three"].map((name) => ({ namespace: "team-a", name }));

const closing = new AsyncDisposableStack();
let scene: BucketScene;
let load: ConstantLoad;

before(async () => {
  scene = closing.use(await startBucketScene({ functionRevisionSelectors: false }));
  await scene.publish("v1");
  await scene.install({ version: "v1", channel: "any", spec: { revisionHistoryLimit: 9, activeRevisionLimit: 3 } });
  await scene.serving("v1");
  await scene.compose("any");
  for (const key of buckets) await scene.addBucket(key, "any");
  await made("v1");
  load = closing.use(await startLoad(scene, buckets));
});
after(() => closing.disposeAsync());

/** Waits until every bucket was made by a version. */
async function made(version: string): Promise<void> {
  for (const key of buckets) {
    await eventually(`${key.name} is made by ${version}`, async () => {
      const { version: seen } = (await scene.composed(key))["data"] as { version?: string };
      return seen === version;
    });
  }
}

/** The versions that are active; under the flag's off position never more than one, in the end. */
async function active(): Promise<readonly string[]> {
  const all = await scene.revisions();
  const active = all.filter((one) => revisionText(one).spec.desiredState === "Active");
  return active.map((one) => revisionText(one).spec.image.split(":").at(-1) ?? "");
}

/** The last write of a process is known; of a Deployment only that it does not exist. */
const whyBroken = (): string =>
  scene.server === "embedded" ? "this build cannot start" : "does not have minimum availability";

const spec = { revisionHistoryLimit: 9, activeRevisionLimit: 3 };

suite("upgrades with the flag off, under constant load", () => {
  test("upgrades, one after the other", async () => {
    for (const version of ["v2", "v3", "v4"]) {
      await scene.publish(version);
      await scene.install({ version, channel: "any", spec });
      await made(version);
      await eventually("the old one is inactive", async () => (await active()).join() === version);
    }
    await load.more(2);
    const endpoint = revisionText(await scene.serving("v4")).status?.endpoint ?? "";
    const name = { function: functionName, name: (await scene.serving("v4")).metadata.name ?? "" };
    assert.ok(scene.machine.isEndpointOf(endpoint, name, false), endpoint);
    const labels = (await scene.revisions()).map(({ metadata }) => metadata.labels?.["release-channel"]);
    assert.deepEqual(new Set(labels), new Set([undefined]), "labels are not copied");
  });

  test("upgrades faster than functions start: the newest wins", async () => {
    for (const version of ["v5", "v6", "v7"]) {
      await scene.publish(version);
      await scene.install({ version, channel: "any", spec });
      await scene.revisionOf(version);
    }
    await made("v7");
    await eventually("the others are inactive", async () => (await active()).join() === "v7");
    await load.more(2);
  });

  test("a build that cannot start: the old one keeps serving, and the condition says why", async () => {
    await scene.publish("broken", { isBroken: true });
    await scene.install({ version: "broken", channel: "any", spec });
    const unwell = await scene.until(
      "the Function says what is wrong",
      functionType,
      { name: functionName },
      (one) => conditionOf(one, "Healthy")?.message?.includes(whyBroken()) === true,
    );
    assert.equal(conditionOf(unwell, "Healthy")?.status, "False");
    await load.more(2);
    assert.deepEqual(await active(), ["v7", "broken"]);
    await made("v7");
  });

  test("the build that mends it takes over", async () => {
    await scene.publish("mended");
    await scene.install({ version: "mended", channel: "any", spec });
    await made("mended");
    await eventually("it is the only one", async () => (await active()).join() === "mended");
    await eventually("nothing else runs", async () => scene.machine.running().length === 1);
  });

  test("no composite resource has failed", async () => {
    await load.more(2);
    const looks = load.looks;
    assert.deepEqual(await load.stop(), []);
    assert.ok(looks >= buckets.length * 8, `${looks} looks`);
    await scene.renders(...buckets);
    for (const key of buckets) {
      assert.deepEqual(await scene.madeBy(key).then(({ function: name }) => name), "", "no record with the flag off");
    }
  });
});
