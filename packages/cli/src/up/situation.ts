// SPDX-License-Identifier: Apache-2.0
import { type KubeObject, keyOf } from "@purlin/kube-client";
import type { FunctionProcess } from "@purlin/package-manager";
import { harmlessLine } from "../terminal/harmless.ts";
import type { Style } from "../terminal/style.ts";
import type { ObjectReference } from "../tree/composite-kinds.ts";
import { conditionsOf } from "../tree/conditions.ts";
import { buildForest, type ForestSource, type TreeNode } from "../tree/forest.ts";
import type { Health } from "../tree/object-state.ts";
import { renderForest, stateLines, stateText } from "../tree/render-forest.ts";

/** How everything is at one moment. */
export interface Situation {
  readonly forest: readonly TreeNode[];
  /** How functions are that run here. */
  readonly functions: readonly Part[];
  /** Definitions that do not offer their kinds yet. */
  readonly definitions: readonly Part[];
  /** Objects that were applied but have not been seen since. */
  readonly unseen: number;
}

/** Something beside claims and composite resources that has to work. */
export interface Part {
  /** Such as `Function quickstart-app`. */
  readonly title: string;
  /** How it is, in one line. */
  readonly text: string;
  readonly isProblem: boolean;
}

/** What there is to look at. */
export interface SituationSource extends ForestSource {
  readonly pending: readonly KubeObject[];
}

/** Looks at everything once. `applied` are claims and composite resources that must have been seen as they are now. */
export function takeIn(
  source: SituationSource,
  processes: readonly FunctionProcess[],
  applied: readonly KubeObject[] = [],
): Situation {
  const unseen = applied.filter((object) => !isSeen(object, source.find(referenceTo(object))));
  return {
    forest: buildForest(source),
    functions: processes.map(functionPart),
    definitions: source.pending.map(definitionPart),
    unseen: unseen.length,
  };
}

function definitionPart(definition: KubeObject): Part {
  const reason = conditionsOf(definition).find(({ status, message }) => status !== "True" && message !== "");
  const title = `${definition.kind} ${definition.metadata.name ?? ""}`;
  if (reason === undefined) return { title, text: "not offered yet", isProblem: false };
  return { title, text: harmlessLine(reason.message), isProblem: true };
}

function functionPart({ name, state, root }: FunctionProcess): Part {
  // What runs from an image is a revision of a package.
  const title = `${root === undefined ? "Function" : "FunctionRevision"} ${name}`;
  if (state.phase === "failed") return { title, text: harmlessLine(state.problem), isProblem: true };
  if (state.phase === "starting") return { title, text: "starting", isProblem: false };
  if (state.problem === undefined) return { title, text: "serving", isProblem: false };
  const text = `${harmlessLine(state.problem)} (the last good version keeps serving)`;
  return { title, text, isProblem: true };
}

function referenceTo(object: KubeObject): ObjectReference {
  return { apiVersion: object.apiVersion, kind: object.kind, ...keyOf(object) };
}

/** Versions are numbers that grow. */
function isSeen(applied: KubeObject, seen: KubeObject | undefined): boolean {
  return Number(seen?.metadata.resourceVersion ?? 0) >= Number(applied.metadata.resourceVersion ?? 0);
}

/** Whether nothing is left to wait for. */
export function isSettled({ forest, functions, definitions, unseen }: Situation): boolean {
  const calm = unseen === 0 && definitions.length === 0 && !functions.some(({ isProblem }) => isProblem);
  return calm && forest.every(isReady);
}

function isReady({ state, children }: TreeNode): boolean {
  return state.health !== "waiting" && state.health !== "failed" && children.every(isReady);
}

/** Everything as lines for a screen of so many rows. Where not all of it fits, what needs somebody comes first. */
export function situationLines(
  { forest, functions, definitions }: Situation,
  style: Style,
  rows: number = Number.POSITIVE_INFINITY,
): string[] {
  const trouble = [...definitions, ...functions].filter(({ isProblem }) => isProblem);
  const lines = trouble.flatMap(({ title, text }) => [`${style.bad("✗")} ${title}`, `    ${text}`]);
  const all = [...renderForest(forest, style), ...lines];
  if (all.length <= rows) return all;
  const ranked = forest.map((node) => ({ node, urgency: urgencyOf(node) }));
  const sorted = ranked.toSorted((a, b) => b.urgency - a.urgency).map(({ node }) => node);
  return [...lines, ...renderForest(sorted, style)];
}

const urgencies: Readonly<Record<Health, number>> = { none: 0, ready: 0, troubled: 1, waiting: 2, failed: 3 };

/** That of whatever in a tree needs somebody most. */
function urgencyOf({ state, children }: TreeNode): number {
  return Math.max(urgencies[state.health], ...children.map(urgencyOf));
}

/** Everything by name, in a line each, to see what changes. */
export function situationTexts({ forest, functions, definitions }: Situation): Map<string, string> {
  const parts = [...definitions.filter(({ isProblem }) => isProblem), ...functions];
  return new Map([...parts.map(({ title, text }) => [title, text] as const), ...stateLines(forest)]);
}

/** What is not ready, and why, in a line each. */
export function unsettledLines(situation: Situation): string[] {
  const parts = [...situation.definitions, ...situation.functions.filter(({ isProblem }) => isProblem)];
  const waiting: string[] = parts.map(({ title, text }) => `${title}: ${text}`);
  const visit = ({ title, state, children }: TreeNode): void => {
    if (state.health === "waiting" || state.health === "failed") {
      waiting.push(`${title}: ${stateText(state)}`);
    }
    children.forEach(visit);
  };
  situation.forest.forEach(visit);
  return waiting;
}
