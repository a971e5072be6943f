// SPDX-License-Identifier: Apache-2.0
import {
  compositeControllerName,
  compositionKinds,
  compositionRefOf,
  type DefinitionFacts,
  revisionRefOf,
  revisionSelectorOf,
  updatePolicyOf,
} from "@purlin/composition";
import type { CacheChange } from "@purlin/kube-client";
import { compareValues, type FieldChange } from "@purlin/kube-objects/difference";
import { type JsonValue, jsonEqual, printJson } from "@purlin/kube-objects/json";
import {
  conditionOf,
  conditionsOf,
  isPaused,
  type KubeObject,
  keyOf,
  keyText,
  numberAt,
  textAt,
} from "@purlin/kube-objects/object";
import type { Overlay } from "../overlay/overlay.ts";
import { itemId, type ReconcileFailure } from "../settle/preview-engine.ts";
import { keyFromText, type Pass } from "../settle/run-pass.ts";
import { hasMasked, Mask, shownValue } from "./mask.ts";
import { projected, schemaIn } from "./object-changes.ts";
import type { Adoption, PlanError, PlannedComposite } from "./plan.ts";

/** The composite resource that a group is about. */
interface CompositeGroup {
  readonly facts: DefinitionFacts;
  readonly id: string;
  readonly key: string;
}

/** What a plan says of a composite resource beside its changes. */
export async function compositeFacts(
  pass: Pass,
  group: CompositeGroup,
  { mask, moved }: { readonly mask: Mask; readonly moved: ReadonlySet<string> },
): Promise<Omit<PlannedComposite, "changes" | "pending" | "isDeferred">> {
  const { compositeType: type, schema, name: definition } = group.facts;
  const key = keyFromText(group.key);
  const entry = pass.overlay.entries.get(group.id);
  const now = entry === undefined ? await pass.overlay.get(type, key) : entry.now;
  const before = entry === undefined ? now : entry.before;
  const item = { controller: compositeControllerName(definition), key };
  const xr = now ?? before;
  const failure = pass.engine.failures.get(itemId(item));
  const text = failure && (await failureText(failure, pass.overlay));
  const isForecast = failure !== undefined && failure.round >= pass.forecastFrom && !failure.isUnsettled;
  return {
    apiVersion: type.apiVersion,
    kind: type.kind,
    namespace: key.namespace,
    name: key.name,
    isNameGenerated:
      before === undefined &&
      (entry?.writers[0]?.controller.startsWith("claim/") || Boolean(xr?.metadata.generateName)),
    composition: xr && compositionRefOf(xr, schema),
    revision: {
      from: before && (await revisionNumber(pass, revisionRefOf(before, schema))),
      to: now && (await revisionNumber(pass, revisionRefOf(now, schema))),
    },
    adoption: moved.has(group.id) ? "pinned" : adoptionOf(pass, { before, now }, group.facts),
    ...heldIn(pass, { group, mask }),
    rounds: pass.engine.runs.get(itemId(item)) ?? 0,
    ...(isForecast && { incomplete: mask.text(failure.text) }),
    errors: isForecast ? [] : errorsOf({ failure: text, xr: now, mask }),
  };
}

/** What holds the composite resource until its plan is approved. */
function heldIn(
  { held }: Pass,
  { group, mask }: { readonly group: CompositeGroup; readonly mask: Mask },
): Pick<PlannedComposite, "held"> {
  const hold = held.get(group.id);
  if (hold === undefined) return {};
  return { held: { reason: hold.reason, message: mask.text(hold.message), hash: hold.hash } };
}

async function revisionNumber(pass: Pass, name: string | undefined): Promise<number | undefined> {
  if (name === undefined) return undefined;
  const revision = await pass.client.get(compositionKinds.revision, { name });
  return revision && numberAt(revision, ["spec", "revision"]);
}

function errorsOf({
  failure,
  xr,
  mask,
}: {
  readonly failure: string | undefined;
  readonly xr: KubeObject | undefined;
  readonly mask: Mask;
}): readonly PlanError[] {
  if (failure !== undefined) return [{ text: mask.text(failure), isInvalid: false }];
  // A reconcile that must not be retried reports its failure in the status alone.
  const synced = xr && conditionOf(conditionsOf(xr), "Synced");
  if (synced?.status !== "False" || synced.reason === "ReconcilePaused") return [];
  return [{ text: mask.text(synced.message ?? synced.reason ?? "not synced"), isInvalid: false }];
}

/** How a composite resource reacts to a new revision of a Composition. */
function adoptionOf(
  pass: Pass,
  { before, now }: { readonly before: KubeObject | undefined; readonly now: KubeObject | undefined },
  { schema }: DefinitionFacts,
): Adoption {
  const xr = now ?? before;
  if (xr === undefined) return "unaffected";
  const changed = changedCompositions(pass);
  const [used, uses] = [before && compositionRefOf(before, schema), now && compositionRefOf(now, schema)];
  if (used !== undefined && uses !== undefined && used !== uses) return changed.has(uses) ? "newly selects" : "leaves";
  if (before !== undefined && used === undefined && uses !== undefined) return "newly selects";
  if (before === undefined || uses === undefined || !changed.has(uses)) return stopOf(before, now);
  if (before.metadata.deletionTimestamp) return "deleting";
  if (isPaused(xr)) return "paused";
  if (revisionRefOf(before, schema) !== (now && revisionRefOf(now, schema))) return "adopts";
  if (updatePolicyOf(xr, schema) === "Manual") return "pinned";
  return revisionSelectorOf(xr, schema) === undefined ? "unaffected" : "selector";
}

/** What keeps the controller from composing for a composite resource that is new or has changed itself. */
function stopOf(before: KubeObject | undefined, now: KubeObject | undefined): Adoption {
  const isChanged = now !== undefined && !jsonEqual(before?.["spec"] ?? null, now["spec"] ?? null);
  if (!isChanged) return "unaffected";
  if (now.metadata.deletionTimestamp) return "deleting";
  return isPaused(now) ? "paused" : "unaffected";
}

/** What is known of passes that have ended, for all their composite resources. */
const known = new WeakMap<Pass, ReadonlySet<string>>();

/** The Compositions that have another newest revision than before. */
function changedCompositions(pass: Pass): ReadonlySet<string> {
  const before = known.get(pass);
  if (before !== undefined) return before;
  const changed = revisedIn(pass);
  known.set(pass, changed);
  return changed;
}

function revisedIn({ overlay }: Pass): ReadonlySet<string> {
  const changed = new Set<string>();
  for (const { before, now } of overlay.entries.values()) {
    if (now?.kind !== compositionKinds.revision.kind || before !== undefined) continue;
    const name = textAt(now, ["metadata", "labels", "crossplane.io/composition-name"]);
    if (name !== undefined) changed.add(name);
  }
  return changed;
}

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
  const text = printJson(shownValue(value ?? null));
  return text.length <= longest ? text : `${text.slice(0, longest)}…`;
}
