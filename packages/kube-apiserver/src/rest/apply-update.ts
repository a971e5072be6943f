// SPDX-License-Identifier: Apache-2.0

import { type AwaitingWork, awaited, finish, inTurns, type Work } from "@purlin/base";
import { unlessOnlyTimesChanged } from "@purlin/kube-objects/apply";
import {
  conflict,
  invalid,
  invalidPrinted,
  modifiedText,
  notFound,
  type StatusError,
  unclassifiedError,
} from "@purlin/kube-objects/errors";
import { type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import { pathSegmentName, validateObjectMeta, validateObjectMetaUpdate } from "@purlin/kube-objects/metadata";
import { grantsRights } from "../auth/rbac/escalation.ts";
import { isDeleting, metaOf, withMeta } from "../objects/object-members.ts";
import { objectKey, type ResourceType } from "../registry/registry.ts";

import type { CompleteResponse } from "../request/api-request.ts";
import type { Decision, Entry, Transaction } from "../store/store.ts";
import { type Endpoint, type ObjectStorage, tracking } from "../strategy/object-strategy.ts";
import { admissionAttributes, admissionOf, admittedOptions } from "./admitted-write.ts";
import { storedForm } from "./create.ts";
import { noteFindings } from "./decode-object.ts";
import { nextGeneration } from "./generation.ts";
import { parseResourceVersion, unparsedText } from "./list-options.ts";
import { isLargeEntry, isLargeRequest, prepareStoredForm, prepareToServe } from "./object-codec.ts";
import { entryResponse, type ObjectForm, objectResponse } from "./object-response.ts";
import { type RestRequest, requireAllowed } from "./rest-context.ts";
import { validationWarnings, type WriteOptions, writeWarnings } from "./write-options.ts";

/** How an object is to be changed. */
export interface UpdatePlan {
  readonly endpoint: Endpoint;
  /** Makes the object that is to replace the current one. Both are of the version of the request. */
  readonly edit: (current: JsonObject) => AwaitingWork<JsonObject>;
  readonly options: WriteOptions;
  /** The edited object may leave out its resourceVersion. */
  readonly unconditional: boolean;
  /** A uid in the edited object that is another one is a conflict, not a mistake. */
  readonly comparesUid: boolean;
  /** The edit has taken care of managedFields itself. */
  readonly tracked: boolean;
  /** What admits the change. Default: what admits the objects of the request. */
  readonly admission?: UpdateAdmission | undefined;
}

/** A change under admission. */
interface AdmittedChange {
  readonly object: JsonObject;
  readonly old: JsonObject;
}

/** What admits an update. */
export interface UpdateAdmission {
  /** Whether it may wait. */
  readonly waits: boolean;
  mutating(change: AdmittedChange): AwaitingWork<JsonObject>;
  validating(change: AdmittedChange): AwaitingWork<void>;
  commit(change: AdmittedChange, transaction: Transaction<JsonObject>): void;
}

/** Changes an object that must be there, and answers with it. */
export async function applyUpdate(rest: RestRequest, given: UpdatePlan, form: ObjectForm): Promise<CompleteResponse> {
  const { store, type, target } = rest;
  const plan = "admission" in given ? given : { ...given, admission: updateAdmission(rest, given.options) };
  const key = objectKey(type, target.namespace, target.name);
  if (plan.options.dryRun) {
    const { object } = await inTurns(updated(rest, plan, store.get(key)));
    return objectResponse(rest, (await rest.strategy.storage.conversion?.stored(object)) ?? object, form);
  }
  const waits = plan.admission?.waits || rest.strategy.storage.conversion !== undefined;
  const isLarge = waits || grantsRights(type) || isLargeRequest(rest) || isLargeEntry(store.get(key));
  const { outcome, entry } = await (isLarge ? writeLarge(rest, plan, key) : writeAtOnce(rest, plan, key));
  if (outcome.action === "delete" || entry === undefined) return objectResponse(rest, outcome.object, form);
  return entryResponse(rest, await prepareToServe(rest, entry), form);
}

/** What admits an update of the objects of a request; undefined when nothing does. */
export function updateAdmission(
  rest: RestRequest,
  { dryRun }: Pick<WriteOptions, "dryRun">,
): UpdateAdmission | undefined {
  const admission = admissionOf(rest, "UPDATE");
  if (admission === undefined) return undefined;
  const options = admittedOptions(rest.request, "UpdateOptions");
  const attributes = ({ object, old }: AdmittedChange) =>
    admissionAttributes(rest, { operation: "UPDATE" as const, object, old, options, dryRun });
  return {
    waits: admission.waits,
    mutating: (change) => admission.mutating(attributes(change)),
    validating: (change) => admission.validating(attributes(change)),
    commit: (change, transaction) => admission.commit(attributes(change), transaction),
  };
}

interface Update {
  readonly outcome: Outcome;
  readonly entry: Entry<JsonObject> | undefined;
}

async function writeAtOnce(rest: RestRequest, plan: UpdatePlan, key: string): Promise<Update> {
  const outcomes: Outcome[] = [];
  const { entry } = await rest.store.write(key, (transaction) => {
    const outcome = finish(updated(rest, plan, transaction.current));
    outcomes.push(outcome);
    return decision(rest, { plan, outcome }, transaction);
  });
  return { outcome: outcomes.at(-1) as Outcome, entry };
}

/** How often an update of a large object begins again because another one came first. */
const attempts = 5;

/** Computes in turns the new version of the stored object, and then writes it if that object is still there. */
async function writeLarge(rest: RestRequest, plan: UpdatePlan, key: string): Promise<Update> {
  const before = rest.notes.length;
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    rest.notes.length = before;
    const seen = rest.store.get(key);
    const outcome = await inTurns(updated(rest, plan, seen));
    if (outcome.action === "put") await inTurns(prepareStoredForm(rest, outcome.object));
    let isCurrent = false;
    const { entry } = await rest.store.write(key, (transaction) => {
      isCurrent = transaction.current === seen;
      return isCurrent ? decision(rest, { plan, outcome }, transaction) : { action: "keep" };
    });
    if (isCurrent) return { outcome, entry };
  }
  throw conflict(rest.type, rest.target.name, modifiedText);
}

