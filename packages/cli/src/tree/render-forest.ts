// SPDX-License-Identifier: Apache-2.0
import type { Health, ObjectState, TreeNode } from "@purlin/explain";
import { groupOf } from "@purlin/kube-objects/object";
import { harmlessLine } from "../harmless.ts";
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

/** The state of an object in one line. */
export interface StateLine {
  /** Names it for users: `App default/web`. */
  readonly title: string;
  readonly text: string;
}

/**
 * What has changed between two looks, a line for each object, for output that cannot be redrawn. `absent` describes an object
 * that is no longer listed.
 */
export function changedLines(
  before: ReadonlyMap<string, StateLine>,
  now: ReadonlyMap<string, StateLine>,
  absent: "gone" | "resolved" = "gone",
): string[] {
  const changed = [...now].filter(([key, { text }]) => before.get(key)?.text !== text);
  const missing = [...before].filter(([key]) => !now.has(key));
  return [
    ...changed.map(([, { title, text }]) => `${title}: ${text}`),
    ...missing.map(([, { title }]) => `${title}: ${absent}`),
  ];
}

/** A state in one line: `Waiting: Ready: Creating; DatabaseReady: Creating`. */
export function stateText({ word, reasons }: ObjectState): string {
  return harmlessLine(reasons.length === 0 ? word : `${word}: ${reasons.map(harmlessLine).join("; ")}`);
}

/** The state of every object in trees, by group, kind and name. Titles have the group where they would name several objects. */
export function stateLines(nodes: readonly TreeNode[]): Map<string, StateLine> {
  const all = nodes.flatMap(function withBelow(node): TreeNode[] {
    return [node, ...node.children.flatMap(withBelow)];
  });
  const groups = new Map<string, Set<string>>();
  for (const { title, object } of all) {
    groups.set(title, (groups.get(title) ?? new Set()).add(groupOf(object.apiVersion)));
  }
  return new Map(
    all.map(({ title, object, state, madeBy }) => {
      const group = groupOf(object.apiVersion);
      const isShared = (groups.get(title)?.size ?? 0) > 1 && group !== "";
      const shown = isShared ? `${object.kind}.${group}${title.slice(object.kind.length)}` : title;
      const by = madeBy ? harmlessLine(`, by ${madeBy.join(", ")}`) : "";
      const text = state.word === "" ? "exists" : `${stateText(state)}${by}`;
      return [`${group}/${title}`, { title: harmlessLine(shown), text }];
    }),
  );
}
