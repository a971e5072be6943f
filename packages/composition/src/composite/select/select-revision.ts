// SPDX-License-Identifier: Apache-2.0
import { decidingRollout, isLiveRollout, isMember, readRollout } from "@purlin/function-runner";
import type { EventText, StepText } from "@purlin/kube-controller";
import { during, notFound } from "@purlin/kube-objects/errors";
import { isControlledBy, type KubeObject, memberAt, type TypeRef, textAt } from "@purlin/kube-objects/object";
import { apiGroup, kinds, labels } from "../../composite-resource/constants.ts";
import {
  type CompositeSchema,
  compositionRefOf,
  compositionSelectorOf,
  type MatchLabels,
  revisionRefOf,
  revisionSelectorOf,
  updatePolicyOf,
  withCrossplaneFields,
} from "../../composite-resource/crossplane-fields.ts";
import { type CompositeContext, type CompositeDeps, type DefinitionFacts, steps } from "../context.ts";

/** A selection that knows its CompositionRevision. */
interface RevisionSelection {
  readonly selection: Selection;
  readonly revision: KubeObject;
}

/** Gives an XR that neither names nor selects a revision the selector of its definition. */
export function selectRevisionSelector(
  before: Selection,
  { defaultRevisionSelector }: DefinitionFacts,
  { kind: { schema } }: CompositeDeps,
): Selection {
  const decided = revisionSelectorOf(before.xr, schema) ?? revisionRefOf(before.xr, schema);
  if (decided !== undefined || defaultRevisionSelector === undefined) return before;
  const xr = withCrossplaneFields(before.xr, schema, {
    compositionRevisionSelector: { matchLabels: { ...defaultRevisionSelector } },
  });
  const event = normal("CompositionSelection", "Default revision selector has been selected");
  return selected(before, steps.revisionSelector, { xr, event });
}

/** Finds the revision the XR is to use, and names it in the XR. */
export async function selectRevision(before: Selection, context: CompositeContext): Promise<RevisionSelection> {
  const { schema } = context.deps.kind;
  const ref = revisionRefOf(before.xr, schema);
  const policy = updatePolicyOf(before.xr, schema);
  const pinned = policy === "Manual" && ref !== undefined ? await pinnedRevision(ref, context) : undefined;
  const choice = chooseRevision({ policy, ref, selector: revisionSelectorOf(before.xr, schema), pinned });
  if (choice.use === "pinned") return { selection: before, revision: pinned ?? missing(ref ?? "") };
  const newest = await findNewest(before.xr, choice, context);
  if (newest === undefined) return stayOn(before, pinned ?? missing(ref ?? ""), schema);
  const revision = choice.use === "newest" ? await afterRollouts(newest, { xr: before.xr, choice, context }) : newest;
  return { selection: moveTo(before, revision, schema), revision };
}

interface RolledOut {
  readonly xr: KubeObject;
  readonly choice: { readonly matching: MatchLabels };
  readonly context: CompositeContext;
}

/**
 * The revision that a rollout of the Composition gives the XR instead of the newest one. An XR whose selector does not match that
 * revision takes no part in the rollout.
 */
async function afterRollouts(newest: KubeObject, { xr, choice, context }: RolledOut): Promise<KubeObject> {
  const { deps, signal } = context;
  const { rollouts, kind, client } = deps;
  if (rollouts === undefined) return newest;
  const name = compositionRefOf(xr, kind.schema);
  const views = (await rollouts.list(signal)).map(readRollout).filter(({ composition }) => composition?.name === name);
  const rollout = decidingRollout(views);
  if (rollout?.composition === undefined) return newest;
  const { stable, candidate } = rollout.composition;
  const subject = { uid: xr.metadata.uid ?? "", labels: xr.metadata.labels ?? {} };
  const wanted = candidate !== undefined && isMember(rollout, subject) ? candidate : stable;
  if (wanted === newest.metadata.name) return newest;
  const revision = await client.get(kinds.revision, { name: wanted }, { signal });
  if (revision === undefined && isLiveRollout(rollout)) {
    const what = `FunctionRollout "${rollout.name}" keeps the composite resource on CompositionRevision "${wanted}"`;
    throw new Error(`${what}, which does not exist: abort or delete the rollout`);
  }
  return revision !== undefined && carries(revision, choice.matching) ? revision : newest;
}

async function pinnedRevision(ref: string, { deps, signal }: CompositeContext): Promise<KubeObject | undefined> {
  return during("cannot get CompositionRevision", () => deps.client.get(kinds.revision, { name: ref }, { signal }));
}

function missing(name: string): never {
  const gone = notFound({ group: apiGroup, resource: "compositionrevisions" }, name);
  const repair = "name another one in compositionRevisionRef, or take it out for the newest";
  throw new Error(`cannot get CompositionRevision: ${gone.message}: ${repair}`, { cause: gone });
}

