// SPDX-License-Identifier: Apache-2.0
// A step whose function revision cannot be found fails: with a condition and an event that say why, and with nothing composed.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { isInvalid } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { conditionOf, eventually } from "../harness/plane.ts";
import {
  type BucketScene,
  bucketComposition,
  bucketType,
  functionName,
  type StepChoice,
  startBucketScene,
} from "./bucket-scene.ts";
import { compositionRevisionType, configMapType, functionRevisionType, revisionText } from "./kinds.ts";

let scene: BucketScene;
let inactive: string;
let foreign: string;
let digest: string;
const broken = "function-broken";
const other = "function-other";

before(async () => {
  scene = await startBucketScene({ functionRevisionSelectors: true });
  const spec = { revisionHistoryLimit: 4, activeRevisionLimit: 1 };
  digest = await scene.publish("v1");
  await scene.install({ version: "v1", channel: "old", spec });
  inactive = (await scene.serving("v1")).metadata.name ?? "";
  await scene.publish("v2");
  await scene.install({ version: "v2", channel: "new", spec });
  await scene.publish("v1", { function: other, version: "other" });
  await scene.install({ name: other, version: "v1" });
  foreign = await eventually("the other Function has a revision", async () => {
    return (await scene.revisions(other))[0]?.metadata.name;
  });
  await scene.publish("v1", { function: broken, isBroken: true });
  await scene.install({ name: broken, version: "v1" });
  await scene.until("v1 is inactive", functionRevisionType, { name: inactive }, (one) => {
    return revisionText(one).spec.desiredState === "Inactive";
  });
});
after(() => scene[Symbol.asyncDispose]());

interface Failure {
  readonly reason: string;
  readonly choice: () => StepChoice;
  /** The Function, or image, that the failure is about. */
  readonly about?: () => string;
  readonly problem: () => string;
  /** Whether nothing stands before the problem. */
  readonly whole?: boolean;
}

const source = (): string => scene.packageOf("any").replace(/:any$/, "");
const absent = `sha256:${"0".repeat(64)}`;

const failures: Readonly<Record<string, Failure>> = {
  "ref-missing": {
    reason: "a revision that does not exist",
    choice: () => ({ functionRevisionRef: { name: "no-such-revision" } }),
    problem: () => `cannot get FunctionRevision "no-such-revision": not found`,
  },
  "ref-foreign": {
    reason: "a revision of another Function",
    choice: () => ({ functionRevisionRef: { name: foreign } }),
    problem: () => `FunctionRevision "${foreign}" does not belong to Function "${functionName}"`,
  },
  "ref-inactive": {
    reason: "a revision that is not active",
    choice: () => ({ functionRevisionRef: { name: inactive } }),
    problem: () => `FunctionRevision "${inactive}" is not active`,
  },
  "selector-unknown": {
    reason: "labels that no revision has, sorted by name",
    choice: () => ({ functionRevisionSelector: { matchLabels: { zone: "z", "release-channel": "beta" } } }),
    problem: () => `no active FunctionRevision of Function "${functionName}" matches release-channel=beta,zone=z`,
  },
  "selector-inactive": {
    reason: "labels of a revision that is not active",
    choice: () => ({ functionRevisionSelector: { matchLabels: { "release-channel": "old" } } }),
    problem: () => `no active FunctionRevision of Function "${functionName}" matches release-channel=old`,
  },
  "not-installed": {
    reason: "a Function that is not there",
    choice: () => ({ functionRef: { name: "function-none" } }),
    whole: true,
    problem: () => {
      const installed = [functionName, other, broken].toSorted().join(", ");
      const by = 'referenced by step "compose" of Composition "buckets"';
      return `Function "function-none" not found; ${by}. Installed: ${installed}`;
    },
  },
  "image-absent": {
    reason: "an image that no revision runs",
    choice: () => ({ function: `${source()}:v9@${absent}` }),
    about: () => `${source()}:v9@${absent}`,
    problem: () => {
      const image = `${source()}:v9@${absent}`;
      return `no active FunctionRevision runs ${image}: install it with a Function whose spec.package is ${image}`;
    },
  },
  "image-inactive": {
    reason: "an image whose revision is not active",
    choice: () => ({ function: `${source()}@${digest}` }),
    about: () => `${source()}@${digest}`,
    problem: () => {
      const image = `${source()}@${digest}`;
      return `no active FunctionRevision runs ${image}: install it with a Function whose spec.package is ${image}`;
    },
  },
};

/** A bucket of a Composition of its own, so that each case stands by itself. */
async function bucketWith(name: string, choice: StepChoice): Promise<{ namespace: string; name: string }> {
  await scene.compose(name, choice);
  const key = { namespace: "team-a", name };
  await scene.addBucket(key, name);
  return key;
}

