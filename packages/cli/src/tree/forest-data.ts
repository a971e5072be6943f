// SPDX-License-Identifier: Apache-2.0
import type { TreeNode } from "./forest.ts";
import type { Health } from "./object-state.ts";

/** A tree for other programs. */
export interface TreeData {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly state: Health;
  /** What it waits for or what is wrong. */
  readonly reasons: readonly string[];
  readonly functionRevisions?: readonly string[];
  readonly children: readonly TreeData[];
}

/** Trees as data, with a word for each mark. */
export function treeData({ object, state, madeBy, children }: TreeNode): TreeData {
  const { apiVersion, kind, namespace, name } = object;
  return {
    apiVersion,
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    state: state.health,
    reasons: state.reasons,
    ...(madeBy === undefined ? {} : { functionRevisions: madeBy }),
    children: children.map(treeData),
  };
}
