// SPDX-License-Identifier: Apache-2.0

import type { Work } from "@purlin/base";
import { badRequest, beginningOf, invalid, invalidValue, type StatusError } from "@purlin/kube-objects/errors";
import {
  type Fractions,
  goQuote,
  isJsonObject,
  type JsonObject,
  jsonKind,
  printJson,
  sortedKeys,
} from "@purlin/kube-objects/json";
import { parseApiVersion } from "@purlin/kube-objects/object";
import type { FieldValidation } from "@purlin/kube-objects/patch";
import { TypedFormError } from "@purlin/kube-objects/typed";
import { metaOf, withMeta } from "../objects/object-members.ts";
import { apiVersionOf } from "../registry/registry.ts";
import type { DecodedObject, ObjectStrategy } from "../strategy/object-strategy.ts";
import { type DecodedBody, readRequestBody, summaryOf, UndecodableBodyError } from "./request-body.ts";
import type { RestRequest } from "./rest-context.ts";

/** Reads the body of a create or update. Throws 400 for one that cannot be understood, in terms of what was expected. */
export async function readBody(rest: RestRequest): Promise<DecodedBody> {
  const { request, type } = rest;
  try {
    const body = await readRequestBody(request, { takesProtobuf: !type.custom });
    if (body === undefined) {
      throw new UndecodableBodyError(
        "couldn't get version/kind; json parse error: unexpected end of JSON input",
        new Uint8Array(),
      );
    }
    return body;
  } catch (error) {
    if (!(error instanceof UndecodableBodyError)) throw error;
    throw error.isNumber ? notHandled(rest, error) : unrecognized(rest, error.message, error.raw);
  }
}

/**
 * Reads the object of a create or update. Throws 400 when it is of another type, or, if the client wants it strict, when it has fields
 * its type does not have.
 */
export function* readObject(rest: RestRequest, body: DecodedBody, validation: FieldValidation): Work<JsonObject> {
  yield;
  const typed = requireType(rest, body, validation);
  yield;
  const { object, unknownFields } = yield* decode(rest, withResetMark(rest, typed), body.fractions);
  const total = body.strictErrors.length + unknownFields.length;
  const unknown = unknownFields.slice(0, mostFindings).map((path) => `unknown field ${JSON.stringify(path)}`);
  if (total > 0 && validation === "Strict") {
    const { kind, version } = rest.type;
    const text = [
      ...(body.strictText === undefined ? body.strictErrors : [body.strictText]),
      ...shownFindings(unknown, unknownFields.length),
    ];
    const prefix = `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}`;
    throw badRequest(`${prefix}: strict decoding error: ${text.join(", ")}`);
  }
  if (validation === "Warn") noteFindings(rest, [...body.strictErrors, ...unknown], total);
  rest.request.audit?.requested(object);
  return object;
}

/** Most findings about fields that one response names. */
export const mostFindings = 100;

/** The first findings of a total, and how many more there are. */
export function shownFindings(findings: readonly string[], total: number = findings.length): readonly string[] {
  const more = total - mostFindings;
  return more <= 0 ? findings : [...findings.slice(0, mostFindings), `and ${more} more`];
}

/** Adds findings to the warnings of a request. */
export function noteFindings({ notes }: RestRequest, findings: readonly string[], total?: number): void {
  notes.push(...shownFindings(findings, total));
}

/** An object read by its strategy, in parts where that has a way to do so. */
export function* decodedObject(
  strategy: ObjectStrategy,
  value: JsonObject,
  fractions?: Fractions,
): Work<DecodedObject> {
  if (strategy.decoder.decoding !== undefined) return yield* strategy.decoder.decoding(value, fractions);
  return strategy.decoder.decode(value, fractions);
}

function* decode({ strategy, type }: RestRequest, value: JsonObject, fractions?: Fractions): Work<DecodedObject> {
  try {
    return yield* decodedObject(strategy, value, fractions);
  } catch (error) {
    throw error instanceof TypedFormError ? notHandled({ type }, error) : error;
  }
}

function notHandled({ type }: Pick<RestRequest, "type">, error: Error): StatusError {
  const { kind, version } = type;
  return badRequest(
    `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${error.message}`,
    error,
  );
}

/**
 * An empty list of managedFields means to forget them, for built-in kinds, and would be lost when empty fields are left out; a list of
 * one without a version means the same.
 */