async function assertFails(key: { namespace: string; name: string }, message: string): Promise<void> {
  const failed = await scene.until("it fails", bucketType, key, (one) => {
    const synced = conditionOf(one, "Synced");
    return synced?.status === "False" && synced.message?.includes("does not have a valid function pipeline") !== true;
  });
  assert.deepEqual(conditionOf(failed, "Synced"), {
    type: "Synced",
    status: "False",
    reason: "ReconcileError",
    message,
  });
  const events = await eventually("the event is written", async () => {
    const warnings = await scene.warnings(key);
    return warnings.length > 0 && warnings;
  });
  assert.deepEqual(events, [`Warning ComposeResources: ${message}`]);
  const { items } = await scene.users.list(configMapType, {
    namespace: key.namespace,
    labelSelector: `crossplane.io/composite=${key.name}`,
  });
  assert.deepEqual(items, [], "nothing is composed");
}

const stepProblem = 'cannot compose resources: cannot run Composition pipeline step "compose": ';
const messageOf = (about: string, problem: string): string =>
  `${stepProblem}cannot get gRPC client connection for Function "${about}": ${problem}`;

suite("a step whose function revision cannot be found", () => {
  for (const [name, { reason, choice, about = () => functionName, problem, whole }] of Object.entries(failures)) {
    test(reason, async () => {
      const key = await bucketWith(name, choice());
      await assertFails(key, whole === true ? `${stepProblem}${problem()}` : messageOf(about(), problem()));
      const composition = await scene.madeBy(key);
      const revision = await scene.get(compositionRevisionType, { name: composition.composition });
      assert.equal(conditionOf(revision, "ValidPipeline")?.status, "True", "the pipeline itself is valid");
    });
  }

  test("a function that is active and has never answered", async () => {
    const name = await eventually("it has a revision", async () => (await scene.revisions(broken))[0]?.metadata.name);
    const key = await bucketWith("never-answered", { functionRef: { name: broken } });
    const problem = `cannot determine gRPC target: active FunctionRevision "${name}" has an empty status.endpoint`;
    await assertFails(key, messageOf(broken, problem));
  });

  test("when the revision is activated, composite resources that need it recover", async () => {
    const spec = { revisionHistoryLimit: 4, activeRevisionLimit: 2 };
    await scene.install({ version: "v2", channel: "new", spec });
    await scene.serving("v1");
    for (const name of ["ref-inactive", "selector-inactive", "image-inactive"]) {
      const key = { namespace: "team-a", name };
      await scene.look(key);
      await scene.until("it is made", bucketType, key, (one) => conditionOf(one, "Ready")?.status === "True");
      assert.equal((await scene.madeBy(key)).function, inactive, name);
      assert.equal(((await scene.composed(key))["data"] as { version?: string }).version, "v1", name);
      await scene.renders(key);
    }
  });

  test("an image is found in whichever Function has it, whatever its tag says", async () => {
    const repository = scene.packageOf("any", other).replace(/:any$/, "");
    const otherDigest = revisionText((await scene.revisions(other))[0] as KubeObject).spec.digest;
    const key = await bucketWith("image-of-other", { function: `${repository}:any-tag@${otherDigest}` });
    await scene.until("it is made", bucketType, key, (one) => conditionOf(one, "Ready")?.status === "True");
    assert.equal((await scene.madeBy(key)).function, foreign);
    assert.equal(((await scene.composed(key))["data"] as { version?: string }).version, "other");
    await scene.renders(key);
  });
});

suite("steps that make no sense are refused", () => {
  const ref = { functionRevisionRef: { name: "r" } };
  const selector = { functionRevisionSelector: { matchLabels: { a: "b" } } };
  const image = { function: `registry.example.org/acme/f:v1@${absent}` };
  const refused: Readonly<Record<string, StepChoice>> = {
    "a revision and a selector": { ...ref, ...selector },
    "a selector of no labels": { functionRevisionSelector: { matchLabels: {} } },
    "a selector of the package's own label": {
      functionRevisionSelector: { matchLabels: { "pkg.crossplane.io/package": "f" } },
    },
    "a revision without a name": { functionRevisionRef: { name: "" } },
    "an image without a digest": { function: "registry.example.org/acme/f:v1" },
    "an image beside a Function": { ...image, functionRef: { name: "f" } },
    "an image and a revision": { ...image, ...ref },
    "an image and a selector": { ...image, ...selector },
    "neither an image nor a Function": { functionRef: undefined },
  };
  for (const [reason, choice] of Object.entries(refused)) {
    test(reason, async () => {
      const composition = bucketComposition("refused", choice);
      const named = { ...composition, metadata: { name: "refused" } } as KubeObject;
      await assert.rejects(scene.users.create(named), isInvalid);
    });
  }
});
