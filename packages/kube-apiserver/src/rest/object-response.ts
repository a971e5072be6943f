// SPDX-License-Identifier: Apache-2.0

import type { Work } from "@purlin/base";
import { badRequest, notAcceptable, StatusError, unclassifiedError } from "@purlin/kube-objects/errors";
import { type JsonObject, type JsonValue, printJson } from "@purlin/kube-objects/json";
import { inNameOrder, metaOf } from "../objects/object-members.ts";
import { apiVersionOf, type ResourceType } from "../registry/registry.ts";
import {
  type ApiRequest,
  type CompleteResponse,
  documentPayload,
  encodedPayload,
  joinedPayload,
  lineBreak,
  madePayload,
  type Payload,
} from "../request/api-request.ts";
import { createNegotiation, type Negotiated, wantsPretty } from "../request/negotiate.ts";
import type { Entry } from "../store/store.ts";
import { emptyTable, type IncludeObject, makingRow, makingTable, toPartialMetadata } from "../table/table.ts";
import { inStoredOrder, isLargeEntry, servedBytes, typeHead } from "./object-codec.ts";
import type { RestRequest } from "./rest-context.ts";

const metaGroup = "meta.k8s.io";
const shapes: ReadonlySet<string> = new Set(["Table", "PartialObjectMetadata", "PartialObjectMetadataList"]);

const negotiate = createNegotiation(
  ({ as, group, version }) => shapes.has(as) && group === metaGroup && (version === "v1" || version === "v1beta1"),
);

/** How objects are shown. */
type Shape = "whole" | "table" | "metadata";

/** The form in which the client wants to see objects. */
export interface ObjectForm extends Negotiated {
  readonly shape: Shape;
  readonly include: IncludeObject;
  /** The version of tables and partial metadata. */
  readonly shapeVersion: string;
}

/** Agrees on a form. Throws 406 when there is none, 400 for an unknown `includeObject`. */
export function negotiateForm(request: ApiRequest, listOf?: ResourceType): ObjectForm {
  const negotiated = negotiate(request.headers["accept"]);
  const as = negotiated.transform?.as;
  if (as === "PartialObjectMetadata" && listOf !== undefined) {
    const type = listOf.custom ? "*unstructured.UnstructuredList" : goType(listOf, listOf.listKind);
    throw wrongShape(`you requested PartialObjectMetadata, but the requested object is a list (${type})`);
  }
  const shape: Shape = as === undefined ? "whole" : as === "Table" ? "table" : "metadata";
  return {
    ...negotiated,
    pretty: negotiated.pretty || wantsPretty(request),
    shape,
    include: shape === "table" ? includeObject(request.query.get("includeObject") ?? "") : "Metadata",
    shapeVersion: negotiated.transform?.version ?? "v1",
  };
}

/** The reference's name of the type of an object or a list, for the error about an unsupported form. */
function goType({ group, custom }: ResourceType, kind: string): string {
  if (custom) return "*unstructured.Unstructured";
  // Events are the same objects in both of their groups.
  const isCore = group === "" || group === "events.k8s.io";
  return `*${isCore ? "core" : group.split(".", 1)[0]}.${kind}`;
}

/** A single object is not a list; the reference finds out when it converts the object. */
function requireOne({ type }: RestRequest, { transform }: ObjectForm): void {
  if (transform?.as !== "PartialObjectMetadataList") return;
  if (type.custom) throw unclassifiedError("content is not a list");
  const name = goType(type, type.kind);
  throw wrongShape(`you requested PartialObjectMetadataList, but the requested object is not a list (${name})`);
}

function wrongShape(message: string): StatusError {
  return new StatusError({ ...notAcceptable([]).status, message });
}

function includeObject(text: string): IncludeObject {
  if (text === "" || text === "Metadata") return "Metadata";
  if (text === "None" || text === "Object") return text;
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(text)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}

/** Whether objects are wanted as they are, so that bytes can be shared. */
export function isPlain({ shape, mediaType, pretty }: ObjectForm): boolean {
  return shape === "whole" && mediaType === "application/json" && !pretty;
}

/** An answer with one stored object. */
export function entryResponse(rest: RestRequest, entry: Entry<JsonObject>, form: ObjectForm): CompleteResponse {
  if (isPlain(form)) {
    const payload = encodedPayload(
      () => [servedBytes(entry, rest.strategy), lineBreak],
      () => rest.strategy.storage.toServed(entry.value),
    );
    return { kind: "complete", code: 200, payload };
  }
  return objectResponse(rest, rest.strategy.storage.toServed(entry.value), form);
}

/** An answer with one object as this version shows it. */
export function objectResponse(rest: RestRequest, object: JsonObject, form: ObjectForm): CompleteResponse {
  return { kind: "complete", code: 200, payload: objectPayload(rest, object, form) };
}

export function objectPayload(rest: RestRequest, object: JsonObject, form: ObjectForm): Payload {
  const document = { mediaType: form.mediaType, pretty: form.pretty };
  switch (form.shape) {
    case "whole":
      // Objects of dry runs were never written, and so are in no order yet.
      return documentPayload(inStoredOrder(object, rest.type), document);
    case "metadata":
      requireOne(rest, form);
      return documentPayload(inShapeVersion(toPartialMetadata(object), form), document);
    case "table":
      return madePayload(() => tableOf(rest, object, form), document);
  }
}

function* tableOf(rest: RestRequest, object: JsonObject, form: ObjectForm): Work<JsonObject> {
  const { resourceVersion = "" } = metaOf(object);
  const options = {
    metadata: { resourceVersion },
    include: form.include,
    now: rest.now().getTime(),
    withColumns: true,
  };
  return inShapeVersion(yield* makingTable(rest.strategy.view.printer, object, options), form);
}