async function findNewest(
  xr: KubeObject,
  { use, matching }: Exclude<RevisionChoice, { use: "pinned" }>,
  { deps: { client, kind }, signal }: CompositeContext,
): Promise<KubeObject | undefined> {
  const name = compositionRefOf(xr, kind.schema) ?? "";
  const composition = await during("cannot get Composition", async () => {
    const found = await client.get(kinds.composition, { name }, { signal });
    // A pinned XR whose Composition is gone has nowhere to move, and no reason to fail.
    if (found !== undefined || use === "newest-or-stay") return found;
    const gone = notFound({ group: apiGroup, resource: "compositions" }, name);
    throw new Error(`${gone.message}: apply it, or name another one in compositionRef`, { cause: gone });
  });
  if (composition === undefined) return undefined;
  const revisions = await during("cannot fetch composition revision: cannot list CompositionRevisions", () =>
    client.list(kinds.revision, { labels: revisionLabels(name, matching), signal }),
  );
  const newest = newestRevision(revisions, composition.metadata.uid ?? "");
  if (newest === undefined && use === "newest") {
    throw new Error(`no compatible CompositionRevisions found: ${whyNone(name, matching)}`);
  }
  return newest;
}

function whyNone(composition: string, matching: MatchLabels): string {
  const wanted = labelsText(matching);
  if (wanted === "") return `Composition "${composition}" has none yet: its events say why`;
  return `none of Composition "${composition}" has the labels ${wanted}: label one, or correct the compositionRevisionSelector`;
}

function moveTo(before: Selection, { metadata: { name = "" } }: KubeObject, schema: CompositeSchema): Selection {
  if (revisionRefOf(before.xr, schema) === name) return before;
  const xr = withCrossplaneFields(before.xr, schema, { compositionRevisionRef: { name } });
  const event = normal("SelectComposition", `Selected composition revision: ${name}`);
  return selected(before, steps.revision, { xr, event });
}

function stayOn(before: Selection, pinned: KubeObject, schema: CompositeSchema): RevisionSelection {
  const composition = compositionRefOf(before.xr, schema) ?? "";
  const nothing = `no CompositionRevision of Composition "${composition}" matches the compositionRevisionSelector`;
  const event = warning("SelectComposition", `${nothing}, staying on "${pinned.metadata.name ?? ""}"`);
  return { selection: selected(before, steps.revision, { xr: before.xr, event }), revision: pinned };
}

/** The inputs for the choice of a revision. */
export interface RevisionQuestion {
  readonly policy: "Automatic" | "Manual" | undefined;
  readonly selector: MatchLabels | undefined;
  /** The revision the XR is on. */
  readonly ref: string | undefined;
  /** That revision, if it still exists. Needed under Manual only. */
  readonly pinned?: KubeObject | undefined;
}

/** Which revision to use. */
export type RevisionChoice =
  | { readonly use: "pinned" }
  /** The newest of the Composition's revisions that carry the labels. */
  | { readonly use: "newest"; readonly matching: MatchLabels }
  /** As newest; when none carries the labels the pinned one stays. */
  | { readonly use: "newest-or-stay"; readonly matching: MatchLabels };

/**
 * Decides how to find the revision of an XR. Under Manual a revision stays as long as it carries the labels of the selector, so
 * that editing the selector is how a user moves the XR.
 */
export function chooseRevision({ policy, selector, ref, pinned }: RevisionQuestion): RevisionChoice {
  if (policy === undefined) return { use: "newest", matching: {} };
  if (policy === "Automatic") return { use: "newest", matching: selector ?? {} };
  if (ref === undefined) return { use: "newest", matching: selector ?? {} };
  if (selector === undefined) return { use: "pinned" };
  if (pinned !== undefined && carries(pinned, selector)) return { use: "pinned" };
  return { use: "newest-or-stay", matching: selector };
}

/** Whether an object carries all these labels. */
export function carries({ metadata }: KubeObject, wanted: MatchLabels): boolean {
  const has = metadata.labels ?? {};
  return Object.entries(wanted).every(([key, value]) => Object.hasOwn(has, key) && has[key] === value);
}

/** The newest of the revisions that this Composition controls. */
export function newestRevision(revisions: readonly KubeObject[], compositionUid: string): KubeObject | undefined {
  let newest: KubeObject | undefined;
  for (const revision of revisions) {
    if (!isControlledBy(revision, compositionUid)) continue;
    if (newest === undefined || numberOf(revision) > numberOf(newest)) newest = revision;
  }
  return newest !== undefined && numberOf(newest) > 0 ? newest : undefined;
}

function numberOf(revision: KubeObject): number {
  return Number(memberAt(revision, ["spec", "revision"]) ?? 0);
}

/** The labels by which a Composition's revisions are listed. */
function revisionLabels(composition: string, matching: MatchLabels): MatchLabels {
  return { ...matching, [labels.compositionName]: composition };
}

