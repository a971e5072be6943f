// SPDX-License-Identifier: Apache-2.0

import { createHash } from "node:crypto";
import { compareUtf8 } from "@purlin/base";
import { compositeControllerName, compositionKinds, type DefinitionFacts, resourceRefsOf } from "@purlin/composition";
import { isNotServed } from "@purlin/kube-client";
import { textOf } from "@purlin/kube-objects/errors";
import { printJson } from "@purlin/kube-objects/json";
import { controllerOf, type KubeObject, keyText } from "@purlin/kube-objects/object";
import { identityAt, kindIdentity } from "../overlay/live-reads.ts";
import type { OverlayEntry } from "../overlay/overlay-entry.ts";
import { keyFromText, type Pass } from "../settle/run-pass.ts";
import { compositeFacts } from "./composite-facts.ts";
import type { Mask } from "./mask.ts";
import { type ChangeContext, isNameGenerated, objectChange } from "./object-changes.ts";
import type { DefinitionFinding, Plan, PlanError, PlannedChange, PlannedComposite, PlanSummary } from "./plan.ts";
import { markUnstable, unstableWarning } from "./unstable.ts";

/** What a plan is made of. */
interface PlanInputs {
  readonly candidate: Pass;
  /** The same without the change set; undefined when nothing is subtracted. */
  readonly baseline: Pass | undefined;
  /** The change set once more, to find what differs from run to run. */
  readonly again: Pass | undefined;
  /** The composite resources that were moved to a new revision, which only their owners do. */
  readonly moved: ReadonlySet<string>;
  readonly mask: Mask;
  readonly projection: ChangeContext["projection"];
  readonly ignores: ChangeContext["ignores"];
  readonly stepOf: ChangeContext["stepOf"];
  readonly findings: readonly DefinitionFinding[];
  readonly errors: readonly PlanError[];
  readonly warnings: readonly string[];
  readonly functions: Plan["functions"];
  readonly isStale: boolean;
  /** Objects whose changes are never the subject: revisions and derived definitions follow from others. */
  readonly listed: ReadonlySet<string>;
  /** Objects that only the preview changes, such as Functions that run from another source. */
  readonly unlisted: ReadonlySet<string>;
}

/** Builds the plan of a change set from its two passes. */
export async function buildPlan(inputs: PlanInputs): Promise<Plan> {
  const candidate = await changesOf(inputs.candidate, inputs);
  const unstable =
    inputs.again === undefined ? [] : markUnstable(candidate.byId, (await changesOf(inputs.again, inputs)).byId);
  const baseline =
    inputs.baseline === undefined ? new Map<string, PlannedChange>() : (await changesOf(inputs.baseline, inputs)).byId;
  const composites: PlannedComposite[] = [];
  for (const group of candidate.groups)
    composites.push(await plannedComposite(group, { ...inputs, ...candidate, baseline }));
  const grouped = new Set(candidate.groups.flatMap(({ ids }) => [...ids]));
  const others = [...candidate.byId].filter(([id]) => !grouped.has(id));
  const inputsLeft = others.flatMap(([id, change]) => subtracted(change, baseline.get(id)).change ?? []);
  const shown = composites.filter((one) => isListed(one, inputs.listed)).sort(byImportance);
  const inputChanges = inputsLeft.sort(byName);
  const counted = shown.filter(({ isDeferred }) => !isDeferred);
  const changes = [...inputChanges, ...counted.flatMap((one) => one.changes)];
  const warnings = [...inputs.warnings, ...unjudgedWarnings(changes, inputs), ...unstableWarning(unstable)];
  return {
    inputs: inputChanges,
    composites: shown,
    findings: inputs.findings,
    errors: [
      ...inputs.errors.map(({ text, ...error }) => ({ ...error, text: inputs.mask.text(text) })),
      ...otherFailures(inputs),
    ],
    examined: candidate.groups.length,
    summary: summaryOf(
      changes,
      shown.reduce((count, { pending }) => count + pending.length, 0),
    ),
    hash: hashOf(changes),
    isStale: inputs.isStale,
    hasBaseline: inputs.baseline !== undefined,
    warnings,
    functions: inputs.functions,
  };
}

