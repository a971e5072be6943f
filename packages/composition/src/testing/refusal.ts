// SPDX-License-Identifier: Apache-2.0
import { StatusError } from "@purlin/kube-objects/errors";

/** What an API server says to somebody who lacks a right, in one word. */
export function refusal(message = "no"): StatusError {
  return new StatusError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    reason: "Forbidden",
    code: 403,
    message,
  });
}