/** Tables and partial metadata look the same in both of their versions, and so do the rows of a table. */
export function inShapeVersion(shape: JsonObject, { shapeVersion, include }: ObjectForm): JsonObject {
  if (shapeVersion === "v1") return shape;
  const apiVersion = `${metaGroup}/${shapeVersion}`;
  const { rows } = shape;
  if (!Array.isArray(rows) || include !== "Metadata") return { ...shape, apiVersion };
  const versioned = (rows as readonly JsonObject[]).map((row) => ({
    ...row,
    object: { ...(row["object"] as JsonObject), apiVersion },
  }));
  return { ...shape, apiVersion, rows: versioned };
}

/** What a list says about itself. */
export interface ListMetadata {
  readonly revision: number;
  /** Empty on the last page. */
  readonly continueToken: string;
  readonly remaining: number | undefined;
}

/** The objects of a list and its metadata. */
export interface ListContent {
  readonly entries: readonly Entry<JsonObject>[];
  readonly metadata: ListMetadata;
}

/** A list in the form asked for. */
export function listPayload(rest: RestRequest, { entries, metadata }: ListContent, form: ObjectForm): Payload {
  if (isPlain(form)) {
    return joinedPayload(
      () => joinBytes(rest, entries, metadata),
      () =>
        listValue(
          rest,
          entries.map((entry) => rest.strategy.storage.toServed(entry.value)),
          metadata,
        ),
    );
  }
  return madePayload(() => shapedList(rest, { entries, metadata }, form), {
    mediaType: form.mediaType,
    pretty: form.pretty,
  });
}

/** How many objects are looked at in one part, unless one is large. */
const portionSize = 20;

function endsPart(index: number, entry: Entry<JsonObject>): boolean {
  return index % portionSize === 0 || isLargeEntry(entry);
}

function* shapedList(rest: RestRequest, { entries, metadata }: ListContent, form: ObjectForm): Work<JsonObject> {
  const listMeta = metadataValue(rest, metadata, form.shape);
  const { printer } = rest.strategy.view;
  const options = { metadata: listMeta, include: form.include, now: rest.now().getTime(), withColumns: true };
  const items: JsonObject[] = [];
  for (const [index, entry] of entries.entries()) {
    const object = rest.strategy.storage.toServed(entry.value);
    if (form.shape === "table") items.push(yield* makingRow(printer, object, options));
    else if (form.shape === "metadata") items.push(inShapeVersion(toPartialMetadata(object), form));
    else items.push(rest.type.custom ? object : withoutType(object));
    if (endsPart(index, entry)) yield;
  }
  switch (form.shape) {
    case "table":
      return inShapeVersion({ ...emptyTable(printer, options), rows: items }, form);
    case "metadata":
      return inShapeVersion(
        { kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1", metadata: listMeta, items },
        form,
      );
    case "whole":
      return listValue(rest, items, metadata);
  }
}

/** The list as a value. Inside the process items keep their type: taking it away from each would copy them all. */
function listValue(rest: RestRequest, items: readonly JsonObject[], metadata: ListMetadata): JsonObject {
  const { type } = rest;
  const [apiVersion, meta] = [apiVersionOf(type), metadataValue(rest, metadata)];
  return type.custom
    ? { apiVersion, items, kind: type.listKind, metadata: inNameOrder(meta) }
    : { kind: type.listKind, apiVersion, metadata: meta, items };
}

function metadataValue(
  { type }: RestRequest,
  { revision, continueToken, remaining }: ListMetadata,
  shape: Shape = "whole",
): JsonObject {
  return {
    resourceVersion: String(revision),
    // Lists of custom objects always have it, of built-in ones only when there is more.
    ...(continueToken !== "" || (type.custom && shape === "whole") ? { continue: continueToken } : {}),
    ...(remaining === undefined ? {} : { remainingItemCount: remaining }),
  };
}

function withoutType({
  apiVersion: _version,
  kind: _kind,
  ...rest
}: {
  readonly [key: string]: JsonValue;
}): JsonObject {
  return rest;
}

/**
 * The list as bytes, put together from the bytes of its objects. Items of built-in kinds carry no type: each begins where its
 * metadata does.
 */
function* joinBytes(
  rest: RestRequest,
  entries: readonly Entry<JsonObject>[],
  metadata: ListMetadata,
): Work<readonly Uint8Array[]> {
  const { type, strategy } = rest;
  const skipped = type.custom ? 0 : typeHead(apiVersionOf(type), type.kind).length;
  const items: Uint8Array[] = [];
  for (const [index, entry] of entries.entries()) {
    items.push(servedBytes(entry, strategy));
    if (endsPart(index, entry)) yield;
  }
  const [head, tail] = around(printJson(listValue(rest, [], metadata), { htmlSafe: true }));
  const ends = head.length + tail.length;
  const joined = Buffer.allocUnsafe(items.reduce((sum, bytes) => sum + bytes.length - skipped + 2, ends));
  joined.set(head, 0);
  let at = head.length;
  for (const [index, bytes] of items.entries()) {
    if (index > 0) joined[at++] = comma;
    if (skipped > 0) joined[at++] = openingBrace;
    joined.set(skipped > 0 ? bytes.subarray(skipped) : bytes, at);
    at += bytes.length - skipped;
  }
  joined.set(tail, at);
  return [joined.subarray(0, at + tail.length)];
}

const noItems = '"items":[]';

/** What comes before the first item and what after the last. */
function around(emptyList: string): readonly [head: Buffer, tail: Buffer] {
  const split = emptyList.indexOf(noItems) + noItems.length - 1;
  return [Buffer.from(emptyList.slice(0, split)), Buffer.from(`${emptyList.slice(split)}\n`)];
}

const comma = 0x2c;
const openingBrace = 0x7b;
