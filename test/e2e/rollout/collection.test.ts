// SPDX-License-Identifier: Apache-2.0
// Old revisions are collected, but never one that is active or that a composition names.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { eventually } from "../harness/plane.ts";
import { stays } from "../harness/stays.ts";
import { type BucketScene, functionName, startBucketScene } from "./bucket-scene.ts";
import { functionType, revisionText } from "./kinds.ts";

const blocked = "Warning GarbageCollect: no old revision can be collected: each is active or named by a composition";

let scene: BucketScene;
const digests = new Map<string, string>();
const names = new Map<string, string>();

/** Publishes and installs a version, and waits until it is the one that serves. */
async function upgrade(version: string, activeRevisionLimit = 1): Promise<void> {
  digests.set(version, await scene.publish(version));
  await scene.install({ version, channel: version, spec: { revisionHistoryLimit: 2, activeRevisionLimit } });
  names.set(version, (await scene.serving(version)).metadata.name ?? "");
}

/** The versions that have a revision, lowest number first. */
async function kept(): Promise<readonly string[]> {
  return (await scene.revisions()).map((one) => revisionText(one).spec.image.split(":").at(-1) ?? "");
}

async function keeps(...versions: readonly string[]): Promise<void> {
  let seen: readonly string[] = [];
  await eventually(
    `kept: ${versions.join(", ")}`,
    async () => {
      seen = await kept();
      return seen.join() === versions.join();
    },
    () => seen.join(", "),
  );
  await stays("the revisions that are kept", kept, versions);
}

const events = async (): Promise<readonly string[]> =>
  scene.events(await scene.get(functionType, { name: functionName }));

before(async () => {
  scene = await startBucketScene({ functionRevisionSelectors: true });
});
after(() => scene[Symbol.asyncDispose]());

suite("collection of old revisions", () => {
  test("the lowest goes when there are more than the history allows", async () => {
    for (const version of ["v1", "v2", "v3", "v4"]) await upgrade(version);
    await keeps("v2", "v3", "v4");
  });

  test("one that a composition names stays, and the next one goes", async () => {
    await scene.compose("by-name", { functionRevisionRef: { name: names.get("v2") } });
    await upgrade("v5");
    await keeps("v2", "v4", "v5");
  });

  test("one that a composition names by its image and digest stays as well", async () => {
    const source = scene.packageOf("any").replace(/:any$/, "");
    await scene.compose("by-digest", { function: `${source}@${digests.get("v4")}` });
    await upgrade("v6");
    await keeps("v2", "v4", "v6");
  });

  test("when each revision is referenced or active none is deleted, and an event says so", async () => {
    await upgrade("v7", 2);
    await keeps("v2", "v4", "v6", "v7");
    await eventually("the event is written", async () => (await events()).includes(blocked));
    await stays("the revisions that are kept", kept, ["v2", "v4", "v6", "v7"]);
  });

  test("an active one is not taken, however low its number", async () => {
    // The history allows one old revision fewer than exist, and only active ones are not referenced.
    await upgrade("v8", 2);
    await keeps("v2", "v4", "v7", "v8");
    const states = (await scene.revisions()).map((one) => revisionText(one).spec.desiredState);
    assert.deepEqual(states, ["Inactive", "Inactive", "Active", "Active"]);
  });

  test("what was named can be used again: it is activated and runs", async () => {
    await scene.install({ version: "v2", channel: "v2", spec: { revisionHistoryLimit: 2, activeRevisionLimit: 2 } });
    await scene.serving("v2");
    const key = { namespace: "team-a", name: "by-name" };
    await scene.addBucket(key, "by-name");
    assert.equal(((await scene.composed(key))["data"] as { version?: string }).version, "v2");
    await scene.look(key);
    assert.equal((await scene.madeBy(key)).function, names.get("v2"));
    await scene.renders(key);
  });

  test("a history of nothing keeps everything", async () => {
    const upgradeWithout = async (version: string): Promise<void> => {
      await scene.publish(version);
      await scene.install({ version, spec: { revisionHistoryLimit: 0, activeRevisionLimit: 1 } });
      await scene.serving(version);
    };
    await upgradeWithout("v9");
    const before = await kept();
    for (const version of ["v10", "v11", "v12"]) await upgradeWithout(version);
    assert.deepEqual(await kept(), [...before, "v10", "v11", "v12"]);
  });
});
