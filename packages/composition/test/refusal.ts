// SPDX-License-Identifier: Apache-2.0
import { StatusError } from "@purlin/kube-objects/errors";

/** The reason of an API server's refusal. */
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
