// SPDX-License-Identifier: Apache-2.0

import { inTurns, Turns } from "@purlin/base";
import { timestamp } from "@purlin/kube-objects/apply";
import {
  conflict,
  ignoreNotFound,
  isDeletionDenied,
  modifiedText,
  notFound,
  StatusError,
} from "@purlin/kube-objects/errors";
import { type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import type { WriteAdmission } from "../admission/admission.ts";
import { isDeleting, metaOf, withMeta } from "../objects/object-members.ts";
import { objectKey } from "../registry/registry.ts";
import { type CompleteResponse, documentPayload } from "../request/api-request.ts";
import type { Decision, Entry, Transaction } from "../store/store.ts";
import { admissionAttributes, admissionOf, admittedDeleteOptions } from "./admitted-write.ts";
import { storedForm } from "./create.ts";
import { guardRefusal, recordRefusal, requireUnguarded } from "./delete-guard.ts";
import { oneMore } from "./generation.ts";
import { selectNewest } from "./list.ts";
import { readInteger, readSelection } from "./list-options.ts";
import { convertedEntry } from "./object-codec.ts";
import { listPayload, negotiateForm, type ObjectForm, objectPayload, objectResponse } from "./object-response.ts";
import type { RestRequest } from "./rest-context.ts";
import { type DeleteOptions, readDeleteOptions } from "./write-options.ts";

/** Deletes an object: at once, or by marking it when finalizers are left. */
export async function deleteObject(rest: RestRequest): Promise<CompleteResponse> {
  const form = negotiateForm(rest.request);
  const options = await readDeleteOptions(rest);
  const outcome = await deleteOne(rest, { name: rest.target.name }, options);
  return respond(rest, outcome, { options, form });
}

/**
 * Deletes the object of a request that was admitted as something else, such as an eviction. Throws what `requireJudged` throws when it is
 * called with the object that is to be deleted, in the transaction that does it.
 */
export async function deleteEvicted(
  rest: RestRequest,
  options: DeleteOptions,
  requireJudged: (object: JsonObject) => void,
): Promise<void> {
  const key = objectKey(rest.type, rest.target.namespace, rest.target.name);
  await deleteCurrent(rest, { key, options, requireJudged });
}

/** The outcome of a deletion. */
interface DeleteOutcome {
  /** It is gone; otherwise it is marked. */
  readonly removed: boolean;
  readonly object: JsonObject;
  /** It was marked before in the same way. */
  readonly isUnchanged?: boolean;
}

/** Deletes the object of a name in the namespace of the request. */
async function deleteOne(
  rest: RestRequest,
  { name, namespace = rest.target.namespace }: { readonly name: string; readonly namespace?: string },
  options: DeleteOptions,
): Promise<DeleteOutcome> {
  const key = objectKey(rest.type, namespace, name);
  const admission = admissionOf(rest, "DELETE");
  if (admission !== undefined || rest.strategy.storage.conversion !== undefined)
    return deleteAdmitted(rest, admission, { key, name, namespace, options });
  return deleteCurrent(rest, { key, name, options });
}

/** Deletes an object as it is stored. */
async function deleteCurrent(
  rest: RestRequest,
  { key, name = rest.target.name, options, requireJudged }: CurrentDeletion,
): Promise<DeleteOutcome> {
  const { store } = rest;
  if (options.dryRun) {
    const judged = judge(rest, { name, current: store.get(key), requireJudged }, options);
    requireUnguarded(rest, judged.object, options);
    return judged;
  }
  const outcomes: DeleteOutcome[] = [];
  let refusal: ReturnType<typeof guardRefusal>;
  const { entry } = await store.write(key, (transaction) => {
    const outcome = judge(rest, { name, current: transaction.current, requireJudged }, options);
    outcomes.push(outcome);
    refusal = guardRefusal(rest, outcome.object, options);
    return refusal === undefined ? decision(rest, outcome, transaction) : recordRefusal(rest, refusal, transaction);
  });
  if (refusal !== undefined) throw new StatusError(refusal.status);
  const { removed, object } = outcomes.at(-1) as DeleteOutcome;
  return { removed, object: entry === undefined ? object : rest.strategy.storage.toServed(entry.value) };
}

interface Deletion {
  readonly key: string;
  readonly name: string;
  readonly namespace: string;
  readonly options: DeleteOptions;
}

interface CurrentDeletion extends Pick<Deletion, "key" | "options">, Partial<Pick<Deletion, "name">> {
  readonly requireJudged?: Judged["requireJudged"];
}

/** How often a deletion begins again because the object has changed while its admission waited. */
const attempts = 10;

/** Deletes an object after what waits: its conversion, and admission, which sees the object as it is deleted. */
async function deleteAdmitted(
  rest: RestRequest,
  admission: WriteAdmission | undefined,
  deletion: Deletion,
): Promise<DeleteOutcome> {
  const { store, type, strategy } = rest;
  const { key, name, namespace, options } = deletion;
  const isCollection = rest.target.verb === "deletecollection";
  const before = rest.notes.length;
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    if (!isCollection) rest.notes.length = before;
    const seen = store.get(key);
    const current = seen && (await convertedEntry(strategy, seen));
    const outcome = judge(rest, { name, current }, options);
    const attributes = admissionAttributes(rest, {
      operation: "DELETE",
      object: undefined,
      old: current && strategy.storage.toServed(current.value),
      options: admittedDeleteOptions(options),
      dryRun: options.dryRun,
      ...(isCollection && { name: "", namespace }),
    });
    if (admission !== undefined) await inTurns(admission.deleting(attributes));
    if (options.dryRun) {
      requireUnguarded(rest, outcome.object, options);
      return outcome;
    }
    if (!outcome.removed) await strategy.storage.conversion?.storing(outcome.object);
    let isCurrent = false;
    let refusal: ReturnType<typeof guardRefusal>;
    const { entry } = await store.write(key, (transaction) => {
      isCurrent = transaction.current === seen;
      if (!isCurrent) return { action: "keep" };
      refusal = guardRefusal(rest, outcome.object, options);
      return refusal === undefined ? decision(rest, outcome, transaction) : recordRefusal(rest, refusal, transaction);
    });
    if (refusal !== undefined) throw new StatusError(refusal.status);
    if (!isCurrent) continue;
    if (entry === undefined) return outcome;
    return { ...outcome, object: strategy.storage.toServed((await convertedEntry(strategy, entry)).value) };
  }
  throw conflict(type, name, modifiedText);
}

