// SPDX-License-Identifier: Apache-2.0
// Which revisions are active: the limit raised and lowered, a moving tag, edits that make no revision, and Manual, where users decide.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { isInvalid } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { conditionOf, eventually } from "../harness/plane.ts";
import { type BucketScene, functionName, startBucketScene } from "./bucket-scene.ts";
import { functionRevisionType, functionStatus, functionType, isServing, revisionText } from "./kinds.ts";

let scene: BucketScene;

before(async () => {
  scene = await startBucketScene({ functionRevisionSelectors: true });
});
after(() => scene[Symbol.asyncDispose]());

const states = async (name = functionName): Promise<readonly string[]> =>
  (await scene.revisions(name)).map((one) => {
    const { revision, desiredState } = revisionText(one).spec;
    return `${revision} ${desiredState}`;
  });

/** Waits until the revisions have these states, and exactly the active ones run and are listed in the status. */
async function becomes(wanted: readonly string[], name = functionName): Promise<void> {
  let seen: unknown;
  await eventually(
    `the revisions are ${wanted.join(", ")}`,
    async () => {
      const revisions = await scene.revisions(name);
      const active = revisions.filter((one) => revisionText(one).spec.desiredState === "Active");
      const names = active.map(({ metadata }) => metadata.name ?? "");
      const owner = await scene.get(functionType, { name });
      const listed = functionStatus(owner).activeRevisions ?? [];
      const ran = scene.machine.running().filter((one) => one.startsWith(`${name}-`));
      seen = { states: await states(name), listed, ran, endpoints: revisions.map((one) => revisionText(one).status) };
      const isSo = (await states(name)).join() === wanted.join();
      const isListed = listed.join() === names.toReversed().join();
      return isSo && isListed && ran.join() === names.toSorted().join() && revisions.every(isRight);
    },
    () => JSON.stringify(seen),
  );
}

/** An active revision answers, an inactive one has no endpoint. */
function isRight(revision: KubeObject): boolean {
  const { spec, status } = revisionText(revision);
  return spec.desiredState === "Active" ? isServing(revision) : status?.endpoint === undefined;
}

