// SPDX-License-Identifier: Apache-2.0
import {
  findStatusError,
  internalError,
  notAcceptable,
  requestEntityTooLarge,
  type Status,
  StatusError,
  type StatusReason,
  serviceUnavailable,
} from "@purlin/kube-objects/errors";
import { isStoreError } from "../store/store-error.ts";
import { type ApiRequest, type CompleteResponse, documentPayload } from "./api-request.ts";

/** One clause of an Accept header. */
interface MediaClause {
  readonly type: string;
  readonly subtype: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/**
 * The clauses of an Accept header, the most wanted first: by weight, concrete before wildcard, else as they came. As in the reference a
 * weight of 0, or one that is not a number, only moves a clause to the end.
 */
export function parseAccept(header: string): readonly MediaClause[] {
  const clauses = splitOutsideQuotes(header, ",").flatMap((text) => parseClause(text));
  return clauses
    .sort((a, b) => b.weight - a.weight || wildcards(a.clause) - wildcards(b.clause))
    .map(({ clause }) => clause);
}

function parseClause(text: string): { readonly clause: MediaClause; readonly weight: number }[] {
  const [range = "", ...rest] = splitOutsideQuotes(text, ";").map((part) => part.trim());
  const [type = "", subtype = ""] = range.toLowerCase().split("/");
  if (type === "" || subtype === "") return [];
  const parameters = new Map(rest.map(parseParameter));
  const weight = Number(parameters.get("q") ?? "1");
  parameters.delete("q");
  return [{ clause: { type, subtype, parameters }, weight: Number.isNaN(weight) ? 0 : weight }];
}

function parseParameter(text: string): [string, string] {
  const equals = text.indexOf("=");
  if (equals === -1) return [text.toLowerCase(), ""];
  const value = text.slice(equals + 1).trim();
  const unquoted = value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, "$1") : value;
  return [text.slice(0, equals).trim().toLowerCase(), unquoted];
}

function wildcards({ type, subtype }: MediaClause): number {
  return (type === "*" ? 1 : 0) + (subtype === "*" ? 1 : 0);
}

function splitOutsideQuotes(text: string, separator: string): string[] {
  if (!text.includes('"')) return text.split(separator);
  const parts: string[] = [];
  let quoted = false;
  let start = 0;
  for (let i = 0; i < text.length; i += 1) {
    if (text[i] === '"' && text[i - 1] !== "\\") {
      quoted = !quoted;
    } else if (text[i] === separator && !quoted) {
      parts.push(text.slice(start, i));
      start = i + 1;
    }
  }
  return [...parts, text.slice(start)];
}

/** The forms an answer can have. */
export type MediaType = "application/json" | "application/yaml";

/** Another shape the client asked the objects to be given in. */
interface Transform {
  readonly as: string;
  readonly group: string;
  readonly version: string;
}

/** What the client and the server agreed on. */
export interface Negotiated {
  readonly mediaType: MediaType;
  readonly transform: Transform | undefined;
  /** The client asked for indentation in its Accept header. */
  readonly pretty: boolean;
}

const mediaTypes: readonly MediaType[] = ["application/json", "application/yaml"];
/** What the server says it takes and gives. */
const acceptedTypes: readonly string[] = mediaTypes;

const plain: Negotiated = { mediaType: "application/json", transform: undefined, pretty: false };

/** Clients send the same few headers all the time. */
const maxRemembered = 200;

/** Says which transforms an endpoint offers. */
type TransformOffer = (transform: Transform, mediaType: MediaType) => boolean;

/**
 * Makes the negotiation of one kind of endpoint: the first clause, in the client's order of preference, that names a form we have and no
 * transform we lack. Throws 406 when no clause fits.
 */
export function createNegotiation(offers: TransformOffer): (accept: string | undefined) => Negotiated {
  const remembered = new Map<string, Negotiated>();
  return (accept = "") => {
    const known = remembered.get(accept);
    if (known !== undefined) return known;
    const negotiated = negotiate(accept, offers);
    if (remembered.size < maxRemembered) remembered.set(accept, negotiated);
    return negotiated;
  };
}

/** The negotiation of errors, which have one shape only: clauses that want another are passed over. Undefined when none fits. */
export function negotiateError(accept: string | undefined): MediaType | undefined {
  if ((accept ?? "").trim() === "") return "application/json";
  for (const clause of parseAccept(accept ?? "")) {
    const mediaType = mediaTypes.find((candidate) => fits(clause, candidate));
    if (mediaType !== undefined && !clause.parameters.get("as")) return mediaType;
  }
  return undefined;
}

function negotiate(accept: string, offers: TransformOffer): Negotiated {
  if (accept.trim() === "") return plain;
  for (const clause of parseAccept(accept)) {
    const mediaType = mediaTypes.find((candidate) => fits(clause, candidate));
    const negotiated = mediaType && offered(clause, mediaType, offers);
    if (negotiated !== undefined) return negotiated;
  }
  throw notAcceptable(acceptedTypes);
}

