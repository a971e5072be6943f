// SPDX-License-Identifier: Apache-2.0

import { createHash } from "node:crypto";
import {
  type Clock,
  finish,
  inTurns,
  isPartDone,
  type Log,
  silentLog,
  sorting,
  systemClock,
  type Work,
} from "@purlin/base";
import type { CacheChange } from "@purlin/kube-client";
import {
  attempt,
  type ControllerClient,
  defineController,
  type EventRecorder,
  type ReconcileContext,
  type ReconcileResult,
  type WatchingController,
} from "@purlin/kube-controller";
import { wrapError } from "@purlin/kube-objects/errors";
import { compareUtf8, type JsonObject, type JsonValue, jsonEqual, printJson } from "@purlin/kube-objects/json";
import {
  controllerReference,
  isControlledBy,
  isDeleted,
  type KubeObject,
  labelOf,
  numberAt,
  type ObjectKey,
  objectAt,
  withMember,
  withOwner,
} from "@purlin/kube-objects/object";
import { fieldManagers, kinds, labels } from "../composite-resource/constants.ts";

/** The dependencies of the controller of Compositions. */
interface RevisionsDeps {
  readonly client: ControllerClient;
  readonly events: EventRecorder;
  readonly clock?: Clock | undefined;
  readonly log?: Log | undefined;
}

const name = "revisions/composition.apiextensions.crossplane.io";
const timeoutMs = 60_000;

const steps = {
  list: { reason: "CreateRevision", text: "cannot list CompositionRevisions" },
  plan: { reason: "UpdateRevision", text: "cannot update CompositionRevision" },
  update: { reason: "UpdateRevision", text: "cannot update CompositionRevision" },
  create: { reason: "CreateRevision", text: "cannot create CompositionRevision" },
} as const;

/** The controller that keeps a CompositionRevision of every content a Composition has had. */
export function createRevisionsController(deps: RevisionsDeps): WatchingController {
  return defineController({
    client: deps.client,
    events: deps.events,
    clock: deps.clock ?? systemClock,
    log: deps.log ?? silentLog,
    name,
    type: kinds.composition,
    timeoutMs,
    watches: [
      { type: "Composition", object: kinds.composition, keys: ({ object }) => [{ name: object.metadata.name ?? "" }] },
      { type: "CompositionRevision", object: kinds.revision, keys: compositionsOf },
    ],
    // A Composition has no status: its author sees failures as events.
    reconcile: (context) => keepRevisions(context, deps.client),
  });
}

/** The Compositions before and after a change: an edited label may have taken a revision away from one of them. */
function compositionsOf(change: CacheChange): readonly ObjectKey[] {
  const objects = change.type === "updated" ? [change.previous, change.object] : [change.object];
  const names = objects.flatMap((revision) => labelOf(revision, labels.compositionName) ?? []);
  return [...new Set(names)].map((composition) => ({ name: composition }));
}

async function keepRevisions(
  { stored, signal, emit }: ReconcileContext,
  client: ControllerClient,
): Promise<ReconcileResult> {
  const composition = stored.object;
  if (isDeleted(composition)) return {};
  const options = { fieldManager: fieldManagers.update, signal };
  const wanted = { [labels.compositionName]: composition.metadata.name ?? "" };
  const revisions = await attempt(steps.list, () => client.list(kinds.revision, { labels: wanted, signal }));
  const { updates, create } = await attempt(steps.plan, () => inTurns(planningRevisions(composition, revisions)));
  for (const revision of updates) await attempt(steps.update, () => client.update(revision, options));
  if (create === undefined) return {};
  await attempt(steps.create, () => client.create(create, options));
  emit({ reason: steps.create.reason, message: "Created new revision" });
  return {};
}

/** The writes after which the content of a Composition is its newest revision. */
interface RevisionPlan {
  /** Revisions to update: adopted, or renumbered because the Composition went back to them. */
  readonly updates: readonly KubeObject[];
  /** The revision of content that is new. */
  readonly create: KubeObject | undefined;
}

/**
 * Plans a Composition's revisions, given all that carry its name. Throws when another owner controls one of them.
 */
export function planRevisions(composition: KubeObject, revisions: readonly KubeObject[]): RevisionPlan {
  return finish(planningRevisions(composition, revisions));
}

/** {@link planRevisions} in parts: a Composition may have megabytes, and many revisions that differ in little. */
export function* planningRevisions(composition: KubeObject, revisions: readonly KubeObject[]): Work<RevisionPlan> {
  const content = contentOf(composition);
  const hash = yield* hashingContent(content);
  const newest = revisions.reduce((most, revision) => Math.max(most, numberOf(revision)), 0);
  const current = yield* findingRevision(newestFirst(revisions), content, hash);
  const planned = revisions.map((revision) => {
    const owned = adopted(composition, revision);
    const isLate = revision === current && numberOf(revision) !== newest;
    return isLate ? withMember(owned, ["spec", "revision"], newest + 1) : owned;
  });
  return {
    updates: planned.filter((revision, index) => revision !== revisions[index]),
    create: current === undefined ? newRevision(composition, hash, newest + 1) : undefined,
  };
}