suite("activation under Automatic", () => {
  const limit = (activeRevisionLimit: number) => ({ revisionHistoryLimit: 5, activeRevisionLimit });

  before(async () => {
    for (const version of ["v1", "v2", "v3"]) {
      await scene.publish(version);
      await scene.install({ version, channel: version, spec: limit(1) });
      await scene.serving(version);
    }
  });

  test("a limit of one: the newest alone", () => becomes(["1 Inactive", "2 Inactive", "3 Active"]));

  test("raised: older ones come back, highest first", async () => {
    await scene.install({ version: "v3", channel: "v3", spec: limit(2) });
    await becomes(["1 Inactive", "2 Active", "3 Active"]);
    await scene.install({ version: "v3", channel: "v3", spec: limit(3) });
    await becomes(["1 Active", "2 Active", "3 Active"]);
  });

  test("lowered: the lowest go", async () => {
    await scene.install({ version: "v3", channel: "v3", spec: limit(2) });
    await becomes(["1 Inactive", "2 Active", "3 Active"]);
  });

  test("no edit but that of the image makes a revision, and labels go to the current one alone", async () => {
    const before = await scene.revisions();
    await scene.install({ version: "v3", channel: "canary", spec: { ...limit(2), revisionHistoryLimit: 4 } });
    const current = await eventually("the label has arrived", async () => {
      const found = (await scene.revisions()).at(-1);
      return found?.metadata.labels?.["release-channel"] === "canary" && found;
    });
    assert.equal(current.metadata.name, before.at(-1)?.metadata.name);
    const older = (await scene.revisions()).slice(0, -1);
    assert.deepEqual(
      older.map(({ metadata }) => metadata.labels?.["release-channel"]),
      ["v1", "v2"],
    );
    await scene.install({ version: "v3", spec: limit(2) });
    await eventually("the label has gone", async () => {
      const found = (await scene.revisions()).at(-1);
      return found?.metadata.labels?.["release-channel"] === undefined;
    });
    await becomes(["1 Inactive", "2 Active", "3 Active"]);
  });

  test("a reserved label of the Function does not reach its revision", async () => {
    const labels = { "pkg.crossplane.io/package": "another", "release-channel": "reserved" };
    const metadata = { name: functionName, labels };
    await scene.apply({ ...functionType, metadata, spec: { package: scene.packageOf("v3"), ...limit(2) } });
    const current = await eventually("the other label has arrived", async () => {
      const found = (await scene.revisions()).at(-1);
      return found?.metadata.labels?.["release-channel"] === "reserved" && found;
    });
    assert.equal(current.metadata.labels?.["pkg.crossplane.io/package"], functionName);
  });

  test("back to an older image: its revision counts as the newest again", async () => {
    await scene.install({ version: "v1", spec: limit(2) });
    await becomes(["2 Inactive", "3 Active", "4 Active"]);
    const newest = (await scene.revisions()).at(-1);
    assert.equal(revisionText(newest as KubeObject).spec.image, scene.packageOf("v1"));
  });

  test("a moving tag: each revision keeps what it was made of", async () => {
    const first = await scene.registry.publish({ name: `acme/${functionName}:moving`, version: "moving-1" });
    await scene.install({ version: "moving", spec: limit(2) });
    await becomes(["2 Inactive", "3 Inactive", "4 Active", "5 Active"]);
    const second = await scene.registry.publish({ name: `acme/${functionName}:moving`, version: "moving-2" });
    // A moved tag sends no event: the Function is reconciled when it is edited.
    await scene.install({ version: "moving", channel: "moved", spec: limit(2) });
    await becomes(["2 Inactive", "3 Inactive", "4 Inactive", "5 Active", "6 Active"]);
    const digests = (await scene.revisions()).slice(-2).map((one) => revisionText(one).spec.digest);
    assert.deepEqual(digests, [first, second]);
    const [lower, higher] = (await scene.revisions()).slice(-2).map(({ metadata }) => metadata.name);
    await scene.compose("lower", { functionRevisionRef: { name: lower } });
    await scene.compose("higher", { functionRevisionRef: { name: higher } });
    const made = await Promise.all(
      ["lower", "higher"].map(async (channel) => {
        const key = { namespace: "team-a", name: channel };
        await scene.addBucket(key, channel);
        const { version } = (await scene.composed(key))["data"] as { version?: string };
        await scene.renders(key);
        return version;
      }),
    );
    assert.deepEqual(made, ["moving-1", "moving-2"]);
  });

  test("limits that make no sense are refused", async () => {
    const wrong: [string, object][] = [
      ["above the history", { revisionHistoryLimit: 2, activeRevisionLimit: 3 }],
      ["zero", { revisionHistoryLimit: 2, activeRevisionLimit: 0 }],
    ];
    for (const [reason, spec] of wrong) {
      const object = {
        ...functionType,
        metadata: { name: "refused" },
        spec: { package: scene.packageOf("v1"), ...spec },
      };
      await assert.rejects(scene.users.create(object as KubeObject), isInvalid, reason);
    }
    const spec = { package: scene.packageOf("v1"), revisionHistoryLimit: 0, activeRevisionLimit: 5 };
    await scene.users.create({ ...functionType, metadata: { name: "accepted" }, spec }, { dryRun: true });
    const provider = { apiVersion: "pkg.crossplane.io/v1", kind: "Provider", metadata: { name: "refused" } };
    const two = { package: scene.packageOf("v1"), revisionHistoryLimit: 5, activeRevisionLimit: 2 };
    await assert.rejects(scene.users.create({ ...provider, spec: two }), isInvalid, "a Provider with two");
  });
});

suite("activation under Manual", () => {
  const name = "function-by-hand";
  const spec = { revisionActivationPolicy: "Manual", revisionHistoryLimit: 5, activeRevisionLimit: 1 };
  const activate = async (number: number, desiredState: "Active" | "Inactive"): Promise<void> => {
    const found = (await scene.revisions(name)).find((one) => revisionText(one).spec.revision === number);
    const target = { ...functionRevisionType, name: found?.metadata.name ?? "" };
    await scene.users.patch(target, { spec: { desiredState } }, { type: "merge" });
  };

  test("new revisions are made Inactive", async () => {
    for (const [at, version] of ["v1", "v2", "v3"].entries()) {
      await scene.publish(version, { function: name });
      await scene.install({ name, version, channel: version, spec });
      await eventually("there is another revision", async () => (await scene.revisions(name)).length === at + 1);
    }
    await becomes(["1 Inactive", "2 Inactive", "3 Inactive"], name);
    const owner = await scene.get(functionType, { name });
    assert.deepEqual(conditionOf(owner, "Installed"), {
      type: "Installed",
      status: "False",
      reason: "InactivePackageRevision",
      message: "Package is inactive",
    });
  });

  test("the limit means nothing: what users activate is active", async () => {
    for (const number of [1, 3, 2]) await activate(number, "Active");
    await becomes(["1 Active", "2 Active", "3 Active"], name);
    await scene.until(
      "it is installed",
      functionType,
      { name },
      (one) => conditionOf(one, "Installed")?.status === "True" && conditionOf(one, "Healthy")?.status === "True",
    );
  });

  test("a revision that a user deactivates ends, and an upgrade keeps the other states", async () => {
    await activate(2, "Inactive");
    await becomes(["1 Active", "2 Inactive", "3 Active"], name);
    await scene.publish("v4", { function: name });
    await scene.install({ name, version: "v4", channel: "v4", spec });
    await becomes(["1 Active", "2 Inactive", "3 Active", "4 Inactive"], name);
  });
});
