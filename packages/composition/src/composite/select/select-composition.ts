// SPDX-License-Identifier: Apache-2.0

import type { EventText, StepText } from "@purlin/kube-controller";
import { during } from "@purlin/kube-objects/errors";
import { type KubeObject, type TypeRef, textAt } from "@purlin/kube-objects/object";
import { kinds } from "../../composite-resource/constants.ts";
import {
  compositionRefOf,
  compositionSelectorOf,
  type MatchLabels,
  withCrossplaneFields,
} from "../../composite-resource/crossplane-fields.ts";
import { type CompositeContext, type CompositeDeps, steps } from "../context.ts";
import type { DefinitionFacts } from "./definition.ts";

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
  if (picked === undefined) throw new Error(`no compatible Compositions found: ${whyNone(xr, labels)}`);
  return picked;
}

function whyNone(xr: KubeObject, labels: MatchLabels): string {
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
export function normal(reason: string, message: string): EventText {
  return { type: "Normal", reason, message };
}

/** A Warning event. */
export function warning(reason: string, message: string): EventText {
  return { type: "Warning", reason, message };
}

/** A kind in messages. */
export function kindText({ apiVersion, kind }: TypeRef): string {
  return `${kind} (${apiVersion})`;
}

/** The labels of a selector in messages, sorted; empty for a selector without labels. */
export function labelsText(labels: MatchLabels): string {
  const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([key, value]) => `${key}=${value}`).join(", ");
}