/** The number of a revision; 0 when it has none. */
export function numberOf(revision: KubeObject): number {
  return numberAt(revision, ["spec", "revision"]);
}

function newestFirst(revisions: readonly KubeObject[]): readonly KubeObject[] {
  return revisions.toSorted((a, b) => numberOf(b) - numberOf(a));
}

function adopted(composition: KubeObject, revision: KubeObject): KubeObject {
  if (isControlledBy(revision, composition.metadata.uid)) return revision;
  try {
    return withOwner(revision, controllerReference({ ...composition, ...kinds.composition }));
  } catch (error) {
    throw wrapError("cannot own CompositionRevision", error);
  }
}

const shownHash = 7;

function newRevision(composition: KubeObject, hash: string, revision: number): KubeObject {
  const { name = "", annotations } = composition.metadata;
  const { labels: authored, spec } = contentOf(composition);
  return {
    ...kinds.revision,
    metadata: {
      name: `${name}-${hash.slice(0, shownHash)}`,
      // Ours come last: a Composition cannot set the labels of another Composition's revisions.
      labels: {
        ...(authored as Readonly<Record<string, string>>),
        [labels.compositionName]: name,
        [labels.compositionHash]: hashLabel(hash),
      },
      ...(annotations && Object.keys(annotations).length > 0 && { annotations }),
      ownerReferences: [controllerReference({ ...composition, ...kinds.composition })],
    },
    spec: { ...spec, revision } as JsonValue,
  };
}

/** The content of a Composition that a revision copies: labels, annotations and spec. */
type CompositionContent = {
  readonly labels: JsonObject;
  readonly annotations: JsonObject;
  readonly spec: JsonObject;
};

const ownLabels: ReadonlySet<string> = new Set([labels.compositionName, labels.compositionHash]);

function withoutOwnLabels(object: KubeObject): JsonObject {
  const all = objectAt(object, ["metadata", "labels"]);
  return Object.fromEntries(Object.entries(all).filter(([key]) => !ownLabels.has(key)));
}

/** The content of a Composition. Labels that mark revisions are ours to set. */
function contentOf(composition: KubeObject): CompositionContent {
  return {
    labels: withoutOwnLabels(composition),
    annotations: objectAt(composition, ["metadata", "annotations"]),
    spec: objectAt(composition, ["spec"]),
  };
}

/** The content a revision was made of. */
function contentOfRevision(revision: KubeObject): CompositionContent {
  return contentOf(withMember(revision, ["spec", "revision"], undefined));
}

/** The hash of a content: of its JSON text with the members of every object in order. */
export function* hashingContent(content: CompositionContent): Work<string> {
  const hash = createHash("sha256");
  let text = "";
  yield* printingSorted(content, (part) => {
    text += part;
    if (text.length < hashedAtOnce) return;
    hash.update(text);
    text = "";
  });
  return hash.update(text).digest("hex");
}

const hashedAtOnce = 2 ** 16;

function* printingSorted(value: JsonValue, write: (text: string) => void): Work<void> {
  if (isPartDone()) yield;
  if (typeof value !== "object" || value === null) {
    write(printJson(value));
    return;
  }
  if (Array.isArray(value)) {
    let before = "[";
    for (const item of value as readonly JsonValue[]) {
      write(before);
      yield* printingSorted(item, write);
      before = ",";
    }
    write(before === "[" ? "[]" : "]");
    return;
  }
  const object = value as JsonObject;
  let before = "{";
  for (const key of yield* keysInOrder(object)) {
    if (object[key] === undefined) continue;
    write(`${before}${printJson(key)}:`);
    yield* printingSorted(object[key] as JsonValue, write);
    before = ",";
  }
  write(before === "{" ? "{}" : "}");
}

/** Keys that are integers come first, as in every object of JavaScript: the hashes of stored revisions were made so. */
function* keysInOrder(object: JsonObject): Work<readonly string[]> {
  const keys = Object.keys(object);
  const first = keys.findIndex((key) => !isIndex(key));
  if (first === -1) return keys;
  return [...keys.slice(0, first), ...(yield* sorting(keys.slice(first), compareUtf8))];
}

const mostIndexes = 2 ** 32 - 1;

/** Whether JavaScript puts a key in the order of numbers. */
function isIndex(key: string): boolean {
  const index = Number(key) >>> 0;
  return String(index) === key && index < mostIndexes;
}

const labelLength = 63;

/** A hash, cut to the length of a label value. */
function hashLabel(hash: string): string {
  return hash.slice(0, labelLength);
}

/**
 * The first revision with this content: by its hash, or field by field. The latter recognizes
 * revisions that another control plane made and hashed in its own way.
 */
function* findingRevision(
  revisions: readonly KubeObject[],
  content: CompositionContent,
  hash: string,
): Work<KubeObject | undefined> {
  for (const revision of revisions) {
    if (revision.metadata.labels?.[labels.compositionHash] === hashLabel(hash)) return revision;
    yield;
    if (jsonEqual(contentOfRevision(revision), content)) return revision;
  }
  return undefined;
}
