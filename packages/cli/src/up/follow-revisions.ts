// SPDX-License-Identifier: Apache-2.0
import { functionRevisionType, packageLabel } from "@purlin/composition";
import { isServing, readRevision } from "@purlin/function-runner";
import type { InformerPool } from "@purlin/kube-client";
import type { JsonObject } from "@purlin/kube-objects";
import type { KubeObject } from "@purlin/kube-objects/object";

/**
 * Calls back with the name of a Function whenever steps may resolve to another of its revisions than before: one begins to serve or
 * no longer does, or its labels change.
 */
export function followRevisions(informers: InformerPool, onChange: (functionName: string) => void): AsyncDisposable {
  const lease = informers.acquire(functionRevisionType);
  const serving = new Map<string, string>();
  const stop = lease.informer.subscribe(({ type, object }) => {
    const { name = "", labels = {} } = object.metadata;
    const before = serving.get(name);
    const now = type === "deleted" ? undefined : choiceOf(object);
    if (now === before) return;
    if (now === undefined) serving.delete(name);
    else serving.set(name, now);
    onChange(labels?.[packageLabel] ?? "");
  });
  return {
    async [Symbol.asyncDispose]() {
      stop();
      await lease.release();
    },
  };
}

/** What steps choose a revision by; undefined while it serves none. */
function choiceOf(object: KubeObject): string | undefined {
  const revision = readRevision(object as unknown as JsonObject);
  return isServing(revision) ? JSON.stringify([revision.number, revision.digest, revision.labels]) : undefined;
}
