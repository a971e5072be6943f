// SPDX-License-Identifier: Apache-2.0
import { type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { metaOf } from "../objects/object-members.ts";
import { hasSubresource, type ResourceType } from "../registry/registry.ts";

interface Replacement {
  readonly next: JsonObject;
  readonly old: JsonObject;
  /** The subresource that is written; empty for the object itself. */
  readonly endpoint: string;
}

/**
 * The generation of an object that replaces `old`: one more when what is wanted of it has changed. Types without a generation keep what
 * they are given. A write of the status keeps the generation, also when it changes annotations.
 */
export function nextGeneration(type: ResourceType, { next, old, endpoint }: Replacement): number | undefined {
  const { generation = 0 } = metaOf(old);
  if (type.rules.generation === undefined) return metaOf(next).generation;
  const isNew = endpoint !== "status" && hasChanged(type, next, old);
  return isNew ? oneMore(generation) : generation || undefined;
}

/** The generation after this one. Of a kind without generations it is what a client wrote: any int64. */
export function oneMore(generation: number): number {
  const given: unknown = generation;
  const next: unknown = typeof given === "bigint" ? BigInt.asIntN(64, given + 1n) : generation + 1;
  return next as number;
}

function hasChanged(type: ResourceType, next: JsonObject, old: JsonObject): boolean {
  switch (type.rules.generation) {
    case "spec":
    case "changed-spec":
      return !same(next["spec"], old["spec"]);
    case "spec-and-annotations":
      return !same(next["spec"], old["spec"]) || !same(annotations(next), annotations(old));
    case "outside-metadata":
      return !jsonEqual(wanted(type, next), wanted(type, old));
    case undefined:
      return false;
  }
}

/** Everything but metadata, and but status where that is a part of its own. */
function wanted(
  type: ResourceType,
  { metadata: _metadata, ...rest }: { readonly [key: string]: JsonValue },
): JsonObject {
  if (!hasSubresource(type, "status")) return rest;
  const { status: _status, ...withoutStatus } = rest;
  return withoutStatus;
}

function annotations(object: JsonObject): JsonValue {
  return (metaOf(object).annotations ?? {}) as JsonObject;
}

function same(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  return jsonEqual(a ?? null, b ?? null);
}
