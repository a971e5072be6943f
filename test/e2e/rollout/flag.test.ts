// SPDX-License-Identifier: Apache-2.0
// The flag is turned on and off on a system in use. Composite resources without revision selectors are never affected; those with selectors fail
// closed while it is off.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { packageNamespace } from "../harness/packages/package-machine.ts";
import { conditionOf, eventually } from "../harness/plane.ts";
import { stays } from "../harness/stays.ts";
import {
  alphaChoice,
  type BucketScene,
  bucketType,
  functionName,
  type StepChoice,
  startBucketScene,
} from "./bucket-scene.ts";
import { type ConstantLoad, startLoad } from "./constant-load.ts";
import { compositionRevisionType, functionStatus, functionType, isServing, revisionText } from "./kinds.ts";

const spec = { revisionHistoryLimit: 9, activeRevisionLimit: 2 };
const buckets = ["one", "two", "three"].map((name) => ({ namespace: "team-a", name }));
const chooser = { namespace: "team-b", name: "chooser" };

const closing = new AsyncDisposableStack();
let scene: BucketScene;
let load: ConstantLoad;
/** The composition revision that chooses a function revision. */
let choosing: string;

before(async () => {
  scene = closing.use(await startBucketScene({ functionRevisionSelectors: false }));
  await scene.publish("v1");
  await scene.install({ version: "v1", channel: "stable", spec });
  await scene.serving("v1");
  await scene.compose("plain");
  for (const key of buckets) await scene.addBucket(key, "plain");
  load = closing.use(await startLoad(scene, buckets));
});
after(() => closing.disposeAsync());

/** The versions that are active, lowest number first. */
async function active(): Promise<readonly string[]> {
  const all = await scene.revisions();
  const active = all.filter((one) => revisionText(one).spec.desiredState === "Active");
  return active.map((one) => revisionText(one).spec.image.split(":").at(-1) ?? "");
}

/** Waits until exactly these versions are active, run, and answer where the flag's position says. */
async function settlesOn(...versions: readonly string[]): Promise<void> {
  let seen: unknown;
  await eventually(
    `${versions.join(", ")} are active`,
    async () => {
      const all = await scene.revisions();
      const up = all.filter((one) => revisionText(one).spec.desiredState === "Active");
      const endpoints = up.map((one) => ({
        name: one.metadata.name ?? "",
        at: revisionText(one).status?.endpoint ?? "",
      }));
      seen = { active: await active(), endpoints, running: scene.machine.running() };
      const isPlaced = endpoints.every(({ name, at }) =>
        scene.machine.isEndpointOf(at, { function: functionName, name }, scene.functionRevisionSelectors),
      );
      const isRunning =
        scene.machine.running().join() ===
        up
          .map(({ metadata }) => metadata.name)
          .toSorted()
          .join();
      return (await active()).join() === versions.join() && isPlaced && isRunning && up.every(isServing);
    },
    () => JSON.stringify(seen),
  );
}

/** The Secrets and, on a cluster, Services of the function. */
async function runtimeObjects(): Promise<readonly string[]> {
  const found: string[] = [];
  for (const kind of ["Secret", "Service"]) {
    const { items } = await scene.users.list({ apiVersion: "v1", kind }, { namespace: packageNamespace });
    const own = items.filter(({ metadata }) => metadata.name?.startsWith(functionName));
    found.push(...own.map(({ metadata }) => `${kind} ${metadata.name}`));
  }
  return found.toSorted();
}

/** The name of the function still resolves to its highest revision; its secret is no longer mounted. */
async function assertAlias(lead: string): Promise<void> {
  const key = { namespace: packageNamespace, name: functionName };
  const owner = await scene.get(functionType, { name: functionName });
  await scene.until(
    "the function's own name leads to the revision",
    { apiVersion: "v1", kind: "Service" },
    key,
    (one) => {
      const { selector } = one["spec"] as { selector?: Record<string, string> };
      const controller = one.metadata.ownerReferences?.find(({ controller }) => controller === true);
      return selector?.["pkg.crossplane.io/revision"] === lead && controller?.uid === owner.metadata.uid;
    },
  );
  const secret = { ...key, name: `${functionName}-tls-server` };
  await scene.gone({ apiVersion: "v1", kind: "Secret" }, secret);
}

