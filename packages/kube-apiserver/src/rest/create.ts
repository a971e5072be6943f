// SPDX-License-Identifier: Apache-2.0

import { type AwaitingWork, inTurns, type Work } from "@purlin/base";
import { timestamp } from "@purlin/kube-objects/apply";
import {
  alreadyExists,
  badRequest,
  forbidden,
  generateNameConflict,
  invalid,
  isAlreadyExists,
  namespaceTerminating,
  notFound,
  StatusError,
  unclassifiedError,
} from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { generateName, validateObjectMeta } from "@purlin/kube-objects/metadata";
import type { ObjectMeta } from "@purlin/kube-objects/object";
import { accessDenied } from "../auth/authorizer.ts";
import { dedupedOwners, isDeleting, metaOf, withMeta } from "../objects/object-members.ts";
import { objectKey } from "../registry/registry.ts";
import type { CompleteResponse } from "../request/api-request.ts";
import type { Entry, Transaction } from "../store/store.ts";
import { type ObjectChange, tracking } from "../strategy/object-strategy.ts";
import { admissionAttributes, admissionOf, admittedOptions } from "./admitted-write.ts";
import { noteFindings, readBody, readObject } from "./decode-object.ts";
import { parseResourceVersion } from "./list-options.ts";
import {
  inStoredOrder,
  isLargeRequest,
  preparedStoredForm,
  prepareStoredForm,
  prepareToServe,
} from "./object-codec.ts";
import { entryResponse, negotiateForm, type ObjectForm, objectResponse } from "./object-response.ts";
import { type RestRequest, requireAllowed } from "./rest-context.ts";
import { type WriteOptions, writeOptions, writeWarnings } from "./write-options.ts";

const namespaces = { group: "", resource: "namespaces" };

/** Creates an object. */
export async function createObject(rest: RestRequest): Promise<CompleteResponse> {
  const form = negotiateForm(rest.request);
  const body = await readBody(rest);
  const options = writeOptions(rest.request, "CreateOptions");
  const object = await inTurns(readObject(rest, body, options.fieldValidation));
  const created = await createFrom(rest, object, options);
  return createdResponse(rest, created, form);
}

/** A created object: the stored entry, or of a dry run the object that would have been stored. */
type Created = { readonly entry: Entry<JsonObject> } | { readonly object: JsonObject };

/** The answer to a request that created an object. */
export function createdResponse(rest: RestRequest, created: Created, form: ObjectForm): CompleteResponse {
  const response =
    "entry" in created ? entryResponse(rest, created.entry, form) : objectResponse(rest, created.object, form);
  return { ...response, code: 201 };
}

/** Creates the object a client has sent, after defaults, admission and validation. */
export function createFrom(rest: RestRequest, sent: JsonObject, options: WriteOptions): Promise<Created> {
  const { storage } = rest.strategy;
  const track = function* (object: JsonObject): AwaitingWork<JsonObject> {
    return (yield* tracking(storage, "", (manager) => manager.updating(undefined, object, options.manager))).object;
  };
  return createTracked(rest, sent, { options, track });
}

/** Creates an object that was applied, so that its managedFields are complete. */
export function createApplied(rest: RestRequest, applied: JsonObject, options: WriteOptions): Promise<Created> {
  return createTracked(rest, withMeta(applied, { resourceVersion: undefined }), { options, track: undefined });
}

