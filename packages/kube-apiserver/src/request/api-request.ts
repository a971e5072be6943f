// SPDX-License-Identifier: Apache-2.0
import type { Writable } from "node:stream";
import { finish, type Work } from "@purlin/base";
import { badRequest, timeout } from "@purlin/kube-objects/errors";
import { fitsIndented, goQuote, type JsonObject, type JsonValue, printingJson } from "@purlin/kube-objects/json";
import { printingYaml } from "@purlin/kube-objects/yaml";
import type { AccessDecision } from "../auth/authorizer.ts";
import type { User } from "../auth/user.ts";
import type { MediaType } from "./negotiate.ts";

/** What a request carries: nothing, bytes that still have to come over a wire, or a value handed over inside the process. */
export type RequestBody =
  | { readonly kind: "none" }
  /** Reads all bytes; fails with 413 when there are more than the server takes. */
  | { readonly kind: "bytes"; readonly read: () => Promise<Uint8Array> }
  | { readonly kind: "value"; readonly value: JsonValue };

/** How a request reached the server. */
export interface RequestOrigin {
  readonly auditId: string;
  /** Path and query as they were sent. */
  readonly uri: string;
  /** The IP address of the client. */
  readonly address: string | undefined;
}

/** Collects what the audit log says about a request. */
export interface RequestAudit {
  /** Called with the user that the request is made as, and the verb of constrained impersonation that allowed it. */
  impersonates(user: User, constraint?: string): void;
  /** Called with the decision of the authorizer. */
  decided(decision: AccessDecision): void;
  /** Adds an annotation; the first value of a key counts. One with a body is only for levels that log bodies of requests. */
  annotate(key: string, value: string, options?: { readonly isBody?: boolean }): void;
  /** Called with the object in the body of the request. */
  requested(object: JsonObject): void;
  /** Called with the patch or the options in the body of the request. */
  requestedWith(value: JsonValue): void;
}

/** A request to the API server, whichever way it came. */
export interface ApiRequest {
  readonly method: string;
  /** The path as it is in the URL, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lower case; a header sent more than once is joined with commas. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: RequestBody;
  readonly user: User;
  /** Where the request came from; undefined inside the process. */
  readonly origin?: RequestOrigin;
  /** What the audit log knows about the request; undefined where it is not logged. */
  audit?: RequestAudit | undefined;
  /** Aborted when the client no longer waits for the response. */
  readonly signal: AbortSignal;
  /** Whether the connection of the client can switch to another protocol, as the request asks for. */
  readonly isUpgradable?: boolean;
}

/** What an answer carries, made in the form its reader wants: bytes for a wire, a value inside the process. */
export interface Payload {
  readonly contentType: string;
  /** The bytes, in pieces that may be shared and must not be changed. */
  chunks(): readonly Uint8Array[];
  /** {@link Payload.chunks} in parts, where that takes long. */
  rendering?(): Work<readonly Uint8Array[]>;
  value(): JsonValue;
}

type ResponseHeaders = Readonly<Record<string, string>>;

interface Answer {
  readonly code: number;
  readonly headers?: ResponseHeaders;
  /** Texts of Warning headers. */
  readonly warnings?: readonly string[];
}

/** An answer in one piece. */
export interface CompleteResponse extends Answer {
  readonly kind: "complete";
  readonly payload?: Payload;
}

/** An answer that continues: one line of JSON for each event. */
export interface StreamResponse extends Answer {
  readonly kind: "stream";
  readonly contentType: string;
  readonly open: (onReady: () => void) => EventStream;
  /** Takes what the client sends from now on, with code 101: both sides have switched to another protocol. */
  readonly accept?: Writable;
}

/** What a request is answered with: a whole body, or a stream such as a watch. */
export type ApiResponse = CompleteResponse | StreamResponse;

/** One event of a watch, encoded once for all watchers of the same format. */
export interface StreamEvent {
  /** The line, newline included, in pieces that may be shared and must not be changed. */
  parts(): readonly Uint8Array[];
  /** Makes in parts, where that may take long, what the others return. */
  preparing?(): Work<void>;
  value(): JsonValue;
}

/** Events, taken at the reader's pace. */
export interface EventStream {
  /** Events there are now; none: wait to be called; undefined: the stream has ended. */
  take(): readonly StreamEvent[] | undefined;
  close(): void;
}

const encoder = new TextEncoder();
/** Ends every document that is not laid out for people. */
export const lineBreak: Uint8Array = encoder.encode("\n");

interface DocumentForm {
  readonly mediaType: MediaType;
  /** Indented, for people. */
  readonly pretty?: boolean;
  /** What to say it is, when that is more than the media type. */
  readonly contentType?: string;
}

/** A value in the form that was negotiated. */
export function documentPayload(value: JsonValue, form: DocumentForm): Payload {
  return {
    contentType: form.contentType ?? form.mediaType,
    rendering: () => documentChunks(value, form),
    chunks: () => finish(documentChunks(value, form)),
    value: () => value,
  };
}

/** A document that is made when it is asked for, and in parts where there is time for that. */
export function madePayload(make: () => Work<JsonValue>, form: DocumentForm): Payload {
  const rendering = function* (): Work<readonly Uint8Array[]> {
    const value = yield* make();
    yield;
    return yield* documentChunks(value, form);
  };
  return {
    contentType: form.contentType ?? form.mediaType,
    rendering,
    chunks: () => finish(rendering()),
    value: () => finish(make()),
  };
}