/** One warning for each reason why the live server did not judge changes of the plan, with its own words. */
function unjudgedWarnings(changes: readonly PlannedChange[], { candidate, mask }: PlanInputs): readonly string[] {
  return [...candidate.overlay.unjudged].flatMap(([why, text]) => {
    const { length } = changes.filter(({ approximate }) => approximate.includes(why));
    if (length === 0) return [];
    return [
      `${why}: ${length} ${length === 1 ? "change is" : "changes are"} computed here, not by the API server: ${mask.text(text)}`,
    ];
  });
}

/** Failures of the controllers of definitions, Compositions and claims: what depends on them may be missing from the plan. */
function otherFailures({ candidate, mask }: PlanInputs): readonly PlanError[] {
  const failures = [...candidate.engine.failures.values()].filter(
    ({ controller }) => !controller.startsWith("composite/"),
  );
  return failures.map(({ controller, key, text }) => ({
    text: mask.text(`${controller.split("/")[0]} ${keyText(key)}: ${text}`),
    isInvalid: false,
  }));
}

/** A composite resource that was reconciled, or deleted, with the objects that belong to it. */
interface Group {
  readonly facts: DefinitionFacts;
  readonly id: string;
  readonly key: string;
  readonly ids: Set<string>;
}

interface Changes {
  readonly byId: Map<string, PlannedChange>;
  /** Why it is not known whether a composite resource leaves something behind. */
  readonly unread: readonly UnreadObject[];
  readonly groups: readonly Group[];
}

interface UnreadObject extends PlanError {
  /** The composite resource that refers to it. */
  readonly id: string;
}

/** Follow from Compositions and XRDs: reported with those. */
const derivedKinds = new Set([kindIdentity(compositionKinds.revision), kindIdentity(compositionKinds.crd)]);

async function changesOf(pass: Pass, inputs: PlanInputs): Promise<Changes> {
  const newUids = newUidsOf(pass);
  const context: ChangeContext = { ...inputs, pass, newUids, newNames: newNamesOf(pass, newUids) };
  const groups = groupsOf(pass, [...(await pass.definitions()), ...pass.removedDefinitions()]);
  const byId = new Map<string, PlannedChange>();
  const index = indexOf(groups);
  for (const [id, entry] of pass.overlay.entries) {
    const object = entry.now ?? entry.before;
    if (object === undefined || derivedKinds.has(kindIdentity(object)) || inputs.unlisted.has(id)) continue;
    const change = await objectChange(entry, context);
    if (change === undefined) continue;
    byId.set(id, change);
    groupFor(id, entry, index)?.ids.add(id);
  }
  const unread = await addLeftBehind(pass, groups, byId);
  for (const group of groups) pairReplacements(group, byId);
  return { byId, groups, unread };
}

function newUidsOf({ overlay }: Pass): ReadonlySet<string> {
  const made = [...overlay.entries.values()].filter(({ before }) => before === undefined);
  return new Set(made.flatMap(({ now }) => now?.metadata.uid ?? []));
}

function newNamesOf({ overlay }: Pass, newUids: ReadonlySet<string>): ReadonlySet<string> {
  const generated = [...overlay.entries.values()].filter((entry) => isNameGenerated(entry, newUids));
  return new Set(generated.flatMap(({ now }) => now?.metadata.name ?? []));
}

