// SPDX-License-Identifier: Apache-2.0
import { findStatusError, internalError, type Status, serviceUnavailable } from "@purlin/kube-objects/errors";
import { isStoreError } from "../store/store-error.ts";
import type { CompleteResponse } from "./api-request.ts";
import { negotiateError, type Reader, wantsPretty } from "./negotiate.ts";
import { documentPayload } from "./payload.ts";

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

/** The answer to a request that failed. Who accepts nothing we have gets JSON, laid out for people. */
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
