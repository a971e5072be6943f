// SPDX-License-Identifier: Apache-2.0
// Many buckets that are reconciled all the time, and a watcher of all their conditions and events.

import { startInformer } from "@purlin/kube-client";
import type { KubeObject } from "@purlin/kube-objects/object";
import { conditionOf, eventually } from "../harness/plane.ts";
import { type BucketKey, type BucketScene, bucketType } from "../rollout/bucket-scene.ts";
import { compositeText } from "../rollout/kinds.ts";

/** What a bucket said after a reconcile. */
export interface Run {
  readonly bucket: string;
  readonly channel: string;
  readonly functionRevision: string;
}

/** Buckets under load. */
export interface Fleet extends AsyncDisposable {
  /** Every reconcile that failed, in the words of its bucket. */
  readonly failures: ReadonlySet<string>;
  /** The record of each run, without those that repeat the one before. */
  readonly runs: readonly Run[];
  /** How many reconciles were asked for and had. */
  readonly looks: number;
  /** Resolves when all buckets of a channel were last made by a revision. */
  madeBy(channel: string, functionRevision: string): Promise<void>;
}

/** At most this many reconciles are asked for at a time; most of them wait for their function. */
const parallel = 32;

/** Follows buckets once they are well, and asks for one reconcile after the other until it is disposed of. */
export async function startFleet(scene: BucketScene, buckets: ReadonlyMap<BucketKey, string>): Promise<Fleet> {
  const keys = [...buckets.keys()];
  await scene.well(...keys);
  const channels = new Map([...buckets].map(([{ name }, channel]) => [name, channel]));
  const failures = new Set<string>();
  const runs: Run[] = [];
  const last = new Map<string, string>();
  const handled = new Map<string, (token: string) => void>();
  const informer = startInformer(scene.users, bucketType);
  informer.subscribe(({ object }) => {
    const { name = "" } = object.metadata;
    noteFailure(object, failures);
    const { status } = compositeText(object);
    const functionRevision = status?.crossplane?.functionRevisions?.[0]?.functionRevision;
    if (functionRevision !== undefined && last.get(name) !== functionRevision) {
      last.set(name, functionRevision);
      runs.push({ bucket: name, channel: channels.get(name) ?? "", functionRevision });
    }
    handled.get(name)?.(status?.lastHandledReconcileAt ?? "");
  });
  await informer.synced();
  const stopping = new AbortController();
  let looks = 0;
  const look = async (key: BucketKey): Promise<void> => {
    const token = `look ${++looks}`;
    const { promise, resolve } = Promise.withResolvers<void>();
    handled.set(key.name, (seen) => seen === token && resolve());
    stopping.signal.addEventListener("abort", () => resolve(), { once: true });
    const annotations = { "crossplane.io/reconcile-requested-at": token };
    await scene.users.patch({ ...bucketType, ...key }, { metadata: { annotations } }, { type: "merge" });
    await promise;
  };
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let key = keys[next++ % keys.length]; key !== undefined && !stopping.signal.aborted; ) {
      await look(key);
      key = keys[next++ % keys.length];
    }
  };
  const working = Promise.all(Array.from({ length: Math.min(parallel, keys.length) }, worker));
  return {
    failures,
    runs,
    get looks() {
      return looks;
    },
    async madeBy(channel, functionRevision) {
      const others = (): string[] =>
        keys
          .map(({ name }) => name)
          .filter((name) => channels.get(name) === channel && last.get(name) !== functionRevision);
      const isSo = async (): Promise<boolean> => others().length === 0;
      await eventually(
        `all of ${channel} are made by ${functionRevision}`,
        isSo,
        () => `not yet: ${others().join(", ")}`,
      );
    },
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await working;
      await informer.stop();
    },
  };
}

function noteFailure(bucket: KubeObject, failures: Set<string>): void {
  for (const type of ["Synced", "Responsive"]) {
    const condition = conditionOf(bucket, type);
    if (condition?.status === "False")
      failures.add(`${bucket.metadata.name}: ${condition.reason}: ${condition.message}`);
  }
}
