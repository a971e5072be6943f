// SPDX-License-Identifier: Apache-2.0
// The state of single objects, by their conditions: explanations, trees and the screen of `purlin up` show the same one. Texts are
// those of the objects: callers make them safe to print.
import {
  type Condition,
  conditionsOf,
  groupOf,
  type KubeObject,
  keyOf,
  keyText,
  type TypeRef,
} from "@purlin/kube-objects/object";
import { functionRevisionsOf, referencesOf } from "../inspect/facts.ts";
import type { ObjectRef } from "../model/explanation.ts";

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

/** An object and what it composes. */
export interface TreeNode {
  readonly object: ObjectRef;
  /** Such as `App default/web`. */
  readonly title: string;
  readonly state: ObjectState;
  /** The function revisions that made it, by its own status. */
  readonly madeBy?: readonly string[];
  readonly children: readonly TreeNode[];
}

/** The objects to show. */
export interface ForestSource {
  /** All claims and composite resources. */
  readonly composites: readonly KubeObject[];
  /** Any object that one of them refers to; undefined when it does not exist. */
  find(reference: ObjectRef): KubeObject | undefined;
}

/** Far deeper than composite resources are nested; ends the tree of two that compose each other. */
const maxDepth = 20;

/** Claims and composite resources with what they compose. What another one composes or claims is shown there only. */
export function buildForest(source: ForestSource): TreeNode[] {
  const all = source.composites.map(factsOf);
  const kinds = new Set(all.map(({ type }) => type));
  const below = new Set(all.flatMap(({ references }) => references.map(({ text }) => text)));
  const roots = all.filter(({ text }) => !below.has(text));
  const growing = { source, kinds };
  return roots.toSorted((a, b) => (a.title < b.title ? -1 : 1)).map((facts) => growTree(facts, growing, 0));
}

/** One object with what it composes. */
export function buildTree(object: KubeObject, source: ForestSource): TreeNode {
  return growTree(factsOf(object), { source, kinds: new Set(source.composites.map(typeText)) }, 0);
}

interface Growing {
  readonly source: ForestSource;
  readonly kinds: ReadonlySet<string>;
}

function growTree({ object, title, state, madeBy, references }: Facts, growing: Growing, depth: number): TreeNode {
  const children = depth >= maxDepth ? [] : references;
  return {
    object,
    title,
    state,
    ...(madeBy.length > 0 && { madeBy }),
    children: children.map((reference) => {
      const child = growing.source.find(reference.to);
      if (child !== undefined && growing.kinds.has(typeText(child)))
        return growTree(factsOf(child), growing, depth + 1);
      return { object: reference.to, title: reference.title, state: composedState(child), children: [] };
    }),
  };
}

/** What an object says, read once. */
interface Facts {
  readonly object: ObjectRef;
  readonly type: string;
  /** Names it among all objects. */
  readonly text: string;
  readonly title: string;
  readonly state: ObjectState;
  readonly madeBy: readonly string[];
  readonly references: readonly Reference[];
}

interface Reference {
  readonly to: ObjectRef;
  readonly text: string;
  readonly title: string;
}

// Objects never change, their next version is another one: of ten thousand, those that changed are read in each look.
const known = new WeakMap<KubeObject, Facts>();

function factsOf(object: KubeObject): Facts {
  const before = known.get(object);
  if (before !== undefined) return before;
  const self = { apiVersion: object.apiVersion, kind: object.kind, ...keyOf(object) };
  const facts: Facts = {
    object: self,
    type: typeText(object),
    ...namesOf(self),
    state: compositeState(object),
    madeBy: functionRevisionsOf(object),
    references: referencesOf(object).map((to) => ({ to, ...namesOf(to) })),
  };
  known.set(object, facts);
  return facts;
}

function namesOf(reference: ObjectRef): Pick<Reference, "text" | "title"> {
  const key = keyText(reference);
  return { text: `${typeText(reference)} ${key}`, title: `${reference.kind} ${key}` };
}

/** A kind of a group: a reference may name another version of it than the one that is listed. */
function typeText({ apiVersion, kind }: TypeRef): string {
  return `${groupOf(apiVersion)}/${kind}`;
}
