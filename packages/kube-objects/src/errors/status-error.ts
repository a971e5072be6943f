// SPDX-License-Identifier: Apache-2.0
import { createErrorBrand } from "@purlin/base";
// One error class for everything an API server answers with a Status, on the server that makes it and on the client that
// receives it; and the questions callers ask about a failure. They look through wrapped errors and answer false for anything else.

/** Why a request failed, as a word that clients can switch on. An unclassified error has the empty reason. */
export type StatusReason =
  | ""
  | "Unauthorized"
  | "Forbidden"
  | "NotFound"
  | "AlreadyExists"
  | "Conflict"
  | "Gone"
  | "Invalid"
  | "ServerTimeout"
  | "StorageReadError"
  | "Timeout"
  | "TooManyRequests"
  | "BadRequest"
  | "MethodNotAllowed"
  | "NotAcceptable"
  | "RequestEntityTooLarge"
  | "UnsupportedMediaType"
  | "InternalError"
  | "Expired"
  | "ServiceUnavailable"
  // Of the embedded server alone: what other clusters serve, and it does not.
  | "NotImplemented";

/** One of possibly many causes of a failure. */
export type StatusCause = {
  readonly reason?: string;
  readonly message?: string;
  /** The field at fault, as a path. */
  readonly field?: string;
};

/** What a failure is about. `kind` is the plural resource, except for Invalid where it is the kind. */
export type StatusDetails = {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
};

/** A Kubernetes Status object: the body of every failed request. */
export type Status = {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: { readonly continue?: string; readonly resourceVersion?: string };
  readonly status: "Failure" | "Success";
  readonly message?: string;
  readonly reason?: StatusReason;
  readonly details?: StatusDetails;
  readonly code: number;
};

const brand = createErrorBrand<StatusError>("purlin.dev/kube-objects/StatusError");

/** A failure that carries a Kubernetes Status. Recognize it with {@link isStatusError}, never with `instanceof`. */
export class StatusError extends Error {
  readonly status: Status;

  constructor(status: Status, options?: ErrorOptions) {
    super(status.message ?? "", options);
    this.name = "StatusError";
    this.status = status;
    brand.mark(this);
  }

  /** The HTTP status code. */
  get code(): number {
    return this.status.code;
  }

  /** Why it failed; empty for an unclassified failure. */
  get reason(): StatusReason {
    return this.status.reason ?? "";
  }
}

/** Whether the value is a StatusError, of this or another copy of the package. */
export function isStatusError(error: unknown): error is StatusError {
  return brand.has(error);
}

/** The StatusError in an error's chain of causes, the outermost first. */
export function findStatusError(error: unknown): StatusError | undefined {
  const seen = new Set<unknown>();
  let current = error;
  while (current instanceof Error && !seen.has(current)) {
    if (isStatusError(current)) return current;
    seen.add(current);
    current = current.cause;
  }
  return isStatusError(current) ? current : undefined;
}

/** The Status to answer with for any thrown value: its own, or code 500 with no reason and the error's text. */
export function toStatus(error: unknown): Status {
  const known = findStatusError(error);
  if (known) return known.status;
  const message = error instanceof Error ? error.message : String(error);
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, code: 500 };
}

type Guard = (error: unknown) => boolean;

const byReason =
  (reason: StatusReason): Guard =>
  (error) =>
    findStatusError(error)?.reason === reason;

// A proxy or an old server may answer with a code alone; then the code decides. A reason of its own decides against the code: an
// admission webhook may deny a request with any code, and a delete that is denied with 409 or 404 is neither a conflict nor done.
const byReasonOrCode =
  (reason: StatusReason, code: number): Guard =>
  (error) => {
    const found = findStatusError(error);
    if (!found) return false;
    return found.reason === reason || (found.reason === "" && found.code === code);
  };

const byReasonOrAnyCode =
  (reason: StatusReason, code: number): Guard =>
  (error) => {
    const found = findStatusError(error);
    return found !== undefined && (found.reason === reason || found.code === code);
  };

