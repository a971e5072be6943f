// SPDX-License-Identifier: Apache-2.0
// Packages bring kinds: objects of such a kind can be applied once its package is healthy.
import { setTimeout } from "node:timers/promises";
import type { KubeReader } from "@purlin/kube-client";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import { conditionsOf, type KubeObject, keyOf, type TypeRef } from "@purlin/kube-objects/object";

const pollMs = 200;

/** Whether an object is a package that may bring kinds. */
export function bringsKinds({ apiVersion, kind }: TypeRef): boolean {
  return apiVersion.startsWith("pkg.crossplane.io/") && (kind === "Provider" || kind === "Configuration");
}

interface PackagesWait {
  /** Whether all kinds that are waited for are served. */
  readonly areServed: () => Promise<boolean>;
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

/** Waits until kinds are served, or all packages are installed and healthy. Resolves to what a package says if neither is so in time. */
export async function awaitPackages(
  client: KubeReader,
  packages: readonly KubeObject[],
  { areServed, waitMs, signal }: PackagesWait,
): Promise<string | undefined> {
  const limit = performance.now() + waitMs;
  while (!(await areServed())) {
    const problem = await firstProblem(client, packages, signal);
    if (problem === undefined || performance.now() > limit) return problem;
    await setTimeout(pollMs, undefined, { signal });
  }
  return undefined;
}

async function firstProblem(
  client: KubeReader,
  packages: readonly KubeObject[],
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const one of packages) {
    const stored = await ignoreNotFound(client.get(one, keyOf(one), { signal }));
    const problem = stored && problemOf(stored);
    if (problem !== undefined) return `${one.kind} "${one.metadata.name ?? ""}" ${problem}`;
  }
  return undefined;
}

/** What keeps a package, as it is written now, from being installed and healthy. */
function problemOf(stored: KubeObject): string | undefined {
  const { generation = 0 } = stored.metadata;
  for (const type of ["Installed", "Healthy"]) {
    const found = conditionsOf(stored).find((condition) => condition.type === type);
    const isOld = (found?.observedGeneration ?? generation) < generation;
    if (found?.status === "True" && !isOld) continue;
    const why = isOld ? "" : [found?.reason, found?.message].filter(Boolean).join(": ");
    return `is not ${type.toLowerCase()}: ${why === "" ? "not reconciled yet" : why}`;
  }
  return undefined;
}