/**
 * Decides which Composition the XR uses: the one its definition enforces, else the one it names, else its definition's
 * default if it has no selector, else any of those its selector matches. What is decided stays.
 */
export async function selectComposition(before: Selection, context: CompositeContext): Promise<Selection> {
  const { deps, definition, signal } = context;
  const { schema } = deps.kind;
  const chosen = takeGiven(before, definition.require(), schema);
  const name = compositionRefOf(chosen.xr, schema) ?? (await pickMatching(chosen.xr, deps, signal));
  const xr = compositionRefOf(chosen.xr, schema) === name ? chosen.xr : withComposition(chosen.xr, schema, name);
  if (compositionRefOf(before.xr, schema) === name) return selected(chosen, steps.composition, { xr });
  const event = normal("SelectComposition", `Successfully selected composition: ${name}`);
  return selected(chosen, steps.composition, { xr, event });
}

type Schema = CompositeDeps["kind"]["schema"];

function takeGiven(before: Selection, definition: DefinitionFacts, schema: Schema): Selection {
  const { enforcedComposition, defaultComposition } = definition;
  const current = compositionRefOf(before.xr, schema);
  if (enforcedComposition !== undefined && current !== enforcedComposition) {
    const event = normal("CompositionSelection", "Enforced composition has been selected");
    return selected(before, steps.composition, { xr: withComposition(before.xr, schema, enforcedComposition), event });
  }
  const undecided = current === undefined && compositionSelectorOf(before.xr, schema) === undefined;
  if (!undecided || defaultComposition === undefined) return before;
  const event = normal("CompositionSelection", "Default composition has been selected");
  return selected(before, steps.composition, { xr: withComposition(before.xr, schema, defaultComposition), event });
}

function withComposition(xr: KubeObject, schema: Schema, name: string): KubeObject {
  return withCrossplaneFields(xr, schema, { compositionRef: { name } });
}

async function pickMatching(
  xr: KubeObject,
  { client, kind, random = Math.random }: CompositeDeps,
  signal: AbortSignal,
): Promise<string> {
  const labels = compositionSelectorOf(xr, kind.schema) ?? {};
  const listed = await during("cannot list Compositions", () => client.list(kinds.composition, { labels, signal }));
  const names = listed.filter((composition) => isFor(composition, xr)).map(({ metadata }) => metadata.name ?? "");
  const picked = names.sort()[Math.floor(random() * names.length)];
  if (picked === undefined) throw new Error(`no compatible Compositions found: ${whyNoComposition(xr, labels)}`);
  return picked;
}

function whyNoComposition(xr: KubeObject, labels: MatchLabels): string {
  const wanted = labelsText(labels);
  const none = `none has the compositeTypeRef ${kindText(xr)}`;
  if (wanted === "") return `${none}: apply one, or name one in compositionRef`;
  return `${none} and the labels ${wanted}: apply one, or correct the compositionSelector`;
}

/** Whether a Composition or revision is made for composite resources of this very version and kind. */
export function isFor(composition: KubeObject, { apiVersion, kind }: KubeObject): boolean {
  const path = ["spec", "compositeTypeRef"];
  return textAt(composition, [...path, "apiVersion"]) === apiVersion && textAt(composition, [...path, "kind"]) === kind;
}

/** A composite resource during selection: changed in memory, with the events to emit. */
export interface Selection {
  readonly xr: KubeObject;
  /** Emitted once the changes are stored. */
  readonly events: readonly EventText[];
  /** The first step that changed something: when storing fails, that step failed. */
  readonly changedBy: StepText | undefined;
}

/** A selection that has changed nothing. */
export function startSelection(xr: KubeObject): Selection {
  return { xr, events: [], changedBy: undefined };
}

/** What a step does to the XR: the same object when it changes nothing. */
interface SelectionChange {
  readonly xr: KubeObject;
  readonly event?: EventText;
}

/** The selection after a step that may have changed the XR, with its events. */
export function selected(before: Selection, step: StepText, { xr, event }: SelectionChange): Selection {
  const changedBy = before.changedBy ?? (xr === before.xr ? undefined : step);
  return { xr, events: event === undefined ? before.events : [...before.events, event], changedBy };
}

/** A Normal event. */
function normal(reason: string, message: string): EventText {
  return { type: "Normal", reason, message };
}

/** A Warning event. */
function warning(reason: string, message: string): EventText {
  return { type: "Warning", reason, message };
}

/** A kind in messages. */
export function kindText({ apiVersion, kind }: TypeRef): string {
  return `${kind} (${apiVersion})`;
}

/** The labels of a selector in messages, sorted; empty for a selector without labels. */
function labelsText(labels: MatchLabels): string {
  const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([key, value]) => `${key}=${value}`).join(", ");
}
