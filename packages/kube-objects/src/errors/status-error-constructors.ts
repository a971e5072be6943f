// SPDX-License-Identifier: Apache-2.0
// The failures an API server answers with, in the reference server's codes, reasons and words.

import { goQuote } from "../json/go-text.ts";
import { type FieldError, fieldErrorsText } from "./field-error.ts";
import { type Status, type StatusCause, type StatusDetails, StatusError, type StatusReason } from "./status-error.ts";

/** A resource as error texts name it: the plural and its group, which is empty for the core group. */
export interface ResourceName {
  readonly group: string;
  readonly resource: string;
}

/** A kind as error texts name it. */
export interface KindName {
  readonly group: string;
  readonly kind: string;
}

interface Failure {
  readonly code: number;
  readonly reason?: StatusReason;
  readonly message: string;
  readonly details?: StatusDetails;
  readonly continue?: string;
}

function failure({ code, reason, message, details, continue: token }: Failure, cause?: unknown): StatusError {
  const status: Status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: token === undefined ? {} : { continue: token },
    status: "Failure",
    message,
    ...(reason ? { reason } : {}),
    ...(details ? { details } : {}),
    code,
  };
  return new StatusError(status, cause === undefined ? undefined : { cause });
}

// Absent and empty details are the same on the wire: empty ones are left out.
function details(from: StatusDetails): StatusDetails {
  return Object.fromEntries(
    Object.entries(from).filter(
      ([, value]) => !(value === "" || value === 0 || (Array.isArray(value) && value.length === 0)),
    ),
  );
}

const ofResource = ({ group, resource }: ResourceName, name = ""): StatusDetails =>
  details({ name, group, kind: resource });

const qualified = (name: string, group: string): string => (group === "" ? name : `${name}.${group}`);

/** `plural.group`, or the plural alone for the core group. */
export function resourceText({ group, resource }: ResourceName): string {
  return qualified(resource, group);
}

/** 404: `<resource> "<name>" not found`. */
export function notFound(resource: ResourceName, name: string): StatusError {
  const message = `${resourceText(resource)} ${goQuote(name)} not found`;
  return failure({ code: 404, reason: "NotFound", message, details: ofResource(resource, name) });
}

/** 409: `<resource> "<name>" already exists`. */
export function alreadyExists(resource: ResourceName, name: string): StatusError {
  const message = `${resourceText(resource)} ${goQuote(name)} already exists`;
  return failure({ code: 409, reason: "AlreadyExists", message, details: ofResource(resource, name) });
}

/** 409 when no free name was found for a generateName. */
export function generateNameConflict(resource: ResourceName, name: string, retryAfterSeconds: number): StatusError {
  const text = `${resourceText(resource)} ${goQuote(name)} already exists`;
  return failure({
    code: 409,
    reason: "AlreadyExists",
    message: `${text}, the server was not able to generate a unique name for the object`,
    details: details({ ...ofResource(resource, name), retryAfterSeconds }),
  });
}

/** 409: `Operation cannot be fulfilled on <resource> "<name>": <why>`. */
export function conflict(resource: ResourceName, name: string, why: string): StatusError {
  const message = `Operation cannot be fulfilled on ${resourceText(resource)} ${goQuote(name)}: ${why}`;
  return failure({ code: 409, reason: "Conflict", message, details: ofResource(resource, name) });
}

/** What a conflict says when the resourceVersion sent is not the current one. */
export const modifiedText =
  "the object has been modified; please apply your changes to the latest version and try again";

/** 409 of server-side apply: the whole message and one cause for each field. */
export function applyConflict(message: string, causes: readonly StatusCause[]): StatusError {
  return failure({ code: 409, reason: "Conflict", message, details: details({ causes }) });
}

/** 422: `<Kind.group> "<name>" is invalid: <findings>`, one cause for each finding in the given order. */
export function invalid({ group, kind }: KindName, name: string, errors: readonly FieldError[]): StatusError {
  const shown = firstWithinLimit(errors);
  const causes = shown.map(({ type, body, field }) => ({ reason: type, message: body, field }));
  const text = `${qualified(kind, group)} ${goQuote(name)} is invalid`;
  const rest = shown.length < errors.length ? ` and ${errors.length - shown.length} more` : "";
  const message = errors.length === 0 ? text : `${text}: ${fieldErrorsText(shown)}${rest}`;
  return failure({ code: 422, reason: "Invalid", message, details: details({ name, group, kind, causes }) });
}

/** The first errors of one object, up to a size limit: many errors that each show a long list would be unbounded. */
const mostFindingsText = 1 << 20;

function firstWithinLimit(errors: readonly FieldError[]): readonly FieldError[] {
  let length = 0;
  const beyond = errors.findIndex(({ field, body }) => {
    length += field.length + body.length;
    return length > mostFindingsText;
  });
  return beyond < 0 ? errors : errors.slice(0, Math.max(1, beyond));
}

