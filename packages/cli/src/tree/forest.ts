// SPDX-License-Identifier: Apache-2.0
import { type KubeObject, keyOf, keyText, type TypeRef } from "@purlin/kube-client";
import { functionRevisionsOf, type ObjectReference, referencesOf } from "./composite-kinds.ts";
import { composedState, compositeState, type ObjectState } from "./object-state.ts";

/** An object and what it composes. */
export interface TreeNode {
  /** Such as `App default/web`. */
  readonly title: string;
  readonly state: ObjectState;
  /** The function revisions that made it, as it tells itself. */
  readonly madeBy?: readonly string[];
  readonly children: readonly TreeNode[];
}

/** The objects to show. */
export interface ForestSource {
  /** All claims and composite resources. */
  readonly composites: readonly KubeObject[];
  /** Any object that one of them refers to; undefined when it does not exist. */
  find(reference: ObjectReference): KubeObject | undefined;
}

/** Far deeper than anybody nests composite resources; two that compose each other end here. */
const maxDepth = 20;

/** Claims and composite resources with what they compose. What another one composes or claims is shown there only. */
export function buildForest(source: ForestSource): TreeNode[] {
  const kinds = new Set(source.composites.map(typeText));
  const below = new Set(source.composites.flatMap((object) => referencesOf(object).map(referenceText)));
  const roots = source.composites.filter((object) => !below.has(objectText(object)));
  const growing = { source, kinds };
  return roots.toSorted((a, b) => (titleOf(a) < titleOf(b) ? -1 : 1)).map((object) => growTree(object, growing, 0));
}

/** One object with what it composes. */
export function buildTree(object: KubeObject, source: ForestSource): TreeNode {
  return growTree(object, { source, kinds: new Set(source.composites.map(typeText)) }, 0);
}

interface Growing {
  readonly source: ForestSource;
  readonly kinds: ReadonlySet<string>;
}

function growTree(object: KubeObject, growing: Growing, depth: number): TreeNode {
  const children = depth >= maxDepth ? [] : referencesOf(object);
  const madeBy = functionRevisionsOf(object);
  return {
    title: titleOf(object),
    state: compositeState(object),
    ...(madeBy.length > 0 && { madeBy }),
    children: children.map((reference) => {
      const child = growing.source.find(reference);
      if (child !== undefined && growing.kinds.has(typeText(child))) return growTree(child, growing, depth + 1);
      return { title: referenceTitle(reference), state: composedState(child), children: [] };
    }),
  };
}

function titleOf(object: KubeObject): string {
  return `${object.kind} ${keyText(keyOf(object))}`;
}

function referenceTitle(reference: ObjectReference): string {
  return `${reference.kind} ${keyText(reference)}`;
}

function typeText({ apiVersion, kind }: TypeRef): string {
  return `${apiVersion}/${kind}`;
}

function objectText(object: KubeObject): string {
  return `${typeText(object)} ${keyText(keyOf(object))}`;
}

function referenceText(reference: ObjectReference): string {
  return `${typeText(reference)} ${keyText(reference)}`;
}