async function failsClosed(field: string): Promise<void> {
  const closed = `pipeline step "compose" uses ${field}, which needs --enable-function-revision-selectors`;
  const revision = await scene.until(
    "its revision is not valid",
    compositionRevisionType,
    { name: choosing },
    (one) => {
      return conditionOf(one, "ValidPipeline")?.status === "False";
    },
  );
  assert.deepEqual(conditionOf(revision, "ValidPipeline"), {
    type: "ValidPipeline",
    status: "False",
    reason: "FeatureDisabled",
    message: closed,
  });
  const refused = `selected CompositionRevision ${choosing} does not have a valid function pipeline: ${closed}`;
  await scene.until("the bucket says so", bucketType, chooser, (one) => {
    const synced = conditionOf(one, "Synced");
    return synced?.status === "False" && synced.message === refused;
  });
}

suite("the flag on a system that is in use", () => {
  test("off: the limit counts as one, and steps that choose fail closed", async () => {
    await load.more(2);
    const choices: Readonly<Record<string, StepChoice>> = {
      function: { function: `registry.example.org/acme/f:v1@sha256:${"0".repeat(64)}` },
      functionRevisionRef: { functionRevisionRef: { name: "any" } },
      functionRevisionSelector: alphaChoice,
    };
    for (const [field, choice] of Object.entries(choices)) {
      choosing = await scene.compose("choosing", choice);
      await scene.move("choosing", chooser);
      await failsClosed(field);
    }
    await scene.publish("v2");
    await scene.install({ version: "v2", channel: "stable", spec });
    await settlesOn("v2");
    const { activeRevisions } = functionStatus(await scene.get(functionType, { name: functionName }));
    assert.equal(activeRevisions, undefined, "the flag's status field is absent");
    for (const key of buckets) assert.equal((await scene.madeBy(key)).function, "", "nor is the revision that ran");
  });

  test("on: each active revision gets an endpoint of its own", async () => {
    const before = await scene.revisions();
    await scene.restart(true);
    await settlesOn("v1", "v2");
    await load.more(2);
    const after = await scene.revisions();
    assert.equal(after.length, before.length, "the revision that was current is still");
    const current = after.at(-1);
    assert.match(revisionText(current ?? assert.fail()).spec.digest ?? "", /^sha256:/, "and its digest is noted now");
    assert.equal(current?.metadata.labels?.["release-channel"], "stable", "and its labels");
    for (const key of buckets) assert.equal((await scene.madeBy(key)).function, current?.metadata.name);
    if (scene.server === "real") await assertAlias(current?.metadata.name ?? "");
  });

  test("on: a second revision, and a bucket that chooses it", async () => {
    await scene.publish("v3");
    await scene.install({ version: "v3", channel: "alpha", spec });
    await settlesOn("v2", "v3");
    await scene.look(chooser);
    await scene.until("it is made", bucketType, chooser, (one) => conditionOf(one, "Ready")?.status === "True");
    assert.equal((await scene.madeBy(chooser)).function, (await scene.serving("v3")).metadata.name);
    await load.more(2);
  });

  test("off again: one active revision, under the function's own name; steps that chose a revision fail", async () => {
    const composed = await scene.composed(chooser);
    await scene.restart(false);
    await settlesOn("v3");
    await failsClosed("functionRevisionSelector");
    await load.more(2);
    await stays("what was composed", () => scene.composed(chooser), composed);
    for (const key of buckets)
      assert.equal((await scene.madeBy(key)).function, "", "the revision that ran is no longer reported");
    const current = (await scene.serving("v3")).metadata.name;
    // A process has its own secret; on a cluster all revisions share the function's name.
    const left =
      scene.server === "embedded"
        ? [`Secret ${current}-tls-server`]
        : [`Secret ${functionName}-tls-server`, `Service ${functionName}`];
    let seen: readonly string[] = [];
    await eventually(
      "nothing that is named after a revision is left",
      async () => {
        seen = await runtimeObjects();
        return seen.join() === left.join();
      },
      () => seen.join(", "),
    );
  });

  test("and on once more", async () => {
    await scene.restart(true);
    await load.more(2);
    await scene.until("it is made", bucketType, chooser, (one) => conditionOf(one, "Synced")?.status === "True");
    assert.ok((await active()).includes("v3"));
    await scene.renders(chooser);
  });

  test("no other composite resource has failed", async () => {
    const { looks } = load;
    assert.deepEqual(await load.stop(), []);
    assert.ok(looks >= buckets.length * 10, `${looks} looks`);
    // The last looks may be older than the last change of what is active.
    await scene.look(...buckets);
    await scene.renders(...buckets);
  });
});
