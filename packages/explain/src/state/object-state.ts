// SPDX-License-Identifier: Apache-2.0
// The state of single objects, by their conditions: explanations, trees and the screen of `purlin up` show the same one. Texts are
// those of the objects: callers make them safe to print.
import { type Condition, conditionsOf, type KubeObject, type TypeRef } from "@purlin/kube-objects/object";

const packageGroup = "pkg.crossplane.io/";
const packageKinds: readonly string[] = ["Configuration", "Function", "Provider"];

/** The types of packages. Not imported: the package manager takes longer to load than most commands take to run. */
export const packageTypes: readonly TypeRef[] = packageKinds.map((kind) => ({ apiVersion: `${packageGroup}v1`, kind }));

/** Whether a type is one of packages: Configuration, Function or Provider. */
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
    if (condition === undefined) return { health: "waiting", word: "Waiting", reasons: [`${type}: not reported yet`] };
    const failed = condition.status === "False" && condition.reason !== "ReconcilePaused";
    return {
      health: failed ? "failed" : "waiting",
      word: failed ? "Failing" : "Waiting",
      reasons: [reasonText(condition)],
    };
  }
  return { health: "ready", word: "Healthy", reasons: [] };
}

function isCurrent(observed: number | undefined, { metadata }: KubeObject): boolean {
  return observed === undefined || observed >= (metadata.generation ?? 0);
}

/**
 * The state of an object for display: ready, waiting or failed. `troubled` is ready, but a condition of its
 * authors' own is not met; `none` has no conditions.
 */
export type Health = "ready" | "troubled" | "waiting" | "failed" | "none";

/** How an object is, and why. */
export interface ObjectState {
  readonly health: Health;
  /** In a few words, such as `Ready` or `Waiting`. */
  readonly word: string;
  /** What it waits for or what is wrong, one text for each; empty when it is ready. */
  readonly reasons: readonly string[];
}

/** What every composite resource has; the others are its authors' own words. */
const ours = new Set(["Ready", "Synced", "Responsive"]);

/** Whether there is nothing to wait for. */
export function isSound({ health }: ObjectState): boolean {
  return health !== "waiting" && health !== "failed";
}

/** How a claim or composite resource is. */
export function compositeState(object: KubeObject): ObjectState {
  const conditions = conditionsOf(object);
  const reasons = conditions.filter(({ status }) => status !== "True").map(reasonText);
  if (object.metadata.deletionTimestamp) return { health: "waiting", word: "Deleting", reasons };
  const isTrue = (type: string): boolean => conditions.some((one) => one.type === type && one.status === "True");
  const isFalse = (type: string): boolean => conditions.some((one) => one.type === type && one.status === "False");
  if (conditions.some(({ type, reason }) => type === "Synced" && reason === "ReconcilePaused")) {
    return { health: "waiting", word: "Paused", reasons };
  }
  if (isFalse("Synced")) return { health: "failed", word: "Failing", reasons };
  if (isTrue("Ready") && isTrue("Synced")) {
    const more = conditions.filter(({ type, status }) => status === "True" && !ours.has(type));
    return {
      health: reasons.length > 0 ? "troubled" : "ready",
      word: ["Ready", ...more.map(({ type }) => type)].join(", "),
      reasons,
    };
  }
  return {
    health: "waiting",
    word: "Waiting",
    reasons: reasons.length > 0 ? reasons : ["not reconciled yet"],
  };
}

/** How any other object is: what its Ready or Available condition says, or nothing. */
export function composedState(object: KubeObject | undefined): ObjectState {
  if (object === undefined) return { health: "waiting", word: "Missing", reasons: ["does not exist yet"] };
  if (object.metadata.deletionTimestamp) return { health: "waiting", word: "Deleting", reasons: [] };
  if (isPackage(object)) return packageState(object);
  const conditions = conditionsOf(object);
  const synced = conditions.find(({ type }) => type === "Synced");
  if (synced?.status === "False") return { health: "failed", word: "Failing", reasons: [reasonText(synced)] };
  const main = conditions.find(({ type }) => type === "Ready") ?? conditions.find(({ type }) => type === "Available");
  if (main === undefined) return { health: "none", word: "", reasons: [] };
  if (main.status === "True") return { health: "ready", word: main.type, reasons: [] };
  return { health: "waiting", word: "Waiting", reasons: [reasonText(main)] };
}

/** A condition that is not met, in one line: `Ready: Creating: Unready resources: database`. */
function reasonText({ type, reason, message }: Condition): string {
  return [type, reason, message].filter((part) => typeof part === "string" && part !== "").join(": ");
}
