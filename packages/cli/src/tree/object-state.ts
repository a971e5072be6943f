// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from "@purlin/kube-objects/object";
import { harmlessLine } from "../terminal/harmless.ts";
import { type Condition, conditionsOf } from "./conditions.ts";
import { isPackage, packageState } from "./package-state.ts";

/**
 * How an object is, for a reader: done, on its way, or in need of somebody. `troubled` is done, but a condition of its
 * authors' own is not met; `none` says nothing about itself.
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
      word: ["Ready", ...more.map(({ type }) => harmlessLine(type))].join(", "),
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
  if (object === undefined) return { health: "waiting", word: "Missing", reasons: ["it does not exist yet"] };
  if (object.metadata.deletionTimestamp) return { health: "waiting", word: "Deleting", reasons: [] };
  if (isPackage(object)) return packageState(object);
  const conditions = conditionsOf(object);
  const main = conditions.find(({ type }) => type === "Ready") ?? conditions.find(({ type }) => type === "Available");
  if (main === undefined) return { health: "none", word: "", reasons: [] };
  if (main.status === "True") return { health: "ready", word: main.type, reasons: [] };
  return { health: "waiting", word: "Waiting", reasons: [reasonText(main)] };
}

/** A condition that is not met, in one line: `Ready: Creating: Unready resources: database`. */
function reasonText({ type, reason, message }: Condition): string {
  return [type, reason, message]
    .map(harmlessLine)
    .filter((part) => part !== "")
    .join(": ");
}