export function withResetMark({ type }: RestRequest, value: JsonObject): JsonObject {
  const { managedFields } = metaOf(value);
  return !type.custom && Array.isArray(managedFields) && managedFields.length === 0
    ? withMeta(value, { managedFields: [{}] })
    : value;
}

/** The object with its type, which must be the one of the URL. */
function requireType(rest: RestRequest, body: DecodedBody, validation: FieldValidation): JsonObject {
  const { type, strategy } = rest;
  const expected = apiVersionOf(type);
  const value = requireObject(rest, body);
  const { apiVersion = "", kind = "" } = value;
  for (const [name, member] of Object.entries({ APIVersion: apiVersion, Kind: kind })) {
    if (typeof member !== "string") {
      const field = name === "Kind" ? "kind" : "apiVersion";
      const text = `json: cannot unmarshal ${jsonKind(member)} into Go struct field .${field} of type string`;
      throw unrecognized(rest, `couldn't get version/kind; json parse error: ${text}`, body.raw);
    }
  }
  if (String(apiVersion).split("/").length > 2) {
    throw unrecognized(rest, `unexpected GroupVersion string: ${String(apiVersion)}`, body.raw);
  }
  requireKind(rest, String(kind), body);
  strategy.decoder.requireKind?.({ kind: String(kind), apiVersion: String(apiVersion), value });
  if (apiVersion !== "" && apiVersion !== expected) {
    noteUnread(rest, body, validation);
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`,
    );
  }
  if (type.custom && kind !== type.kind) {
    noteUnread(rest, body, validation);
    const error = invalidValue("kind", String(kind), `must be ${type.kind}`);
    throw invalid({ group: type.group, kind: String(kind) }, metaOf(value).name ?? "", [error]);
  }
  return withType(value, { apiVersion: expected, kind: type.kind }, body.raw !== undefined);
}

/** The object with its type. One that was read from bytes belongs to the request: it is changed, as copies of large ones take long. */
export function withType(
  value: JsonObject,
  type: { readonly apiVersion: string; readonly kind: string },
  isOwn: boolean,
): JsonObject {
  if (value["apiVersion"] === type.apiVersion && value["kind"] === type.kind) return value;
  return isOwn ? Object.assign(value, type) : { ...value, ...type };
}

/** A custom object is decoded before its kind is compared: its decoding problems are reported as well. */
function noteUnread(rest: RestRequest, { value, strictErrors }: DecodedBody, validation: FieldValidation): void {
  if (rest.type.custom && validation === "Warn" && isJsonObject(value)) {
    noteFindings(rest, [
      ...strictErrors,
      ...fieldsOfNoVersion(rest, value).map((name) => `unknown field ${goQuote(name)}`),
    ]);
  }
}

/** In a version that does not exist a kind has no fields. */
function fieldsOfNoVersion({ type, catalog }: RestRequest, value: JsonObject): string[] {
  const { group, version } = parseApiVersion(String(value["apiVersion"]));
  const isOfKind = group === type.group && value["kind"] === type.kind;
  if (!isOfKind || catalog().find(group, version, type.resource) !== undefined) return [];
  return sortedKeys(value).filter((name) => !["apiVersion", "kind", "metadata"].includes(name));
}

function requireObject(rest: RestRequest, { value, raw }: DecodedBody): JsonObject {
  if (isJsonObject(value)) return value;
  const into =
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
  if (value === null) return {};
  const text = `json: cannot unmarshal ${jsonKind(value)} into Go value of type ${into}`;
  throw unrecognized(rest, `couldn't get version/kind; json parse error: ${text}`, raw);
}

/** Built-in types may leave out their kind, custom ones may not. */
function requireKind(rest: RestRequest, kind: string, { value, raw }: DecodedBody): void {
  if (rest.type.custom && kind === "") {
    throw unrecognized(
      rest,
      `Object 'Kind' is missing in '${beginningOf(raw === undefined ? printJson(value) : Buffer.from(raw).toString())}'`,
      raw,
    );
  }
}

function unrecognized({ type }: RestRequest, why: string, raw: Uint8Array | undefined): StatusError {
  return badRequest(`the object provided is unrecognized (must be of type ${type.kind}): ${why} (${summaryOf(raw)})`);
}