function groupsOf(pass: Pass, definitions: readonly DefinitionFacts[]): Group[] {
  const groups = new Map<string, Group>();
  const add = (facts: DefinitionFacts, key: string): void => {
    const id = identityAt(facts.compositeType, keyFromText(key));
    if (!groups.has(id)) groups.set(id, { facts, id, key, ids: new Set() });
  };
  for (const facts of definitions) {
    const prefix = `${compositeControllerName(facts.name)} `;
    for (const id of pass.engine.runs.keys()) if (id.startsWith(prefix)) add(facts, id.slice(prefix.length));
    const touched = [...pass.overlay.entries.values()].flatMap(({ before, now }) => now ?? before ?? []);
    for (const object of [...touched, ...pass.skipped]) {
      if (kindIdentity(object) === kindIdentity(facts.compositeType)) add(facts, keyText(keyOfObject(object)));
    }
  }
  return [...groups.values()];
}

function keyOfObject({ metadata }: KubeObject): { readonly namespace?: string | undefined; readonly name: string } {
  return { namespace: metadata.namespace, name: metadata.name ?? "" };
}

/** Groups by the identity of their composite resource, and by the key that reconciles it. */
interface GroupIndex {
  readonly groups: readonly Group[];
  readonly byId: ReadonlyMap<string, Group>;
  readonly byWriter: ReadonlyMap<string, Group>;
}

function indexOf(groups: readonly Group[]): GroupIndex {
  const writerOf = ({ facts, key }: Group): string => `${compositeControllerName(facts.name)} ${key}`;
  return {
    groups,
    byId: new Map(groups.map((group) => [group.id, group])),
    byWriter: new Map(groups.map((group) => [writerOf(group), group])),
  };
}

/** The composite resource that an object belongs to: its controller, the one that wrote it first, itself, or the one behind a claim. */
function groupFor(
  id: string,
  { writers, now, before }: OverlayEntry,
  { groups, byId, byWriter }: GroupIndex,
): Group | undefined {
  const object = now ?? before;
  const owner = object && controllerOf(object);
  const namespace = object?.metadata.namespace;
  const owned =
    owner &&
    (byId.get(identityAt(owner, { name: owner.name })) ?? byId.get(identityAt(owner, { namespace, name: owner.name })));
  if (owned !== undefined) return owned;
  for (const { controller, key } of writers) {
    const group = byWriter.get(`${controller} ${key}`);
    if (group !== undefined && group.id !== id) return group;
  }
  return byId.get(id) ?? (object && groups.find((group) => isClaimOf(object, group)));
}

function isClaimOf(object: KubeObject, { facts, key }: Group): boolean {
  if (facts.claimType === undefined || kindIdentity(object) !== kindIdentity(facts.claimType)) return false;
  const { spec } = object as { readonly spec?: { readonly resourceRef?: { readonly name?: string } } };
  return spec?.resourceRef?.name === key;
}

/** Adds objects that a composite resource referred to, that it no longer refers to, and that stay. Resolves to those that cannot be read. */
async function addLeftBehind(
  { overlay }: Pass,
  groups: readonly Group[],
  byId: Map<string, PlannedChange>,
): Promise<readonly UnreadObject[]> {
  const unread: UnreadObject[] = [];
  for (const group of groups) {
    const entry = overlay.entries.get(group.id);
    if (entry?.before === undefined || entry.now === undefined || entry.now.metadata.deletionTimestamp) continue;
    const { namespace } = entry.before.metadata;
    const { schema } = group.facts;
    const idsOf = (xr: KubeObject) =>
      resourceRefsOf(xr, schema).map((ref) => ({
        ref,
        id: identityAt(ref, { namespace: ref.namespace ?? namespace, name: ref.name ?? "" }),
      }));
    const kept = new Set(idsOf(entry.now).map(({ id }) => id));
    for (const { ref, id } of idsOf(entry.before)) {
      if (kept.has(id) || byId.get(id)?.class === "delete") continue;
      const key = { namespace: ref.namespace ?? namespace, name: ref.name ?? "" };
      const left = await overlay.get(ref, key).catch((error: unknown) => {
        // An object of a kind that is gone is gone too.
        if (isNotServed(error)) return undefined;
        const text = `cannot read ${ref.kind} ${keyText(key)}, which it no longer refers to: ${textOf(error)}`;
        unread.push({ id: group.id, text, isInvalid: false });
        return undefined;
      });
      if (left === undefined) continue;
      byId.set(id, leftBehind(left));
      group.ids.add(id);
    }
  }
  return unread;
}

