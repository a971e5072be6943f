// SPDX-License-Identifier: Apache-2.0
import { type KubeObject, textAt } from "@purlin/kube-objects/object";
import { runtimeLabel } from "@purlin/oci";
import { createMemory } from "../../fetch/memory.ts";
import type { PackageClient } from "../../fetch/package-client.ts";
import { referenceOfRevision, requestOf } from "../../fetch/package-request.ts";

const remembered = 256;

/**
 * Refuses images that cannot run on a cluster: a TypeScript function without a base runs on the Node of Purlin itself,
 * which a cluster does not have. Each image is checked once; an image that cannot be read now is accepted.
 */
export function createRunnableCheck(
  packages: PackageClient,
): (revision: KubeObject, signal: AbortSignal) => Promise<void> {
  const needsNode = createMemory<boolean>(remembered);
  return async (revision, signal) => {
    const reference = referenceOfRevision(revision);
    const key = `${revision.metadata.uid ?? ""} ${textAt(revision, ["status", "resolvedImage"]) ?? ""}`;
    let isBare = needsNode.get(key);
    if (isBare === undefined) {
      isBare = await lacksNode(packages, revision, signal);
      if (isBare !== undefined) needsNode.set(key, isBare);
    }
    if (isBare !== true) return;
    throw new Error(
      `${reference} brings no Node to run on, and a cluster has none: build it with a base that does, ` +
        "such as: purlin xpkg build -f package --function src/function.ts --base registry.example.org/library/node:22-slim",
    );
  };
}

async function lacksNode(
  packages: PackageClient,
  revision: KubeObject,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const request = requestOf(revision, referenceOfRevision(revision), signal);
  try {
    const { labels } = await packages.config(await packages.resolve(request), request);
    return labels[runtimeLabel] === "node";
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