function decision(
  rest: RestRequest,
  { removed, object, isUnchanged }: DeleteOutcome,
  { current, revision }: Transaction<JsonObject>,
): Decision<JsonObject> {
  if (removed) return { action: "delete" };
  if (isUnchanged) return { action: "keep" };
  return { action: "put", value: storedForm(rest, object, revision), expiresAt: current?.expiresAt, frees: true };
}

interface Judged {
  readonly name: string;
  readonly current: Entry<JsonObject> | undefined;
  /** Throws when the object is not the one for which the deletion was allowed. */
  readonly requireJudged?: ((object: JsonObject) => void) | undefined;
}

function judge(rest: RestRequest, { name, current, requireJudged }: Judged, options: DeleteOptions): DeleteOutcome {
  const { strategy, type } = rest;
  if (current === undefined) throw notFound(type, name);
  const object = strategy.storage.toServed(current.value);
  requirePreconditions(rest, { name, object }, options);
  requireJudged?.(object);
  strategy.validator.requireDeletable?.(object);
  const finalizers = finalizersFor(rest, options, object);
  if (finalizers.length === 0 && !strategy.storage.blocksDeletion?.(object)) return { removed: true, object };
  const left = marked(rest, object, finalizers);
  return { removed: false, object: left, isUnchanged: jsonEqual(object, left) };
}

function requirePreconditions(
  { type }: RestRequest,
  { name, object }: { readonly name: string; readonly object: JsonObject },
  options: DeleteOptions,
): void {
  const { uid = "", resourceVersion = "" } = metaOf(object);
  const isNamespace = type.group === "" && type.kind === "Namespace";
  const resource = { group: type.group, resource: isNamespace ? type.resource : type.kind };
  if (isNamespace && options.uid !== undefined && options.uid !== uid) {
    throw conflict(
      resource,
      name,
      `Precondition failed: UID in precondition: ${options.uid}, UID in object meta: ${uid}`,
    );
  }
  if (options.uid !== undefined && options.uid !== uid) {
    const why = `the UID in the precondition (${options.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`;
    throw conflict(resource, name, why);
  }
  if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion) {
    const why = `the ResourceVersion in the precondition (${options.resourceVersion}) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`;
    throw conflict(resource, name, why);
  }
}

const orphan = "orphan";
const foreground = "foregroundDeletion";

