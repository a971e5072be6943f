// SPDX-License-Identifier: Apache-2.0
import { badRequest, notAcceptable, StatusError, unclassifiedError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { metaOf } from "../objects/object-meta.ts";
import type { ResourceType } from "../registry/registry.ts";
import {
  type ApiRequest,
  type CompleteResponse,
  documentPayload,
  encodedPayload,
  lineBreak,
  type Payload,
} from "../request/api-request.ts";
import { createNegotiation, type Negotiated, wantsPretty } from "../request/negotiate.ts";
import type { Entry } from "../store/store.ts";
import { type IncludeObject, toPartialMetadata, toTable } from "../table/table.ts";
import { inStoredOrder, servedBytes } from "./object-codec.ts";
import type { RestRequest } from "./rest-context.ts";

const metaGroup = "meta.k8s.io";
const shapes: ReadonlySet<string> = new Set(["Table", "PartialObjectMetadata", "PartialObjectMetadataList"]);

const negotiate = createNegotiation(
  ({ as, group, version }) => shapes.has(as) && group === metaGroup && (version === "v1" || version === "v1beta1"),
);

/** How objects are shown. */
export type Shape = "whole" | "table" | "metadata";

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
  return documentPayload(shaped(rest, object, form), { mediaType: form.mediaType, pretty: form.pretty });
}

function shaped(rest: RestRequest, object: JsonObject, form: ObjectForm): JsonObject {
  if (form.shape === "whole") {
    // Objects of dry runs were never written, and so are in no order yet.
    return inStoredOrder(object, rest.type);
  }
  if (form.shape === "metadata") {
    requireOne(rest, form);
    return inShapeVersion(toPartialMetadata(object), form);
  }
  const { resourceVersion = "" } = metaOf(object);
  const options = {
    metadata: { resourceVersion },
    include: form.include,
    now: rest.now().getTime(),
    withColumns: true,
  };
  return inShapeVersion(toTable(rest.strategy.view.printer, [object], options), form);
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
