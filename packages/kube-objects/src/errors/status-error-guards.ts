// SPDX-License-Identifier: Apache-2.0
// Questions callers ask about a failure. All look through wrapped errors and answer false for anything else.
import { findStatusError, type StatusCause, type StatusReason } from "./status-error.ts";

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
