// SPDX-License-Identifier: Apache-2.0
// A platform that offers Buckets, made by one function: the scene of all rollouts.
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Build } from "../harness/packages/function-registry.ts";
import { type PackagePlane, type PackagePlaneWish, startPackagePlane } from "../harness/packages/package-plane.ts";
import { conditionOf, eventually } from "../harness/plane.ts";
import { rendersAsApplied } from "../harness/rendered.ts";
import {
  compositeText,
  compositionRevisionType,
  compositionType,
  configMapType,
  functionRevisionType,
  functionType,
  isServing,
  packageLabel,
  revisionText,
} from "./kinds.ts";

export const bucketType = { apiVersion: "example.org/v1", kind: "Bucket" };
export const functionName = "function-bucket";

/** The package and settings that a Function is pointed at. */
export interface Installation {
  readonly version: string;
  /** The value of the label release-channel; no label without it. */
  readonly channel?: string;
  readonly spec?: object;
  /** Another Function than the usual one, of a package of its own. */
  readonly name?: string;
}

/** What is special about a build. */
export interface PublishedBuild extends Partial<Build> {
  /** The Function it is for, when it is not the usual one. */
  readonly function?: string;
}

/** What the step of a Composition chooses its function by. */
export type StepChoice = Readonly<Record<string, unknown>>;

/** A bucket, by namespace and name. */
export type BucketKey = Readonly<Record<"namespace" | "name", string>>;

/** Buckets, their function and what a user does with them. */
export interface BucketScene extends PackagePlane {
  /** Builds a version and pushes it; returns its digest. */
  publish(version: string, build?: PublishedBuild): Promise<string>;
  /** The reference of a version, by tag. */
  packageOf(version: string, name?: string): string;
  /** Points the Function at a version, with labels and settings, in one write. */
  install(installation: Installation): Promise<void>;
  /** All revisions of a Function, lowest number first. */
  revisions(name?: string): Promise<readonly KubeObject[]>;
  /** The revision of a version, once there is one. */
  revisionOf(version: string): Promise<KubeObject>;
  /** The revision of a version, once it takes calls. */
  serving(version: string): Promise<KubeObject>;
  /** Applies the Composition and waits for the revision that is made of it, or used again. Returns its name. */
  compose(channel: string, choice?: StepChoice): Promise<string>;
  addBucket(key: BucketKey, channel: string): Promise<void>;
  bucket(key: BucketKey): Promise<KubeObject>;
  /** Makes buckets select another channel of compositions. */
  move(channel: string, ...keys: readonly BucketKey[]): Promise<void>;
  /** Asks for another look at buckets and waits until it was had, with all they are made by judged. */
  look(...keys: readonly BucketKey[]): Promise<void>;
  /** Resolves when buckets say that all is well. */
  well(...keys: readonly BucketKey[]): Promise<void>;
  /** Which revisions a bucket was made by. */
  madeBy(key: BucketKey): Promise<{ readonly composition: string; readonly function: string }>;
  /** The object a bucket composed. */
  composed(key: BucketKey): Promise<KubeObject>;
  /** Whether `purlin render` of buckets that have come to rest, with the functions that run, prints what was applied. */
  renders(...keys: readonly BucketKey[]): Promise<void>;
  /** What functions did wrong with a bucket so far: its Warning events. */
  warnings(key: BucketKey): Promise<readonly string[]>;
}

const isWell = (bucket: KubeObject): boolean =>
  ["Synced", "Ready"].every((type) => conditionOf(bucket, type)?.status === "True");

const definition: KubeObject = {
  apiVersion: "apiextensions.crossplane.io/v2",
  kind: "CompositeResourceDefinition",
  metadata: { name: "buckets.example.org" },
  spec: {
    group: "example.org",
    scope: "Namespaced",
    names: { kind: "Bucket", plural: "buckets" },
    versions: [{ name: "v1", served: true, referenceable: true, schema: { openAPIV3Schema: { type: "object" } } }],
  },
};

export const stableChoice: StepChoice = { functionRevisionSelector: { matchLabels: { "release-channel": "stable" } } };
export const alphaChoice: StepChoice = { functionRevisionSelector: { matchLabels: { "release-channel": "alpha" } } };

/** The Composition of all buckets. */
export function bucketComposition(channel: string, choice: StepChoice = {}): KubeObject {
  const step =
    "function" in choice
      ? { step: "compose", ...choice }
      : { step: "compose", functionRef: { name: functionName }, ...choice };
  return {
    ...compositionType,
    metadata: { name: "buckets", labels: { "release-channel": channel } },
    spec: { compositeTypeRef: bucketType, mode: "Pipeline", pipeline: [step] },
  } as KubeObject;
}

function bucketOf({ namespace, name }: BucketKey, channel: string): KubeObject {
  const crossplane = {
    compositionRef: { name: "buckets" },
    compositionUpdatePolicy: "Automatic",
    compositionRevisionSelector: { matchLabels: { "release-channel": channel } },
  };
  return { ...bucketType, metadata: { namespace, name }, spec: { crossplane } };
}

