// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  controllerReference,
  type KubeObject,
  memberAt,
  objectAt,
  textMapAt,
  textsAt,
} from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import { fieldManager, type SimulatorDeps, simulatedMark } from "../simulator-deps.ts";

/** How a Pod differs from its template. */
interface PodOptions {
  /** A full name, or a prefix that the server completes. */
  readonly name: { readonly name: string } | { readonly generateName: string };
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly spec?: JsonObject;
}

/** A Pod of a workload, from a Pod template. */
export function podFromTemplate(owner: KubeObject, template: JsonObject, options: PodOptions): KubeObject {
  const { name, labels, annotations, finalizers = [], spec } = options;
  const allFinalizers = [...textsAt(template, ["metadata", "finalizers"]), ...finalizers];
  return {
    ...kinds.pod,
    metadata: {
      ...name,
      namespace: owner.metadata.namespace ?? "",
      labels: { ...textMapAt(template, ["metadata", "labels"]), ...labels },
      annotations: { ...textMapAt(template, ["metadata", "annotations"]), ...annotations, ...simulatedMark },
      ownerReferences: [controllerReference(owner)],
      ...(allFinalizers.length > 0 && { finalizers: allFinalizers }),
    },
    spec: spec ?? objectAt(template, ["spec"]),
  };
}

/** The Pod template of a workload. */
export function templateOf(workload: KubeObject): JsonObject {
  return objectAt(workload, ["spec", "template"]);
}

/** The replicas that a workload asks for. */
export function replicasOf(workload: KubeObject): number {
  const value = memberAt(workload, ["spec", "replicas"]);
  return typeof value === "number" ? value : 1;
}

// So many writes at a time, as the real controllers start slowly: the API server refuses all of them for one reason.
const atOnce = 50;

/** Does work on each item, a limited number at a time; stops after the first part with a failure, and rejects with it. */
export async function inParts<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let from = 0; from < items.length; from += atOnce) {
    const part = await Promise.allSettled(items.slice(from, from + atOnce).map(work));
    for (const one of part) if (one.status === "fulfilled") results.push(one.value);
    const failed = part.find((one) => one.status === "rejected");
    if (failed !== undefined) throw new PartialError(results, failed.reason);
  }
  return results;
}

/** Some of the work was done before a part of it failed. */
export class PartialError extends Error {
  readonly done: readonly unknown[];
  constructor(done: readonly unknown[], cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.done = done;
  }
}

/** Stores a new Pod. */
export function createPod({ client }: Pick<SimulatorDeps, "client">, pod: KubeObject): Promise<KubeObject> {
  return client.create(pod, { fieldManager });
}