function leftBehind({ apiVersion, kind, metadata }: KubeObject): PlannedChange {
  const { namespace, name = "" } = metadata;
  const resource = metadata.annotations?.["crossplane.io/composition-resource-name"];
  const object = { apiVersion, kind, namespace, name, resource };
  return {
    ...object,
    class: "leave-behind",
    isNameGenerated: false,
    round: 0,
    approximate: [],
    isDestructive: true,
    fields: [],
    digest: "left",
  };
}

/** A deleted and a created object of one resource name are one replacement. */
function pairReplacements({ ids }: Group, byId: Map<string, PlannedChange>): void {
  const changes = [...ids].flatMap((id) => {
    const change = byId.get(id);
    return change === undefined ? [] : [{ id, change }];
  });
  for (const { id, change } of changes) {
    if (change.class !== "create" || change.resource === undefined) continue;
    const gone = changes.find((one) => one.change.class === "delete" && one.change.resource === change.resource);
    if (gone === undefined) continue;
    byId.set(id, { ...change, class: "replace", isDestructive: true, replaces: nameOf(gone.change) });
    byId.set(gone.id, { ...gone.change, class: "replace", isDestructive: true, replacedBy: nameOf(change) });
  }
}

function nameOf({ kind, namespace, name }: PlannedChange): string {
  return `${kind} ${namespace ? `${namespace}/` : ""}${name}`;
}

/** A change without what would happen anyway. */
function subtracted(
  change: PlannedChange,
  baseline: PlannedChange | undefined,
): { readonly change?: PlannedChange; readonly pending?: PlannedChange } {
  if (baseline === undefined || baseline.class !== change.class) return { change };
  if (baseline.digest === change.digest) return { pending: change };
  if (change.class !== "update") return { change };
  const isAnyway = (field: PlannedChange["fields"][number]): boolean =>
    baseline.fields.some((one) => printJson(one) === printJson(field) && !one.sensitive);
  const [anyway, left] = [change.fields.filter(isAnyway), change.fields.filter((field) => !isAnyway(field))];
  return {
    ...(left.length > 0 && { change: { ...change, fields: left } }),
    ...(anyway.length > 0 && { pending: { ...change, fields: anyway } }),
  };
}

interface GroupContext extends Omit<PlanInputs, "baseline">, Pick<Changes, "unread"> {
  readonly byId: ReadonlyMap<string, PlannedChange>;
  readonly baseline: ReadonlyMap<string, PlannedChange>;
}

async function plannedComposite(group: Group, context: GroupContext): Promise<PlannedComposite> {
  const facts = await compositeFacts(context.candidate, group, context);
  const split = [...group.ids].flatMap((id) => {
    const change = context.byId.get(id);
    return change === undefined ? [] : [subtracted(withStep(change, group, context), context.baseline.get(id))];
  });
  const changes = split.flatMap(({ change }) => change ?? []).sort(byOrder(group));
  const pending = split.flatMap((one) => one.pending ?? []).sort(byOrder(group));
  const isNameGenerated = context.byId.get(group.id)?.isNameGenerated ?? facts.isNameGenerated;
  const errors = [...facts.errors, ...context.unread.filter(({ id }) => id === group.id)];
  return {
    ...facts,
    isNameGenerated,
    changes,
    pending,
    isDeferred: isDeferred(group, context),
    errors: errors.map(({ text, isInvalid }) => ({ text: context.mask.text(text), isInvalid })),
  };
}