/** A document is encoded in pieces of about this many characters, so that its text need not be kept. */
const pieceLength = 64 * 1024;

function* documentChunks(value: JsonValue, form: DocumentForm): Work<readonly Uint8Array[]> {
  // What came before, such as the checks of a large object, may have used up the turn.
  yield;
  const chunks: Uint8Array[] = [];
  let piece = "";
  const write = (text: string): void => {
    piece += text;
    if (piece.length < pieceLength) return;
    chunks.push(encoder.encode(piece));
    piece = "";
  };
  yield* printing(value, form, write);
  if (piece !== "") chunks.push(encoder.encode(piece));
  return chunks;
}

/** Spaces per level, as in the reference. */
const indent = 2;

function* printing(value: JsonValue, form: DocumentForm, write: (text: string) => void): Work<void> {
  const { mediaType, pretty = false } = form;
  const isYaml = mediaType === "application/yaml";
  // Indentation is for people: what would become too long for them, and for the memory, comes on one line. As YAML, that is a document, too.
  const isIndented = (pretty || isYaml) && (yield* fitsIndented(value, indent));
  if (isYaml && isIndented) {
    write(yield* printingYaml(value));
    return;
  }
  yield* printingJson(value, { htmlSafe: true, ...(isIndented && { indent }) }, write);
  // As Go writes it: indented documents end without a line break.
  if (!isIndented) write("\n");
}

/** Plain text, for the few endpoints that are not JSON. */
export function textPayload(text: string, contentType: string = "text/plain; charset=utf-8"): Payload {
  return { contentType, chunks: () => [encoder.encode(text)], value: () => text };
}

/** Bytes that are JSON already, and the value they stand for. */
export function encodedPayload(chunks: () => readonly Uint8Array[], value: () => JsonValue): Payload {
  return { contentType: "application/json", chunks, value };
}

/** The same, put together in parts. */
export function joinedPayload(rendering: () => Work<readonly Uint8Array[]>, value: () => JsonValue): Payload {
  return { contentType: "application/json", rendering, chunks: () => finish(rendering()), value };
}

/** A stream that ended before it was complete. Its client must not mistake it for a complete one. */
export class StreamAbortedError extends Error {}

/** The longest timeout of a request, as in the reference. */
const mostMs = 60_000;

/**
 * The milliseconds that the `timeout` in the query leaves for an answer; undefined when it is not shorter than the default. Throws
 * 400 for a value that Go does not parse as a duration such as `1m30s`.
 */
export function requestTimeoutMs(query: URLSearchParams): number | undefined {
  const text = query.get("timeout") ?? "";
  if (text === "") return undefined;
  const duration = parseDuration(text);
  if (typeof duration === "string") throw badRequest(`invalid timeout specified in the request URL - ${duration}`);
  // None, and less than none, mean that the client has all the time there is.
  return duration > 0 && duration < mostMs ? duration : undefined;
}

/** The outcome of the work; undefined when it did not come in time. The work continues: only a read shows its outcome. */
export async function inTime<T>(timeoutMs: number | undefined, work: () => Promise<T>): Promise<T | undefined> {
  if (timeoutMs === undefined) return work();
  const late = Promise.withResolvers<undefined>();
  const started = performance.now();
  const timer = setTimeout(() => late.resolve(undefined), Math.ceil(timeoutMs));
  try {
    const outcome = await Promise.race([work(), late.promise]);
    return performance.now() - started > timeoutMs ? undefined : outcome;
  } finally {
    clearTimeout(timer);
  }
}

/** The response to a request that timed out, as the reference writes it: without negotiation, and without a kind. */
export function tooLate(): CompleteResponse {
  const { kind: _, apiVersion: __, ...status } = timeout("request did not complete within the allotted timeout").status;
  const form = { mediaType: "application/json", contentType: "text/plain; charset=utf-8" } as const;
  return { kind: "complete", code: 504, payload: documentPayload(status, form) };
}

const unitsMs: ReadonlyMap<string, number> = new Map([
  ["ns", 1e-6],
  ["us", 1e-3],
  ["µs", 1e-3],
  ["μs", 1e-3],
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
]);

/** A Go duration in milliseconds, or Go's error about an invalid one. */
function parseDuration(text: string): number | string {
  const invalid = `time: invalid duration ${goQuote(text)}`;
  let rest = text.replace(/^[-+]/, "");
  if (rest === "0") return 0;
  if (rest === "") return invalid;
  let sum = 0;
  while (rest !== "") {
    const [part, number = "", unit = ""] = /^(\d*\.?\d*)([^\d.]*)/.exec(rest) ?? [""];
    if (!/\d/.test(number)) return invalid;
    const unitMs = unitsMs.get(unit);
    if (unitMs === undefined) {
      return unit === ""
        ? `time: missing unit in duration ${goQuote(text)}`
        : `time: unknown unit ${goQuote(unit)} in duration ${goQuote(text)}`;
    }
    sum += Number(number) * unitMs;
    rest = rest.slice(part.length);
  }
  return text.startsWith("-") ? -sum : sum;
}
