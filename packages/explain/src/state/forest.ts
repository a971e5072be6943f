// SPDX-License-Identifier: Apache-2.0
import { type KubeObject, keyOf, keyText, type TypeRef } from "@purlin/kube-objects/object";
import { functionRevisionsOf, referencesOf } from "../inspect/facts.ts";
import type { ObjectRef } from "../model/explanation.ts";
import { composedState, compositeState, type ObjectState } from "./object-state.ts";

/** An object and what it composes. */
export interface TreeNode {
  readonly object: ObjectRef;
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

function typeText({ apiVersion, kind }: TypeRef): string {
  return `${apiVersion}/${kind}`;
}