function offered({ parameters }: MediaClause, mediaType: MediaType, offers: TransformOffer): Negotiated | undefined {
  const [as, group, version] = [parameters.get("as"), parameters.get("g") ?? "", parameters.get("v") ?? ""];
  if (parameters.has("sv")) return undefined;
  const transform = as === undefined || as === "" ? undefined : { as, group, version };
  if (transform !== undefined && !offers(transform, mediaType)) return undefined;
  return { mediaType, transform, pretty: parameters.get("pretty") === "1" };
}

function fits({ type, subtype }: MediaClause, mediaType: MediaType): boolean {
  const [ownType, ownSubtype] = mediaType.split("/");
  return (type === "*" || type === ownType) && (subtype === "*" || subtype === ownSubtype);
}

/** What of a request decides how an answer is laid out. */
type Reader = Pick<ApiRequest, "headers" | "query">;

const trueTexts: ReadonlySet<string> = new Set(["1", "t", "T", "TRUE", "true", "True"]);

/** Whether an answer is to be indented: for browsers, curl and wget, and for clients that request it. */
export function wantsPretty({ headers, query }: Reader): boolean {
  const asked = query.get("pretty") ?? "";
  if (asked !== "") return trueTexts.has(asked);
  return /^(curl|Wget|Mozilla\/5\.0)/.test(headers["user-agent"] ?? "");
}

/** What a list gives besides, when it is watched. */
const streamType = "application/json;stream=watch";
/** Go clients name it first; that it is not given is found out when the form is agreed on. */
const namedFirst = "application/vnd.kubernetes.protobuf";

/**
 * Throws 406 unless the header names one of the types, or anything. The paths of built-in resources ask this before they look at what
 * is wanted, by name alone: `application/*` is none of their types.
 */
export function requireProducible(
  accept: string | undefined,
  options: { readonly types?: readonly string[] } = {},
): void {
  const types = options.types ?? acceptedTypes;
  const ranges = (accept ?? "").split(",").map((clause) => clause.split(";", 1)[0]?.trim() ?? "");
  const fits = (range: string): boolean => range === "*/*" || range === namedFirst || types.includes(range);
  if ((accept ?? "") !== "" && !ranges.some(fits)) throw notProduced(types);
}

/** The types of a path of a built-in resource that can be watched. */
export const listTypes: readonly string[] = [...acceptedTypes, streamType];

/** The Status of any thrown value. For an unexpected error the client does not see the cause. */
function statusOf(error: unknown): Status {
  const known = findStatusError(error);
  if (known !== undefined) return known.status;
  if (isStoreError(error)) return serviceUnavailable(error.message).status;
  return internalError(new Error("unexpected error; the server's log has the details")).status;
}

/** Whether the error is a bug, or at least unexpected. */
export function isUnexpected(error: unknown): boolean {
  return findStatusError(error) === undefined && !isStoreError(error);
}

/** The answer to a request that failed. A client that accepts none of our types gets indented JSON. */
export function errorResponse(error: unknown, reader: Reader): CompleteResponse {
  const status = statusOf(error);
  const mediaType = negotiateError(reader.headers["accept"]);
  const pretty = mediaType === undefined || wantsPretty(reader);
  const seconds = status.details?.retryAfterSeconds ?? 0;
  return {
    kind: "complete",
    code: status.code,
    headers: seconds > 0 ? { "retry-after": String(seconds) } : {},
    payload: documentPayload(status, { mediaType: mediaType ?? "application/json", pretty }),
  };
}

/** 404 for a path below a group the server itself has, where nothing is. */
export function noSuchResource(): StatusError {
  return refusal(404, "NotFound", "the server could not find the requested resource");
}

/** 405 for a method a path of a built-in resource does not have. */
export function methodNotAllowed(): StatusError {
  return refusal(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
}

/** 415 for a patch of a type built-in resources do not take. */
export function unsupportedPatchType(): StatusError {
  return refusal(415, "UnsupportedMediaType", "415: Unsupported Media Type");
}

/** 406 for an Accept header that names nothing a path of a built-in resource gives. */
function notProduced(types: readonly string[]): StatusError {
  const message = `406: Not Acceptable\n\nAvailable representations: ${types.join(", ")}`;
  return refusal(406, "NotAcceptable", message);
}

function refusal(code: number, reason: StatusReason, message: string): StatusError {
  return new StatusError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason,
    details: {},
    code,
  });
}

/**
 * Most values (members, items, lists and objects) that the body of a request may have. Kubernetes has no such limit, but its storage takes
 * no object of more than 1.5 MB, and those have fewer as a rule.
 */
export const maxValues = 100_000;

/** Throws 413 for too many values. */
export function requireFewValues(values: number): void {
  if (values > maxValues) {
    throw requestEntityTooLarge(
      `limit is ${maxValues} values (fields, items, lists and objects together): split the object into several smaller ones`,
    );
  }
}
