// SPDX-License-Identifier: Apache-2.0
import type { Work } from "@purlin/base";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import type { AccessDecision } from "../auth/authorizer.ts";
import type { User } from "../auth/user.ts";

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

/** An answer that goes on: one line of JSON for each event. */
export interface StreamResponse extends Answer {
  readonly kind: "stream";
  readonly contentType: string;
  readonly open: (onReady: () => void) => EventStream;
}

/** What a request is answered with: a whole body, or a stream such as a watch. */
export type ApiResponse = CompleteResponse | StreamResponse;

/** One event of a watch, rendered once for all who want it in the same form. */
export interface StreamEvent {
  /** The line, newline included, in pieces that may be shared and must not be changed. */
  parts(): readonly Uint8Array[];
  value(): JsonValue;
}

/** Events, taken at the reader's pace. */
export interface EventStream {
  /** Events there are now; none: wait to be called; undefined: the stream has ended. */
  take(): readonly StreamEvent[] | undefined;
  close(): void;
}
