// SPDX-License-Identifier: Apache-2.0
import { StatusError, type StatusReason } from "@purlin/kube-objects/errors";

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
