// SPDX-License-Identifier: Apache-2.0
// One error class for everything an API server answers with a Status, on the server that makes it and on the client
// that receives it.

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

const brand = Symbol.for("purlin.dev/kube-objects/StatusError");

/** A failure that carries a Kubernetes Status. Recognize it with {@link isStatusError}, never with `instanceof`. */
export class StatusError extends Error {
  readonly status: Status;

  constructor(status: Status, options?: ErrorOptions) {
    super(status.message ?? "", options);
    this.name = "StatusError";
    this.status = status;
    Object.defineProperty(this, brand, { value: true });
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
  return typeof error === "object" && error !== null && brand in error;
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