/** The object or the resource does not exist. */
export const isNotFound: Guard = byReasonOrCode("NotFound", 404);
/** An object of that name exists already. */
export const isAlreadyExists: Guard = byReason("AlreadyExists");
/** The object changed since it was read, or an apply met fields another manager owns. */
export const isConflict: Guard = byReasonOrCode("Conflict", 409);
/** The object does not pass validation. */
export const isInvalid: Guard = byReasonOrCode("Invalid", 422);
/** The thing is gone for good. */
export const isGone: Guard = byReasonOrCode("Gone", 410);
/** The resourceVersion or continue token is too old: list again. */
export const isExpired: Guard = byReason("Expired");
/** None of the response types the client accepts can be served. */
export const isNotAcceptable: Guard = byReasonOrCode("NotAcceptable", 406);
/** The request body's type is not understood. */
export const isUnsupportedMediaType: Guard = byReasonOrCode("UnsupportedMediaType", 415);
/** The resource does not offer that verb. */
export const isMethodNotSupported: Guard = byReasonOrCode("MethodNotAllowed", 405);
/** The server cannot answer now. */
export const isServiceUnavailable: Guard = byReasonOrCode("ServiceUnavailable", 503);
/** The request makes no sense. */
export const isBadRequest: Guard = byReasonOrCode("BadRequest", 400);
/** The request is not authenticated. */
export const isUnauthorized: Guard = byReasonOrCode("Unauthorized", 401);
/** The user may not do that. */
export const isForbidden: Guard = byReasonOrCode("Forbidden", 403);
/** No answer in time; the operation may still happen. */
export const isTimeout: Guard = byReasonOrCode("Timeout", 504);
/** The server could not complete the operation now and asks for a retry. */
export const isServerTimeout: Guard = byReason("ServerTimeout");
/** The server failed. */
export const isInternalError: Guard = byReasonOrCode("InternalError", 500);
/** The client must slow down. */
export const isTooManyRequests: Guard = byReasonOrAnyCode("TooManyRequests", 429);
/** The request body is too large. */
export const isRequestEntityTooLarge: Guard = byReasonOrAnyCode("RequestEntityTooLarge", 413);

const knownReasons: ReadonlySet<string> = new Set<StatusReason>([
  "Unauthorized",
  "Forbidden",
  "NotFound",
  "AlreadyExists",
  "Conflict",
  "Gone",
  "Invalid",
  "ServerTimeout",
  "StorageReadError",
  "Timeout",
  "TooManyRequests",
  "BadRequest",
  "MethodNotAllowed",
  "NotAcceptable",
  "RequestEntityTooLarge",
  "UnsupportedMediaType",
  "InternalError",
  "Expired",
  "ServiceUnavailable",
]);

/** A Usage protects the object: a 409 whose reason is a sentence. Unlike a conflict, a retry with the newest version does not help. */
export function isDeletionDenied(error: unknown): boolean {
  const found = findStatusError(error);
  return found?.code === 409 && found.reason !== "" && !knownReasons.has(found.reason);
}

/** The first cause with the given reason, if the error has one. */
export function statusCause(error: unknown, reason: string): StatusCause | undefined {
  return findStatusError(error)?.status.details?.causes?.find((cause) => cause.reason === reason);
}

/** The asked-for resourceVersion lies in the future of the server. */
export function isTooLargeResourceVersion(error: unknown): boolean {
  return isTimeout(error) && statusCause(error, "ResourceVersionTooLarge") !== undefined;
}

/** How many seconds the server asks the client to wait before trying again, or undefined when it does not say. */
export function suggestedDelaySeconds(error: unknown): number | undefined {
  const found = findStatusError(error);
  const seconds = found?.status.details?.retryAfterSeconds ?? 0;
  if (found?.reason === "ServerTimeout" && found.status.details) return seconds;
  return seconds > 0 ? seconds : undefined;
}

/** The result of the promise, or undefined when it fails with NotFound. */
export async function ignoreNotFound<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** The text of anything that was thrown. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** An error that says where another one happened, as `outer: inner`, with the inner one as its cause. */
export function wrapError(outer: string, cause: unknown): Error {
  return new Error(`${outer}: ${textOf(cause)}`, { cause });
}

/** Runs something and, when it fails, says what could not be done. */
export async function during<T>(what: string, action: () => Promise<T> | T): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw wrapError(what, error);
  }
}
