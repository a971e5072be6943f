// SPDX-License-Identifier: Apache-2.0
import { type KubeObject, keyOf } from "@purlin/kube-client";
import type { FunctionProcess } from "@purlin/package-manager";
import type { Style } from "../terminal/style.ts";
import type { ObjectReference } from "../tree/composite-kinds.ts";
import { conditionsOf } from "../tree/conditions.ts";
import { buildForest, type ForestSource, type TreeNode } from "../tree/forest.ts";
import { renderForest, stateLines, stateText } from "../tree/render-forest.ts";

/** How everything is at one moment. */
export interface Situation {
  readonly forest: readonly TreeNode[];
  /** What is wrong with definitions and functions, by name. */
  readonly problems: ReadonlyMap<string, string>;
  /** Definitions that do not offer their kinds yet, and objects that were applied but have not been seen since. */
  readonly pending: number;
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
  const problems = new Map<string, string>();
  for (const definition of source.pending) {
    const reason = conditionsOf(definition).find(({ status, message }) => status !== "True" && message !== "");
    if (reason !== undefined) problems.set(`${definition.kind} ${definition.metadata.name ?? ""}`, reason.message);
  }
  for (const process of processes) {
    const problem = problemOf(process);
    if (problem !== undefined) problems.set(`Function ${process.name}`, problem);
  }
  const unseen = applied.filter((object) => !isSeen(object, source.find(referenceTo(object))));
  return { forest: buildForest(source), problems, pending: source.pending.length + unseen.length };
}

function referenceTo(object: KubeObject): ObjectReference {
  return { apiVersion: object.apiVersion, kind: object.kind, ...keyOf(object) };
}

/** Versions are numbers that grow. */
function isSeen(applied: KubeObject, seen: KubeObject | undefined): boolean {
  return Number(seen?.metadata.resourceVersion ?? 0) >= Number(applied.metadata.resourceVersion ?? 0);
}

function problemOf({ state }: FunctionProcess): string | undefined {
  if (state.phase === "failed") return state.problem;
  if (state.phase === "serving" && state.problem !== undefined) {
    return `${state.problem} (the last good version keeps serving)`;
  }
  return undefined;
}

/** Whether nothing is left to wait for. */
export function isSettled({ forest, problems, pending }: Situation): boolean {
  return pending === 0 && problems.size === 0 && forest.every(isReady);
}

function isReady({ state, children }: TreeNode): boolean {
  return state.health !== "waiting" && state.health !== "failed" && children.every(isReady);
}

/** Everything as lines for a screen. */
export function situationLines({ forest, problems }: Situation, style: Style): string[] {
  const trouble = [...problems].map(([name, text]) => `${style.bad("✗")} ${name}\n    ${text}`.split("\n"));
  return [...renderForest(forest, style), ...trouble.flat()];
}

/** Everything by name, in a line each, to see what changes. */
export function situationTexts({ forest, problems }: Situation): Map<string, string> {
  return new Map([...stateLines(forest), ...problems]);
}

/** What is not ready, and why, in a line each. */
export function unsettledLines(situation: Situation): string[] {
  const waiting: string[] = [...situation.problems].map(([name, text]) => `${name}: ${text}`);
  const visit = ({ title, state, children }: TreeNode): void => {
    if (state.health === "waiting" || state.health === "failed") {
      waiting.push(`${title}: ${stateText(state)}`);
    }
    children.forEach(visit);
  };
  situation.forest.forEach(visit);
  return waiting;
}