interface Outcome {
  readonly action: "keep" | "put" | "delete";
  /** In the version of the request. */
  readonly object: JsonObject;
  readonly old: JsonObject;
}

function decision(
  rest: RestRequest,
  { plan, outcome }: { readonly plan: UpdatePlan; readonly outcome: Outcome },
  transaction: Transaction<JsonObject>,
): Decision<JsonObject> {
  const { action, object } = outcome;
  const { revision, current } = transaction;
  if (action !== "put") return { action };
  plan.admission?.commit(outcome, transaction);
  const { ttlSeconds } = rest.type.rules;
  // An event that is written again expires later.
  const expiresAt = ttlSeconds === undefined ? current?.expiresAt : rest.now().getTime() + ttlSeconds * 1000;
  return { action, value: storedForm(rest, object, revision), expiresAt, frees: isDeleting(object) };
}

/** The new state of the current object. Throws the error for the client when the write is refused. */
function* updated(rest: RestRequest, plan: UpdatePlan, current: Entry<JsonObject> | undefined): AwaitingWork<Outcome> {
  const { strategy, type, target } = rest;
  if (current === undefined) throw notFound(type, target.name);
  const stored = current.value;
  if (strategy.storage.serving !== undefined) yield* strategy.storage.serving(stored);
  const old = strategy.storage.toServed(stored);
  yield;
  const edited = yield* plan.edit(old);
  yield;
  yield* rest.requiringNoEscalation({ user: rest.request.user, type, target, object: edited, old });
  if (plan.comparesUid) requireUid(rest, edited, old);
  requireVersion(rest, plan, { edited, current });
  const tracked = plan.tracked
    ? edited
    : (yield* tracking(strategy.storage, plan.endpoint, (manager) =>
        manager.updating(old, edited, plan.options.manager),
      )).object;
  yield;
  const admitted = plan.admission === undefined ? tracked : yield* plan.admission.mutating({ object: tracked, old });
  if (admitted !== tracked) {
    yield* rest.requiringNoEscalation({ user: rest.request.user, type, target, object: admitted, old });
    requireAllowed(rest, admitted, { old, sent: tracked });
  }
  const prepared = strategy.storage.prepareUpdate(withSystemFields(admitted, old, type), old, plan.endpoint);
  const next = withMeta(prepared, {
    generation: nextGeneration(type, { next: prepared, old, endpoint: plan.endpoint }),
  });
  requireAllowed(rest, next, { old });
  yield;
  if (strategy.validator.validating !== undefined) {
    yield* strategy.validator.validating({ object: next, old, endpoint: plan.endpoint });
  }
  noteFindings(rest, validationWarnings(rest, { object: next, old, endpoint: plan.endpoint }));
  yield;
  yield* requireValid(rest, plan, { next, old });
  yield;
  noteFindings(rest, writeWarnings(rest, next, old));
  if (plan.admission !== undefined) yield* plan.admission.validating({ object: next, old });
  if (
    isDeleting(old) &&
    !strategy.storage.blocksDeletion?.(next) &&
    (metaOf(next).finalizers ?? []).length === 0 &&
    isOutOfGrace(old)
  ) {
    return { action: "delete", object: next, old };
  }
  yield;
  const settled = unlessOnlyTimesChanged(next, old);
  yield;
  const isSame = settled === old || jsonEqual(settled, old);
  const object = isSame ? old : settled;
  if (strategy.storage.conversion !== undefined) yield* awaited(strategy.storage.conversion.storing(object));
  const isKept = (isSame || strategy.storage.conversion !== undefined) && isStoredSo(strategy.storage, object, stored);
  return { action: isKept ? "keep" : "put", object, old };
}