/** Starts the platform: namespaces team-a and team-b, and the definition of Buckets. */
export async function startBucketScene(wish: PackagePlaneWish): Promise<BucketScene> {
  // The circuit breaker must not slow down tests that request many reconciles at once.
  const circuitBreaker = { burst: 100_000, refillPerSecond: 1000, cooldownMs: 1000 };
  await using starting = new AsyncDisposableStack();
  const plane = starting.use(await startPackagePlane({ ...wish, settings: { circuitBreaker, ...wish.settings } }));
  const namespaces = ["team-a", "team-b"].map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } }));
  await plane.apply(...namespaces, definition);
  starting.move();
  return sceneOn(plane);
}

function sceneOn(plane: PackagePlane): BucketScene {
  const packageOf = (version: string, name = functionName): string =>
    `${plane.registry.address}/acme/${name}:${version}`;
  return Object.assign(plane, functionPart(plane, packageOf), bucketPart(plane));
}

type FunctionPart = Pick<BucketScene, "publish" | "packageOf" | "install" | "revisions" | "serving" | "revisionOf">;

function functionPart(plane: PackagePlane, packageOf: BucketScene["packageOf"]): FunctionPart {
  const revisions = async (name = functionName): Promise<readonly KubeObject[]> => {
    const { items } = await plane.users.list(functionRevisionType, { labelSelector: `${packageLabel}=${name}` });
    return items.toSorted((a, b) => revisionText(a).spec.revision - revisionText(b).spec.revision);
  };
  const findVersion = async (version: string): Promise<KubeObject | undefined> =>
    (await revisions()).findLast((one) => revisionText(one).spec.image === packageOf(version));
  return {
    packageOf,
    revisions,
    publish: (version, { function: name = functionName, ...build } = {}) =>
      plane.registry.publish({ name: `acme/${name}:${version}`, version, ...build }),
    async install({ version, channel, spec, name = functionName }) {
      const labels = channel === undefined ? {} : { "release-channel": channel };
      await plane.apply({
        ...functionType,
        metadata: { name, labels },
        spec: { package: packageOf(version, name), ...spec },
      });
    },
    async revisionOf(version) {
      return eventually(`there is a revision of ${version}`, () => findVersion(version));
    },
    async serving(version) {
      return eventually(
        `${version} takes calls`,
        async () => {
          const found = await findVersion(version);
          return (
            found !== undefined && isServing(found) && conditionOf(found, "RuntimeHealthy")?.status === "True" && found
          );
        },
        () => `it runs: ${plane.machine.running().join(", ")}`,
      );
    },
  };
}

type BucketPart = Pick<
  BucketScene,
  "compose" | "addBucket" | "bucket" | "move" | "look" | "well" | "madeBy" | "composed" | "renders" | "warnings"
>;

function bucketPart(plane: PackagePlane): BucketPart {
  let looks = 0;
  const bucket = (key: BucketKey): Promise<KubeObject> => plane.get(bucketType, key);
  return {
    bucket,
    compose: (channel, choice) => compose(plane, bucketComposition(channel, choice)),
    addBucket: (key, channel) => plane.apply(bucketOf(key, channel)),
    async move(channel, ...keys) {
      for (const key of keys) await plane.apply(bucketOf(key, channel));
    },
    async look(...keys) {
      const token = `look ${++looks}`;
      const annotations = { "crossplane.io/reconcile-requested-at": token };
      const patch = { metadata: { annotations } };
      for (const key of keys) await plane.users.patch({ ...bucketType, ...key }, patch, { type: "merge" });
      const isHad = (one: KubeObject): boolean => compositeText(one).status?.lastHandledReconcileAt === token;
      for (const key of keys) await plane.until(`${key.name} was looked at`, bucketType, key, isHad);
    },
    async well(...keys) {
      for (const key of keys) await plane.until(`${key.name} is well`, bucketType, key, isWell);
    },
    async madeBy(key) {
      const { spec, status } = compositeText(await bucket(key));
      return {
        composition: spec.crossplane?.compositionRevisionRef?.name ?? "",
        function: status?.crossplane?.functionRevisions?.find(({ step }) => step === "compose")?.functionRevision ?? "",
      };
    },
    async composed({ namespace, name }) {
      const labelSelector = `crossplane.io/composite=${name}`;
      return eventually(`${name} has composed something`, async () => {
        const { items } = await plane.users.list(configMapType, { namespace, labelSelector });
        return items[0];
      });
    },
    async renders(...keys) {
      const access = await plane.machine.access();
      for (const key of keys) await rendersAsApplied(plane.users, bucketType, key, { access });
    },
    async warnings(key) {
      const events = await plane.events(await bucket(key));
      return events.filter((text) => text.startsWith("Warning"));
    },
  };
}

/** A Composition's newest revision is the one whose content it has. */
async function compose(plane: PackagePlane, composition: KubeObject): Promise<string> {
  const latest = async (): Promise<KubeObject | undefined> => {
    const labelSelector = "crossplane.io/composition-name=buckets";
    const { items } = await plane.users.list(compositionRevisionType, { labelSelector });
    return items.toSorted((a, b) => numberOf(b) - numberOf(a))[0];
  };
  const before = await latest();
  await plane.apply(composition);
  const made = await eventually("the Composition has a new highest revision", async () => {
    const found = await latest();
    return found !== undefined && numberOf(found) > numberOf(before) && found;
  });
  return made.metadata.name ?? "";
}

const numberOf = (revision: KubeObject | undefined): number =>
  revision === undefined ? 0 : (revision["spec"] as unknown as { revision: number }).revision;
