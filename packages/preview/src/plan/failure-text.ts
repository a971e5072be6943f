// SPDX-License-Identifier: Apache-2.0
import type { CacheChange } from "@purlin/kube-client";
import { compareValues, type FieldChange } from "@purlin/kube-objects/difference";
import type { JsonValue } from "@purlin/kube-objects/json";
import { type KubeObject, keyOf, keyText } from "@purlin/kube-objects/object";
import type { Overlay } from "../overlay/overlay.ts";
import type { ReconcileFailure } from "../settle/preview-engine.ts";
import { hasMasked, Mask, shownValue } from "./mask.ts";
import { projected, schemaIn } from "./projection.ts";

const longest = 60;

/** Why a key failed. For one that does not settle: also the field that its last reconcile changed, with both values. */
export async function failureText(
  { text, lastChanges = [] }: Pick<ReconcileFailure, "text" | "lastChanges">,
  overlay: Pick<Overlay, "definitionOf">,
): Promise<string> {
  // A status follows from the rest; it is the cause only where nothing else changes.
  for (const status of [false, true]) {
    for (const change of lastChanges) {
      const found = await changeText(change, { status, overlay });
      if (found !== undefined) return `${text}; still changing: ${found}`;
    }
  }
  return text;
}

interface Showing {
  readonly status: boolean;
  readonly overlay: Pick<Overlay, "definitionOf">;
}

async function changeText(change: CacheChange, { status, overlay }: Showing): Promise<string | undefined> {
  const { object } = change;
  const name = `${object.kind}/${keyText(keyOf(object))}`;
  if (change.type !== "updated") return `${name} (${change.type === "added" ? "created" : "deleted"} again)`;
  const schema = schemaIn(await overlay.definitionOf(object), object.apiVersion);
  const mask = new Mask();
  const shown = (one: KubeObject): JsonValue => mask.object(projected(one, { status, owners: false }), schema);
  const [field] = compareValues(shown(change.previous), shown(object), schema);
  return field && `${name} ${fieldText(field)}`;
}

function fieldText({ path, op, old, new: next }: FieldChange): string {
  if (op !== "replace") return `${path} (${op === "add" ? "added" : "removed"})`;
  if (hasMasked(old) && hasMasked(next)) return `${path} (sensitive)`;
  return `${path}: ${valueText(old)} -> ${valueText(next)}`;
}

function valueText(value: JsonValue | undefined): string {
  const text = JSON.stringify(shownValue(value ?? null));
  return text.length <= longest ? text : `${text.slice(0, longest)}…`;
}