/** 422 for a patch that cannot be applied: a fixed text, as the reference does not report which operation failed. */
export function patchNotApplicable(cause?: unknown): StatusError {
  const message = "the server rejected our request due to an error in our request";
  return failure({ code: 422, reason: "Invalid", message, details: {} }, cause);
}

/** 400 with the given text. */
export function badRequest(message: string, cause?: unknown): StatusError {
  return failure({ code: 400, reason: "BadRequest", message }, cause);
}

/** 401. */
export function unauthorized(message = "Unauthorized"): StatusError {
  return failure({ code: 401, reason: "Unauthorized", message });
}

/** 403: `<resource> "<name>" is forbidden: <why>`. */
export function forbidden(resource: ResourceName, name: string, why: string): StatusError {
  const subject = resource.resource === "" && resource.group === "" ? "" : resourceText(resource);
  const named = subject !== "" && name !== "" ? `${subject} ${goQuote(name)}` : subject;
  const message = named === "" ? `forbidden: ${why}` : `${named} is forbidden: ${why}`;
  return failure({ code: 403, reason: "Forbidden", message, details: ofResource(resource, name) });
}

/** 403 because the namespace is going away, with the cause controllers look for. */
export function namespaceTerminating(resource: ResourceName, name: string, namespace: string): StatusError {
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const { status } = forbidden(resource, name, why);
  const causes = [
    {
      reason: "NamespaceTerminating",
      message: `namespace ${namespace} is being terminated`,
      field: "metadata.namespace",
    },
  ];
  return new StatusError({ ...status, details: { ...status.details, causes } });
}

/** 405: `<verb> is not supported on resources of kind "<resource>"`. */
export function methodNotSupported(resource: ResourceName, verb: string): StatusError {
  const message = `${verb} is not supported on resources of kind ${goQuote(resourceText(resource))}`;
  return failure({ code: 405, reason: "MethodNotAllowed", message, details: ofResource(resource) });
}

/** 406: none of the types in Accept can be served. */
export function notAcceptable(accepted: readonly string[]): StatusError {
  const message = `only the following media types are accepted: ${accepted.join(", ")}`;
  return failure({ code: 406, reason: "NotAcceptable", message });
}

/** 410 with reason Expired: a resourceVersion or continue token is too old. `token` lets the client continue inconsistently. */
export function expired(message: string, token?: string): StatusError {
  return failure({ code: 410, reason: "Expired", message, ...(token === undefined ? {} : { continue: token }) });
}

/** 410 with reason Gone. */
export function gone(message: string): StatusError {
  return failure({ code: 410, reason: "Gone", message });
}

/** 413: `Request entity too large: <why>`. */
export function requestEntityTooLarge(why: string): StatusError {
  return failure({ code: 413, reason: "RequestEntityTooLarge", message: `Request entity too large: ${why}` });
}

/** 415: the body's type is not understood. */
export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`;
  return failure({ code: 415, reason: "UnsupportedMediaType", message });
}

/** 429 with a delay. */
export function tooManyRequests(message: string, retryAfterSeconds: number): StatusError {
  return failure({ code: 429, reason: "TooManyRequests", message, details: details({ retryAfterSeconds }) });
}

/** 500: `Internal error occurred: <error>`. */
export function internalError(error: unknown): StatusError {
  const text = error instanceof Error ? error.message : String(error);
  const message = `Internal error occurred: ${text}`;
  return failure({ code: 500, reason: "InternalError", message, details: { causes: [{ message: text }] } }, error);
}

/** 500 without a reason and without details: how the reference answers errors it has no class for. */
export function unclassifiedError(message: string, cause?: unknown): StatusError {
  return failure({ code: 500, message }, cause);
}

/** 503 with the given text. */
export function serviceUnavailable(message: string): StatusError {
  return failure({ code: 503, reason: "ServiceUnavailable", message });
}

/** 500 with reason ServerTimeout: the operation did not complete and may be tried again. */
export function serverTimeout(resource: ResourceName, operation: string, retryAfterSeconds: number): StatusError {
  return failure({
    code: 500,
    reason: "ServerTimeout",
    message: `The ${operation} operation against ${resourceText(resource)} could not be completed at this time, please try again.`,
    details: details({ ...ofResource(resource, operation), retryAfterSeconds }),
  });
}

/** 504: `Timeout: <why>`. */
export function timeout(why: string, retryAfterSeconds = 0): StatusError {
  return failure({ code: 504, reason: "Timeout", message: `Timeout: ${why}`, details: details({ retryAfterSeconds }) });
}

/** 504 because the resourceVersion asked for is newer than anything here, with the cause clients look for. */
export function tooLargeResourceVersion(asked: string, current: string, retryAfterSeconds: number): StatusError {
  const causes = [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }];
  return failure({
    code: 504,
    reason: "Timeout",
    message: `Timeout: Too large resource version: ${asked}, current: ${current}`,
    details: details({ causes, retryAfterSeconds }),
  });
}
