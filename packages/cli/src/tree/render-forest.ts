// SPDX-License-Identifier: Apache-2.0
import type { Health, ObjectState, TreeNode } from "@purlin/explain";
import { harmlessLine } from "../terminal/harmless.ts";
import type { Style } from "../terminal/style.ts";

const marks: Readonly<Record<Health, string>> = {
  ready: "✓",
  troubled: "!",
  waiting: "…",
  failed: "✗",
  none: "·",
};

/** Trees as lines: what there is, how it is, and below it why it is not ready. */
export function renderForest(nodes: readonly TreeNode[], style: Style): string[] {
  return nodes.flatMap((node) => renderNode(node, style, { own: "", below: "" }));
}

interface Indent {
  /** In front of the object's own line, and of everything below it. */
  readonly own: string;
  readonly below: string;
}

function renderNode({ title, state, madeBy, children }: TreeNode, style: Style, indent: Indent): string[] {
  const word = state.word === "" ? "" : `  ${paint(state, style)(harmlessLine(state.word))}`;
  const bar = children.length > 0 ? "│ " : "  ";
  return [
    `${indent.own}${paint(state, style)(marks[state.health])} ${harmlessLine(title)}${word}${madeBy ? style.faint(`  by ${harmlessLine(madeBy.join(", "))}`) : ""}`,
    ...state.reasons.map((reason) => `${indent.below}${style.faint(bar)}  ${harmlessLine(reason)}`),
    ...children.flatMap((child, index) => {
      const last = index === children.length - 1;
      return renderNode(child, style, {
        own: `${indent.below}${style.faint(last ? "└─ " : "├─ ")}`,
        below: `${indent.below}${style.faint(last ? "   " : "│  ")}`,
      });
    }),
  ];
}

function paint({ health }: ObjectState, style: Style): (text: string) => string {
  switch (health) {
    case "ready":
      return style.good;
    case "troubled":
    case "waiting":
      return style.doubtful;
    case "failed":
      return style.bad;
    case "none":
      return style.faint;
  }
}

/**
 * What has changed between two looks, a line for each object, for output that cannot be redrawn. `absent` describes an object
 * that is no longer listed.
 */
export function changedLines(
  before: ReadonlyMap<string, string>,
  now: ReadonlyMap<string, string>,
  absent: "gone" | "resolved" = "gone",
): string[] {
  const changed = [...now].filter(([title, text]) => before.get(title) !== text);
  const missing = [...before.keys()].filter((title) => !now.has(title));
  return [...changed.map(([title, text]) => `${title}: ${text}`), ...missing.map((title) => `${title}: ${absent}`)];
}

/** A state in one line: `Waiting: Ready: Creating; DatabaseReady: Creating`. */
export function stateText({ word, reasons }: ObjectState): string {
  return harmlessLine(reasons.length === 0 ? word : `${word}: ${reasons.map(harmlessLine).join("; ")}`);
}

/** The state of every object in trees, in one line each, by title. */
export function stateLines(nodes: readonly TreeNode[]): Map<string, string> {
  const lines = new Map<string, string>();
  const visit = ({ title, state, madeBy, children }: TreeNode): void => {
    const by = madeBy ? harmlessLine(`, by ${madeBy.join(", ")}`) : "";
    lines.set(harmlessLine(title), state.word === "" ? "there" : `${stateText(state)}${by}`);
    children.forEach(visit);
  };
  nodes.forEach(visit);
  return lines;
}
