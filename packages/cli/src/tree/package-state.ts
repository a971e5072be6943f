// SPDX-License-Identifier: Apache-2.0
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import { harmlessLine } from "../terminal/harmless.ts";
import { conditionsOf } from "./conditions.ts";
import type { ObjectState } from "./object-state.ts";

const packageGroup = "pkg.crossplane.io/";
const packageKinds: readonly string[] = ["Configuration", "Function", "Provider"];

/** The types of packages. Not imported: the package manager takes longer to load than most commands take to run. */
export const packageTypes: readonly TypeRef[] = packageKinds.map((kind) => ({ apiVersion: `${packageGroup}v1`, kind }));

/** Whether an object is a Configuration, Function or Provider. */
export function isPackage({ apiVersion, kind }: Pick<KubeObject, "apiVersion" | "kind">): boolean {
  return apiVersion.startsWith(packageGroup) && packageKinds.includes(kind);
}

/** The state of a package, by its conditions Installed and Healthy for the generation that is stored. */
export function packageState(object: KubeObject): ObjectState {
  if (object.metadata.deletionTimestamp) return { health: "waiting", word: "Deleting", reasons: [] };
  const conditions = conditionsOf(object).filter((one) => isCurrent(one.observedGeneration, object));
  for (const type of ["Synced", "Installed", "Healthy"]) {
    const condition = conditions.find((one) => one.type === type);
    // Only a paused package has the condition Synced.
    if (condition === undefined && type === "Synced") continue;
    if (condition?.status === "True") continue;
    const { reason = "", message = "" } = condition ?? {};
    const reasons = [type, reason, message].map(harmlessLine).filter((part) => part !== "");
    if (condition === undefined) return { health: "waiting", word: "Waiting", reasons: [`${type}: not reported yet`] };
    const failed = condition.status === "False" && reason !== "ReconcilePaused";
    return {
      health: failed ? "failed" : "waiting",
      word: failed ? "Failing" : "Waiting",
      reasons: [reasons.join(": ")],
    };
  }
  return { health: "ready", word: "Healthy", reasons: [] };
}

function isCurrent(observed: number | undefined, { metadata }: KubeObject): boolean {
  return observed === undefined || observed >= (metadata.generation ?? 0);
}
