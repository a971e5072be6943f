// SPDX-License-Identifier: Apache-2.0
import {
  type DevelopmentTrust,
  type FunctionReference,
  type FunctionRevisions,
  honoredDevelopmentOf,
} from "@purlin/function-runner";
import type { CacheChange } from "@purlin/kube-client";
import type { ControllerClient } from "@purlin/kube-controller";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import {
  type KubeObject,
  keyText,
  memberAt,
  type ObjectKey,
  objectAt,
  type TypeRef,
  textAt,
  textMapAt,
} from "@purlin/kube-objects/object";

/** Functions, as packages install them. */
export const functionType: TypeRef = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };
/** Their revisions. */
export const functionRevisionType: TypeRef = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" };
/** The label that ties a revision to its Function. */
export const packageLabel = "pkg.crossplane.io/package";

/** The FunctionRevisions that a client reads. */
export function functionRevisionsOf(client: ControllerClient): FunctionRevisions {
  return {
    get: async (name, signal) => asJson(await client.get(functionRevisionType, { name }, { signal })),
    list: async (labels, signal) => {
      const found = await client.list(functionRevisionType, { labels: Object.fromEntries(labels), signal });
      return found;
    },
    withDigest: async (digest, signal) => {
      const field = { path: ["spec", "digest"], value: digest };
      const found = await client.list(functionRevisionType, { field, signal });
      return found;
    },
  };
}

function asJson(object: KubeObject | undefined): JsonObject | undefined {
  return object;
}

/** Whether a Function has development annotations that are trusted. */
export async function isUnderDevelopment(
  client: ControllerClient,
  name: string,
  { trust, signal }: { readonly trust: DevelopmentTrust; readonly signal?: AbortSignal | undefined },
): Promise<boolean> {
  const found = await client.get(functionType, { name }, { signal });
  return found !== undefined && honoredDevelopmentOf(found, trust) !== undefined;
}

/** Which function each step of a pipeline runs, in order. */
export function functionReferences(revision: KubeObject): readonly FunctionReference[] {
  const pipeline = memberAt(revision, ["spec", "pipeline"]);
  if (!Array.isArray(pipeline)) return [];
  return pipeline.filter(isJsonObject).map((step) => {
    const ref = textAt(step, ["functionRevisionRef", "name"]);
    const selector = memberAt(step, ["functionRevisionSelector"]);
    const matchLabels = textMapAt(step, ["functionRevisionSelector", "matchLabels"]) ?? {};
    const image = textAt(step, ["function"]);
    return {
      step: textAt(step, ["step"]) ?? "",
      functionName: textAt(objectAt(step, ["functionRef"]), ["name"]) ?? "",
      ...(ref !== undefined && { functionRevisionRef: { name: ref } }),
      ...(selector !== undefined && { functionRevisionSelector: { matchLabels } }),
      ...(image !== undefined && { function: image }),
    };
  });
}

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
