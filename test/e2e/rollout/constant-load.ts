// SPDX-License-Identifier: Apache-2.0
// Buckets that are reconciled all the time, with a record of each failure.
import { setTimeout as delay } from "node:timers/promises";
import { startInformer } from "@purlin/kube-client";
import type { KubeObject } from "@purlin/kube-objects/object";
import { inTime } from "../harness/in-time.ts";
import { conditionOf, eventually } from "../harness/plane.ts";
import { type BucketKey, type BucketScene, bucketType } from "./bucket-scene.ts";
import { compositeText } from "./kinds.ts";

/** A load that continues until it is stopped. */
export interface ConstantLoad extends AsyncDisposable {
  /** How many times a bucket was looked at, by what buckets themselves say. */
  readonly looks: number;
  /** Resolves when every bucket has been looked at this many times more. */
  more(looks: number): Promise<void>;
  /** Ends it. Returns the failures: conditions that were seen, and warning events. */
  stop(): Promise<readonly string[]>;
}

const pauseMs = 20;

/** Asks for looks at buckets, as fast as they are had, once they are well: what was wrong before is not the load's. */
export async function startLoad(scene: BucketScene, keys: readonly BucketKey[]): Promise<ConstantLoad> {
  await scene.well(...keys);
  const names = new Set(keys.map(({ name }) => name));
  const failures = new Set<string>();
  const looks = new Map(keys.map(({ name }) => [name, 0]));
  const informer = startInformer(scene.users, bucketType);
  informer.subscribe((change) => {
    const { object } = change;
    if (change.type === "deleted" || !names.has(object.metadata.name ?? "")) return;
    note(object, failures);
  });
  await informer.synced();
  const stopping = new AbortController();
  const asking = Promise.all(keys.map((key) => askFor(scene, { key, looks, signal: stopping.signal })));
  let problem: unknown;
  asking.catch((error: unknown) => {
    problem = error;
  });
  const end = async (): Promise<void> => {
    stopping.abort();
    try {
      await inTime("the load", asking);
    } finally {
      await inTime("the watch on buckets", informer.stop());
    }
  };
  const all = (): number => [...looks.values()].reduce((sum, one) => sum + one, 0);
  return {
    get looks() {
      return all();
    },
    async more(wanted) {
      const before = new Map(looks);
      await eventually("buckets are looked at", async () => {
        if (problem !== undefined) throw new Error("the load has stopped", { cause: problem });
        return [...looks].every(([name, had]) => had >= (before.get(name) ?? 0) + wanted);
      });
    },
    async stop() {
      await end();
      for (const key of keys) for (const text of await scene.warnings(key)) failures.add(`${key.name}: ${text}`);
      return [...failures];
    },
    [Symbol.asyncDispose]: end,
  };
}

function note(bucket: KubeObject, failures: Set<string>): void {
  const synced = conditionOf(bucket, "Synced");
  if (synced?.status === "False") failures.add(`${bucket.metadata.name}: ${synced.reason}: ${synced.message}`);
}

/** One look after the other; while no control plane runs, none is had. */
async function askFor(
  scene: BucketScene,
  { key, looks, signal }: { key: BucketKey; looks: Map<string, number>; signal: AbortSignal },
): Promise<void> {
  for (let asked = 1; !signal.aborted; asked++) {
    const token = `load ${asked} of ${key.name}`;
    const annotations = { "crossplane.io/reconcile-requested-at": token };
    await scene.users.patch({ ...bucketType, ...key }, { metadata: { annotations } }, { type: "merge" });
    while (!signal.aborted && compositeText(await scene.bucket(key)).status?.lastHandledReconcileAt !== token) {
      await delay(pauseMs);
    }
    looks.set(key.name, (looks.get(key.name) ?? 0) + 1);
    await delay(pauseMs);
  }
}
