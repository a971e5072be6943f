// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import type { KubeClient } from "@purlin/kube-client";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import { conditionOf, conditionsOf, type KubeObject, keyOf, type TypeRef } from "@purlin/kube-objects/object";

export const pollMs = 250;

/** How an Operation ended; undefined while it has not. */
export function endOf(operation: KubeObject): "succeeded" | "failed" | undefined {
  const { status } = conditionOf(conditionsOf(operation), "Succeeded");
  if (status === "True") return "succeeded";
  return status === "False" ? "failed" : undefined;
}

/** Why an Operation has not succeeded. */
export function unfinishedText(operation: KubeObject): string {
  const conditions = conditionsOf(operation);
  if (conditions.length === 0) return "nothing runs it: start the control plane with --enable-operations";
  if (endOf(operation) === "failed") return conditionOf(conditions, "Succeeded").message ?? "failed";
  const { status, message = "no failure so far" } = conditionOf(conditions, "Synced");
  return status === "False" ? message : "it still runs";
}

export function isOperation({ apiVersion, kind }: TypeRef): boolean {
  return kind === "Operation" && apiVersion.startsWith("ops.crossplane.io/");
}

/** The Operations among the objects that have not succeeded, as they are now. One that was deleted is not waited for. */
export async function unfinishedOperations(
  client: KubeClient,
  objects: readonly KubeObject[],
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const found = await Promise.all(
    objects.filter(isOperation).map((one) => ignoreNotFound(client.get(one, keyOf(one), { signal }))),
  );
  return found.filter((one) => one !== undefined).filter((one) => endOf(one) !== "succeeded");
}

/** Resolves when all Operations among the objects have ended, to those that failed. */
export async function endedOperations(
  client: KubeClient,
  objects: readonly KubeObject[],
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  for (;;) {
    const unfinished = await unfinishedOperations(client, objects, signal);
    if (unfinished.every((one) => endOf(one) === "failed")) return unfinished;
    await delay(pollMs, undefined, { signal });
  }
}
