// SPDX-License-Identifier: Apache-2.0
// Two hundred composite resources are reconciled all the time while their function is upgraded ten times. Two channels take turns: each
// upgrade pushes the older revision of its own channel out. The builds end at once when they are asked to, whatever they are doing, so a
// revision that is stopped a moment too early fails a reconcile. On this machine alone: the suite that plays a node would be measured as well.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { eventually } from "../harness/plane.ts";
import { type BucketKey, type BucketScene, functionName, startBucketScene } from "../rollout/bucket-scene.ts";
import { functionStatus, functionType, revisionText } from "../rollout/kinds.ts";
import { type Fleet, startFleet } from "./fleet.ts";
import { composites, upgrades } from "./load-options.ts";

const channels = ["blue", "green"] as const;
type Channel = (typeof channels)[number];

const channelOf = (version: number): Channel => (version % 2 === 1 ? "blue" : "green");
const last = upgrades + channels.length;

const buckets = new Map<BucketKey, Channel>(
  Array.from({ length: composites }, (_, index) => {
    const channel = channelOf(index);
    return [{ namespace: channel === "blue" ? "team-a" : "team-b", name: `bucket-${index}` }, channel];
  }),
);

const closing = new AsyncDisposableStack();
let scene: BucketScene;
let fleet: Fleet;

/** Publishes a version and installs it. Returns the name of its revision once it takes calls. */
async function upgradeTo(version: number): Promise<string> {
  const tag = `v${version}`;
  await scene.publish(tag, { isAbrupt: true });
  const spec = { revisionHistoryLimit: last, activeRevisionLimit: channels.length };
  await scene.install({ version: tag, channel: channelOf(version), spec });
  return (await scene.serving(tag)).metadata.name ?? "";
}

const isElsewhere = process.env["E2E_SERVER"] === "real" && "the embedded control plane runs its functions itself";

suite(`${composites} composite resources, ${upgrades} upgrades of their function`, { skip: isElsewhere }, () => {
  before(async () => {
    scene = closing.use(await startBucketScene({ functionRevisionSelectors: true }));
    for (const [index, channel] of channels.entries()) {
      await upgradeTo(index + 1);
      await scene.compose(channel, { functionRevisionSelector: { matchLabels: { "release-channel": channel } } });
    }
    await Promise.all([...buckets].map(([key, channel]) => scene.addBucket(key, channel)));
    fleet = closing.use(await startFleet(scene, buckets));
  });
  after(() => closing.disposeAsync());

  for (let version = channels.length + 1; version <= last; version++) {
    test(`v${version} reaches exactly the composite resources that selected it`, async (t) => {
      const before = fleet.looks;
      const revision = await upgradeTo(version);
      const starting = fleet.looks - before;
      await fleet.madeBy(channelOf(version), revision);
      t.diagnostic(`${starting} reconciles until it served, ${fleet.looks - before} until it had made all`);
    });
  }

  test("no reconcile failed", async () => {
    assert.deepEqual([...fleet.failures], []);
    const warnings = await Promise.all([...buckets.keys()].slice(0, 20).map((key) => scene.warnings(key)));
    assert.deepEqual(warnings.flat(), []);
  });

  test("no composite resource was ever made by a revision it did not select", async () => {
    const revisions = new Map((await scene.revisions()).map(({ metadata }) => [metadata.name, metadata.labels]));
    assert.equal(revisions.size, last);
    const channelOfRevision = (name: string): string | undefined => revisions.get(name)?.["release-channel"];
    assert.ok(fleet.runs.length >= (composites * upgrades) / 2, `${fleet.runs.length} records`);
    const wrong = fleet.runs.filter(({ channel, functionRevision }) => channelOfRevision(functionRevision) !== channel);
    assert.deepEqual(wrong, []);
  });

  test("only the last two run in the end", async () => {
    const newest = (await scene.revisions()).slice(-channels.length).map(({ metadata }) => metadata.name ?? "");
    const owner = await scene.until("the status lists only them", functionType, { name: functionName }, (one) => {
      return functionStatus(one).activeRevisions?.toReversed().join() === newest.join();
    });
    const active = functionStatus(owner).activeRevisions ?? [];
    const inactive = (await scene.revisions()).filter((one) => revisionText(one).spec.desiredState === "Inactive");
    assert.equal(inactive.length, last - channels.length);
    await eventually("nothing else runs", async () => scene.machine.running().join() === active.toSorted().join());
  });
});