/** The finalizers an object keeps or gets when it is deleted in this way; none: nothing holds it. */
function finalizersFor({ type }: RestRequest, options: DeleteOptions, object: JsonObject): string[] {
  const present = metaOf(object).finalizers ?? [];
  const kept = present.filter((finalizer) => finalizer !== orphan && finalizer !== foreground);
  const says = options.propagation !== undefined || options.orphanDependents !== undefined;
  const orphans = says
    ? options.propagation === "Orphan" || options.orphanDependents === true
    : present.includes(orphan) || (type.rules.orphansByDefault && !present.includes(foreground));
  const waits = says ? options.propagation === "Foreground" : present.includes(foreground);
  return [...kept, ...(orphans ? [orphan] : []), ...(waits ? [foreground] : [])];
}

/** The object with the mark that it is to go, made once. */
function marked({ strategy, now }: RestRequest, object: JsonObject, finalizers: readonly string[]): JsonObject {
  const { deletionTimestamp, generation = 0 } = metaOf(object);
  const withFinalizers = withMeta(object, { finalizers: finalizers.length === 0 ? undefined : finalizers });
  if (isDeleting(object)) return withFinalizers;
  const mark = withMeta(withFinalizers, {
    deletionTimestamp: deletionTimestamp ?? timestamp(now()),
    ...(strategy.storage.blocksDeletion?.(object) === true ? {} : { deletionGracePeriodSeconds: 0 }),
    generation: generation > 0 ? oneMore(generation) : undefined,
  });
  return strategy.storage.markDeleted?.(mark) ?? mark;
}

function respond(
  rest: RestRequest,
  { removed, object }: DeleteOutcome,
  { options, form }: { readonly options: DeleteOptions; readonly form: ObjectForm },
): CompleteResponse {
  if (!removed) return { ...objectResponse(rest, object, form), code: options.orphanDependents === false ? 202 : 200 };
  if (rest.type.rules.returnsDeleted) {
    return { kind: "complete", code: 200, payload: objectPayload(rest, object, form) };
  }
  return {
    kind: "complete",
    code: 200,
    payload: documentPayload(successStatus(rest, object), { mediaType: form.mediaType, pretty: form.pretty }),
  };
}

function successStatus({ type }: RestRequest, object: JsonObject): JsonObject {
  const { name = "", uid = "" } = metaOf(object);
  const group = type.group === "" ? {} : { group: type.group };
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { name, ...group, kind: type.resource, uid },
  };
}

const partObjects = 200;
const partBytes = 512 * 1024;

/**
 * Deletes every selected object, one after the other, and answers with them as they were. One that is protected does not keep the others: the
 * answer is its refusal, after all others are deleted.
 */
export async function deleteCollection(rest: RestRequest): Promise<CompleteResponse> {
  const { request, strategy } = rest;
  const form = negotiateForm(request);
  const selection = readSelection(request.query, strategy.view);
  const options = await readDeleteOptions(rest);
  const limit = readInteger(request.query, "limit") || 0;
  const { entries, metadata } = await selectNewest(rest, selection, limit);
  const turns = new Turns();
  const denials: unknown[] = [];
  const deleteEntry = async (entry: Entry<JsonObject>): Promise<void> => {
    try {
      await deleteIfThere(rest, entry, options);
    } catch (error) {
      if (!isDeletionDenied(error)) throw error;
      denials.push(error);
    }
  };
  for (const part of partsOf(entries)) {
    await Promise.all(part.map(deleteEntry));
    await turns.next();
  }
  if (denials.length > 0) throw denials[0];
  return { kind: "complete", code: 200, payload: listPayload(rest, { entries, metadata }, form) };
}

/** Parts that are deleted with one commit each. Every deletion looks into its object, so large ones come in small parts. */
function partsOf(entries: readonly Entry<JsonObject>[]): readonly Entry<JsonObject>[][] {
  const parts: Entry<JsonObject>[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    bytes += entry.bytes.length;
    const last = parts.at(-1);
    if (last === undefined || last.length >= partObjects || bytes > partBytes) {
      parts.push([entry]);
      bytes = entry.bytes.length;
    } else {
      last.push(entry);
    }
  }
  return parts;
}

async function deleteIfThere(
  rest: RestRequest,
  entry: Entry<JsonObject>,
  options: Awaited<ReturnType<typeof readDeleteOptions>>,
): Promise<void> {
  const { name = "", namespace = "" } = metaOf(entry.value);
  await ignoreNotFound(deleteOne(rest, { name, namespace }, options));
}