/** Whether a composite resource, or one that composes it, was moved to a new revision. */
function isDeferred({ id }: Group, { candidate, moved }: Pick<PlanInputs, "candidate" | "moved">): boolean {
  if (moved.size === 0) return false;
  for (let at: string | undefined = id; at !== undefined; ) {
    if (moved.has(at)) return true;
    const entry = candidate.overlay.entries.get(at);
    const object = entry?.now ?? entry?.before;
    const owner = object && controllerOf(object);
    const above = owner && [
      identityAt(owner, { namespace: object?.metadata.namespace, name: owner.name }),
      identityAt(owner, { name: owner.name }),
    ];
    at = above?.find((one) => moved.has(one) || candidate.overlay.entries.has(one));
  }
  return false;
}

function withStep(change: PlannedChange, group: Group, { stepOf }: Pick<PlanInputs, "stepOf">): PlannedChange {
  const step = change.resource === undefined ? undefined : stepOf(group.id, change.resource);
  return step === undefined ? change : { ...change, step };
}

function isListed(
  { changes, pending, errors, adoption, incomplete, ...xr }: PlannedComposite,
  listed: ReadonlySet<string>,
): boolean {
  if (changes.length + pending.length + errors.length > 0 || incomplete !== undefined) return true;
  return adoption !== "unaffected" || listed.has(identityAt(xr, { namespace: xr.namespace, name: xr.name }));
}

/** Destructive composite resources first, then failed ones, then changed ones. */
function byImportance(a: PlannedComposite, b: PlannedComposite): number {
  const rank = ({ changes, errors }: PlannedComposite): number => {
    if (changes.some((one) => one.isDestructive)) return 0;
    if (errors.length > 0) return 1;
    return changes.length > 0 ? 2 : 3;
  };
  return rank(a) - rank(b) || compareUtf8(textOfKey(a), textOfKey(b));
}

/** Names that the API server decides are not known: what has one is listed by its name in the pipeline. */
function byName(a: PlannedChange, b: PlannedChange): number {
  const keyOf = (change: PlannedChange): string => [change.kind, change.resource ?? "", textOfKey(change)].join("\n");
  return compareUtf8(keyOf(a), keyOf(b));
}

/** By name; a claim that is deleted comes last, after what is deleted with it. */
function byOrder({ facts: { claimType } }: Group): (a: PlannedChange, b: PlannedChange) => number {
  const isLast = (change: PlannedChange): number =>
    Number(change.class === "delete" && claimType !== undefined && kindIdentity(change) === kindIdentity(claimType));
  return (a, b) => isLast(a) - isLast(b) || byName(a, b);
}

function textOfKey({
  apiVersion,
  kind,
  namespace = "",
  name,
}: Pick<PlannedChange, "apiVersion" | "kind" | "namespace" | "name">): string {
  return [kind, namespace, name, apiVersion].join("\n");
}

function summaryOf(changes: readonly PlannedChange[], pending: number): PlanSummary {
  const count = (accepts: (change: PlannedChange) => boolean): number => changes.filter(accepts).length;
  const isGone = (change: PlannedChange): boolean =>
    change.class === "delete" || (change.class === "replace" && change.replacedBy !== undefined);
  const recreated = count((one) => one.class === "recreate");
  return {
    added:
      count((one) => one.class === "create" || (one.class === "replace" && one.replaces !== undefined)) + recreated,
    modified: count((one) => one.class === "update" || one.class === "adopt"),
    removed: count(isGone) + recreated,
    replaced: count((one) => one.class === "replace" && one.replaces !== undefined),
    recreated,
    refused: count((one) => one.class === "refused"),
    pending,
    destructive: count((one) => one.isDestructive && one.replaces === undefined),
  };
}

function hashOf(changes: readonly PlannedChange[]): string {
  const keyOf = (change: PlannedChange): string =>
    change.unstable?.includes("metadata.name") ? `${change.kind}\n${change.resource ?? ""}` : textOfKey(change);
  const lines = changes.map((change) => JSON.stringify([keyOf(change), change.class, change.digest])).sort();
  return createHash("sha256").update(lines.join("\n")).digest("hex");
}