async function createTracked(
  rest: RestRequest,
  sent: JsonObject,
  {
    options,
    track,
  }: { readonly options: WriteOptions; readonly track: ((object: JsonObject) => AwaitingWork<JsonObject>) | undefined },
): Promise<Created> {
  const { type } = rest;
  const located = inNamespace(rest, sent);
  // Only the store minds, and a dry run does not get there.
  if (!options.dryRun && (parseResourceVersion(metaOf(located).resourceVersion ?? "") ?? 0) !== 0) {
    throw unclassifiedError("resourceVersion should not be set on objects to be created");
  }
  if (!type.verbs.includes("create")) {
    const why = "create not allowed while custom resource definition is terminating";
    throw forbidden(type, metaOf(located).name ?? "", why);
  }
  const owned = dedupedOwners(wiped(located));
  const managed = track === undefined ? owned.object : await inTurns(track(owned.object));
  if (type.namespaced) {
    requireNamespace(rest, metaOf(managed).name || (metaOf(managed).generateName ?? ""), (key) => rest.store.get(key));
  }
  rest.notes.push(...owned.warnings);
  const admitted = await mutated(rest, managed, options);
  if (admitted !== managed) requireAllowed(rest, admitted, { old: undefined, sent: managed });
  const { request, target } = rest;
  await inTurns(rest.requiringNoEscalation({ user: request.user, type, target, object: admitted, old: undefined }));
  return storeNew(rest, admitted, options);
}

/** A new object after mutating admission, which sees it before the server sets its uid and generated name. */
async function mutated(rest: RestRequest, object: JsonObject, { dryRun }: WriteOptions): Promise<JsonObject> {
  const admission = admissionOf(rest, "CREATE");
  if (admission === undefined) return object;
  const options = admittedOptions(rest.request, "CreateOptions");
  const attributes = admissionAttributes(rest, {
    operation: "CREATE",
    object,
    old: undefined,
    options,
    dryRun,
  });
  const admitted = await inTurns(admission.mutating(attributes));
  const owned = dedupedOwners(inNamespace(rest, admitted));
  rest.notes.push(...owned.warnings);
  return owned.object;
}

/** What only the server sets is not taken from the client. */
function wiped(object: JsonObject): JsonObject {
  return withMeta(object, {
    creationTimestamp: undefined,
    uid: undefined,
    deletionTimestamp: undefined,
    deletionGracePeriodSeconds: undefined,
    selfLink: undefined,
  });
}

