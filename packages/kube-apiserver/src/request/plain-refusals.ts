// SPDX-License-Identifier: Apache-2.0
import { requestEntityTooLarge, StatusError, type StatusReason } from "@purlin/kube-objects/errors";

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
export function notProduced(types: readonly string[]): StatusError {
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