function isStoredSo(storage: ObjectStorage, object: JsonObject, stored: JsonObject): boolean {
  return storage.servesStoredBytes || jsonEqual(storage.toStored(object), stored);
}

function isOutOfGrace(object: JsonObject): boolean {
  return (metaOf(object).deletionGracePeriodSeconds ?? 0) === 0;
}

function requireUid(rest: RestRequest, edited: JsonObject, old: JsonObject): void {
  const [sent = "", stored = ""] = [metaOf(edited).uid, metaOf(old).uid];
  if (sent !== "" && sent !== stored) throw otherUid(rest, sent, stored);
}

/** 409 for an object that is another one of the same name, in the words in which the reference's storage puts it. */
export function otherUid({ type, target }: RestRequest, sent: string, stored: string): StatusError {
  const place = [
    ...(type.custom ? [type.group] : []),
    type.resource,
    ...(type.namespaced ? [target.namespace] : []),
    target.name,
  ];
  const why = `Precondition failed: UID in precondition: ${sent}, UID in object meta: ${stored}`;
  const storage = `StorageError: invalid object, Code: 4, Key: /registry/${place.join("/")}, ResourceVersion: 0`;
  return conflict(type, target.name, `${storage}, AdditionalErrorMsg: ${why}`);
}

function requireVersion(
  { type, target }: RestRequest,
  plan: UpdatePlan,
  { edited, current }: { readonly edited: JsonObject; readonly current: Entry<JsonObject> },
): void {
  const { resourceVersion = "" } = metaOf(edited);
  const sent = parseResourceVersion(resourceVersion);
  if (sent === undefined) throw unclassifiedError(unparsedText(resourceVersion));
  if (sent === 0 && plan.unconditional) return;
  if (sent === 0) {
    const error = invalidPrinted("metadata.resourceVersion", "0", "must be specified for an update");
    // The reference names the resource here, where it names the kind everywhere else.
    throw invalid({ group: type.group, kind: type.resource }, target.name, [error]);
  }
  if (sent !== current.revision) throw conflict(type, target.name, modifiedText);
}

/** What only the server changes is as it was. */
function withSystemFields(object: JsonObject, old: JsonObject, type: ResourceType): JsonObject {
  const [meta, before] = [metaOf(object), metaOf(old)];
  return withMeta(object, {
    resourceVersion: before.resourceVersion,
    uid: meta.uid || before.uid,
    creationTimestamp: before.creationTimestamp,
    deletionTimestamp: before.deletionTimestamp ?? meta.deletionTimestamp,
    deletionGracePeriodSeconds: meta.deletionGracePeriodSeconds ?? before.deletionGracePeriodSeconds,
    ...(type.rules.generation === undefined ? {} : { generation: before.generation }),
    selfLink: undefined,
  });
}

function* requireValid(
  { type, strategy, target }: RestRequest,
  { endpoint }: UpdatePlan,
  { next, old }: { readonly next: JsonObject; readonly old: JsonObject },
): Work<void> {
  const rules = { namespaced: type.namespaced, name: pathSegmentName };
  const whole = validateObjectMeta(metaOf(next), rules);
  yield;
  const change = validateObjectMetaUpdate(metaOf(next), metaOf(old));
  yield;
  // The reference checks metadata for all kinds, and then for the kind: it says so often what is wrong with it.
  const { ofChange, ofWhole } = strategy.validator.metaChecks?.(endpoint) ?? { ofChange: true, ofWhole: false };
  const again = [...(ofChange ? change : []), ...(ofWhole ? whole : [])];
  const errors = [
    ...whole,
    ...change,
    ...again,
    ...strategy.validator.validate({ object: next, old, endpoint }, change),
  ];
  if (errors.length > 0) throw invalid({ group: type.storage.group, kind: type.kind }, target.name, errors);
}