function inNamespace({ target, type }: RestRequest, object: JsonObject): JsonObject {
  const { namespace = "" } = metaOf(object);
  if (!type.namespaced) return withMeta(object, { namespace: undefined });
  if (namespace !== "" && namespace !== target.namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  return withMeta(object, { namespace: target.namespace });
}

/** The object as it will be stored, but for its resourceVersion. Throws 422 when it is not valid. */
function* prepared(rest: RestRequest, object: JsonObject, generated: string | undefined): Work<JsonObject> {
  const { strategy, type, now, newUid } = rest;
  const system: ObjectMeta = {
    ...(generated === undefined ? {} : { name: generated }),
    uid: newUid(),
    creationTimestamp: timestamp(now()),
  };
  const { generation } = type.rules;
  const isCounted = generation !== undefined && generation !== "changed-spec";
  const named = withMeta(object, { ...system, ...(isCounted ? { generation: 1 } : {}) });
  const cleared = strategy.storage.prepareCreate(named, rest.request.user);
  requireAllowed(rest, cleared, { old: undefined });
  yield;
  const known = validateObjectMeta(metaOf(cleared), { namespaced: type.namespaced, name: type.rules.name });
  yield;
  const creation: ObjectChange = { object: cleared, old: undefined, endpoint: "" };
  if (strategy.validator.validating !== undefined) yield* strategy.validator.validating(creation);
  yield;
  const errors = [...known, ...strategy.validator.validate(creation, known)];
  if (errors.length > 0) {
    throw invalid({ group: type.storage.group, kind: type.kind }, metaOf(cleared).name ?? "", errors);
  }
  requireCreateRight(rest);
  yield;
  noteFindings(rest, writeWarnings(rest, cleared, undefined));
  if (isLargeRequest(rest) && strategy.storage.conversion === undefined) yield* prepareStoredForm(rest, cleared);
  return cleared;
}

/** A user that may update or patch must also be allowed to create an object that does not exist. */
function requireCreateRight({ authorizer, request, target }: RestRequest): void {
  if (target.verb === "create") return;
  const access = { ...target, verb: "create" };
  const decision = authorizer(request.user, access);
  if (!decision.allowed) throw accessDenied(request.user, access, decision);
}

const nameAttempts = 8;

/** Stores the object under its name, or under a generated one that is free. */
async function storeNew(rest: RestRequest, object: JsonObject, options: WriteOptions): Promise<Created> {
  const { name = "", generateName: base = "" } = metaOf(object);
  if (name !== "" || base === "") return storeAdmitted(rest, await inTurns(prepared(rest, object, undefined)), options);
  for (let attempt = 1; ; attempt += 1) {
    const generated = generateName(base);
    try {
      return await storeAdmitted(rest, await inTurns(prepared(rest, object, generated)), options);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      if (attempt === nameAttempts) throw generateNameConflict(rest.type, generated, 1);
    }
  }
}

/** Stores a valid object after validating admission. */
async function storeAdmitted(rest: RestRequest, object: JsonObject, options: WriteOptions): Promise<Created> {
  const admission = admissionOf(rest, "CREATE");
  if (admission === undefined) return storeNamed(rest, object, options);
  const attributes = admissionAttributes(rest, {
    operation: "CREATE",
    object,
    old: undefined,
    options: admittedOptions(rest.request, "CreateOptions"),
    dryRun: options.dryRun,
  });
  await inTurns(admission.validating(attributes));
  const check = (transaction: Transaction<JsonObject>): void => admission.commit(attributes, transaction);
  return storeNamed(rest, object, { dryRun: options.dryRun, check });
}

async function storeNamed(
  rest: RestRequest,
  object: JsonObject,
  options: Pick<WriteOptions, "dryRun"> & { readonly check?: (transaction: Transaction<JsonObject>) => void },
): Promise<Created> {
  const { store, type, now } = rest;
  const { name = "", namespace = "" } = metaOf(object);
  const key = objectKey(type, namespace, name);
  if (options.dryRun) {
    requireFree(rest, name, store.get(key));
    return { object: (await rest.strategy.storage.conversion?.stored(object)) ?? object };
  }
  const { ttlSeconds } = type.rules;
  const expiresAt = ttlSeconds === undefined ? undefined : now().getTime() + ttlSeconds * 1000;
  await rest.strategy.storage.conversion?.storing(object);
  const { entry } = await store.write(key, (transaction) => {
    requireFree(rest, name, transaction.current);
    requireStillThere(rest, name, transaction);
    options.check?.(transaction);
    return { action: "put", value: storedForm(rest, object, transaction.revision), expiresAt };
  });
  return { entry: await prepareToServe(rest, entry as Entry<JsonObject>) };
}

/** The namespace may have gone since it was looked at. */
function requireStillThere(rest: RestRequest, name: string, { peek }: Transaction<JsonObject>): void {
  if (rest.type.namespaced) requireNamespace(rest, name, peek);
}

function requireFree({ type }: RestRequest, name: string, existing: Entry<JsonObject> | undefined): void {
  if (existing === undefined) return;
  const { status } = alreadyExists(type, name);
  const prefix = isDeleting(existing.value) ? "object is being deleted: " : "";
  throw new StatusError({ ...status, message: `${prefix}${status.message}` });
}

/** An object of this version as it is written to the store. */
export function storedForm({ strategy, type }: RestRequest, object: JsonObject, revision: number): JsonObject {
  const prepared = preparedStoredForm(object, revision);
  return (
    prepared ?? inStoredOrder(withMeta(strategy.storage.toStored(object), { resourceVersion: String(revision) }), type)
  );
}

/** The key of a namespace. */
function namespaceKey(name: string): string {
  return `//namespaces/${name}`;
}

/** Refuses to create something in a namespace that is not there, or is going away. */
function requireNamespace(
  { target, type }: RestRequest,
  name: string,
  read: (key: string) => Entry<JsonObject> | undefined,
): void {
  const namespace = read(namespaceKey(target.namespace))?.value;
  if (namespace === undefined) throw notFound(namespaces, target.namespace);
  const { status } = namespace;
  if (isDeleting(namespace) || (isJsonObject(status) && status["phase"] === "Terminating")) {
    throw namespaceTerminating(type, name, target.namespace);
  }
}
