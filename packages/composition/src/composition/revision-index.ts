// SPDX-License-Identifier: Apache-2.0

import type { CacheChange } from "@purlin/kube-client";
import { type KubeObject, keyText, type ObjectKey } from "@purlin/kube-objects/object";
import { functionReferences } from "./function-revisions.ts";

/** An index of CompositionRevisions by function, updated by their watch. */
interface RevisionIndex {
  note(change: CacheChange): void;
  /** The revisions with a step that may run one of these functions. */
  using(functions: readonly string[]): readonly ObjectKey[];
}

/** The key of steps that name an image: they may run a revision of any function. */
const anyFunction = "";

/** Makes an empty index. */
export function createRevisionIndex(): RevisionIndex {
  const users = new Map<string, Map<string, ObjectKey>>();

  function remove(revision: KubeObject): void {
    const key = revision.metadata.name ?? "";
    for (const functionName of functionsOf(revision)) {
      const keys = users.get(functionName);
      keys?.delete(key);
      if (keys?.size === 0) users.delete(functionName);
    }
  }

  function add(revision: KubeObject): void {
    const { name = "" } = revision.metadata;
    for (const functionName of functionsOf(revision)) {
      const keys = users.get(functionName) ?? new Map<string, ObjectKey>();
      users.set(functionName, keys.set(name, { name }));
    }
  }

  return {
    note(change) {
      if (change.type === "updated") remove(change.previous);
      if (change.type === "deleted") remove(change.object);
      else add(change.object);
    },
    using(functions) {
      const found = [...functions, anyFunction].flatMap((name) => [...(users.get(name)?.values() ?? [])]);
      return [...new Map(found.map((key) => [keyText(key), key])).values()];
    },
  };
}

function functionsOf(revision: KubeObject): ReadonlySet<string> {
  const references = functionReferences(revision);
  return new Set(references.map((step) => (step.function === undefined ? step.functionName : anyFunction)));
}
