// SPDX-License-Identifier: Apache-2.0

import { createErrorBrand } from "@purlin/base";
import type { inspector, RunFunctionRequest, RunFunctionResponse } from "@purlin/function-protocol";
import { textOf } from "@purlin/kube-objects/errors";

/** The function revision to call, resolved once a step, before the outermost layer, so that all layers agree on it. */
export interface FunctionTarget {
  readonly functionName: string;
  /** Keys connections and cached responses. A function without a package uses its name and endpoint. */
  readonly revisionName: string;
  /** The package the revision runs; empty when it has no package. */
  readonly packageRef: string;
  /** `dns:///host:port`, `host:port` or `unix:path`. */
  readonly endpoint: string;
  /** The revision's number; 0 when it has no number. */
  readonly revision: number;
  /** Call this function without TLS. Set only for development functions, on explicit request. */
  readonly plaintext?: boolean | undefined;
  /** Marks the function as used by a step until the returned function is called. It is not stopped while it is used. */
  readonly acquire?: (() => () => void) | undefined;
  /** Aborts when another version has replaced this one, a moment later: a call that is not answered by then is made again there. */
  readonly replaced?: AbortSignal | undefined;
  /** Runs another revision on the same request, and compares; nothing of its response is used. */
  readonly shadow?: ShadowOrder | undefined;
  /** Whether a rollout chose the revision: its calls are sampled. */
  readonly isRolledOut?: boolean | undefined;
}

/** The composite resource that a pipeline runs for. One object stands for one reconcile. */
export interface CompositeSubject {
  readonly uid: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The labels of the CompositionRevision, among them those of its Composition. */
  readonly compositionLabels: Readonly<Record<string, string>>;
  /** Composed resources that may get another name or another composite resource, by their names in the pipeline. */
  readonly moved?: MovedNames | undefined;
}

/** Declared moves of composed resources. */
export interface MovedNames {
  /** Names that belong to one resource. */
  readonly renames: readonly (readonly string[])[];
  /** Names of resources that another composite resource takes over. */
  readonly leaving: readonly string[];
}

/** A rollout asks to run its candidate beside the revision that serves a step. */
export interface ShadowOrder {
  readonly rollout: { readonly uid: string; readonly name: string };
  readonly candidate: FunctionTarget;
  readonly composite: CompositeSubject;
}

/** Which pipeline step a call belongs to. */
interface StepInfo {
  readonly name: string;
  /** Zero-based. */
  readonly index: number;
}

/** Which reconcile a call belongs to, for recorders of runs. */
export interface RunTrace {
  /** One for each reconcile. */
  readonly traceId: string;
  /** The composite resource or operation that is reconciled. */
  readonly context?: inspector.StepMeta["context"];
}

/** Observes the calls that answer one step. */
export interface CallObserver {
  /** A function is about to be called. The returned function takes its response; it is not called when the call fails. */
  called(target: FunctionTarget, request: RunFunctionRequest): (response: RunFunctionResponse) => void;
  /** A cache answered, and the function was not called. */
  cached(): void;
}

/** Everything about a call that is not part of the request. */
export interface RunCall {
  /** When the caller stops waiting, in milliseconds since the epoch. */
  readonly deadline: number;
  /** Ends the run early, including reads of required objects. A caller with a deadline aborts it at the deadline. */
  readonly signal?: AbortSignal | undefined;
  readonly step?: StepInfo | undefined;
  /** Without it the run is not recorded. */
  readonly trace?: RunTrace | undefined;
  /** Restricts the protocol: old releases of Crossplane knew v1beta1 only. */
  readonly protocol?: "v1beta1" | undefined;
  /** Call the function although a cache has its response: an Operation has effects. */
  readonly uncached?: boolean | undefined;
  /** Observes the calls of the function, for recorders of runs. */
  readonly observer?: CallObserver | undefined;
  /** Called with the last request of a step, which carries everything that the function required. */
  readonly onSettled?: ((request: RunFunctionRequest) => void) | undefined;
  /** Takes over work that must not delay the reconcile, and starts it when the reconcile has ended. */
  readonly afterwards?: ((work: () => void) => void) | undefined;
}

/**
 * Runs a function. Every layer is one: it takes the next runner and adds one behaviour. A runner changes neither the
 * request nor anything it holds, and rejects with an error of one line that names the function.
 */
export interface FunctionRunner {
  run(target: FunctionTarget, request: RunFunctionRequest, call: RunCall): Promise<RunFunctionResponse>;
}

const ignore = (): void => {};

/** The observer of a call that also gets whether a cache answered. */
export function observing({ observer }: Pick<RunCall, "observer">, onCached: () => void): CallObserver {
  return {
    called: (target, request) => observer?.called(target, request) ?? ignore,
    cached() {
      onCached();
      observer?.cached();
    },
  };
}

/** Why a function could not be run, in a word callers can switch on. */
export type RunnerErrorCode =
  | "RPC" // the call failed; `status` is the gRPC status
  | "BAD_TARGET" // the revision's endpoint cannot be understood
  | "TLS" // certificates are missing or unusable
  | "CLOSED" // the runner has been shut down
  | "BAD_STEP" // the pipeline step cannot be turned into a request
  | "FETCH" // something the step or the function asked for could not be read
  | "UNKNOWN_LINE" // no such Crossplane release line
  | "REVISION_NOT_FOUND"
  | "REVISION_FOREIGN"
  | "REVISION_INACTIVE"
  | "NO_ACTIVE_REVISION"
  | "NO_ENDPOINT"
  | "FEATURE_DISABLED";

const brand = createErrorBrand<RunnerError>("purlin.dev/function-runner/RunnerError");

/** What else an error carries. */
interface RunnerErrorOptions extends ErrorOptions {
  /** The canonical name of the gRPC status, such as `DeadlineExceeded`, when a call failed. */
  readonly status?: string;
}

/** Why a function could not be run, in one line. Recognize it with {@link isRunnerError}. */
export class RunnerError extends Error {
  readonly code: RunnerErrorCode;
  /** The canonical name of the gRPC status when a call failed. */
  readonly status: string | undefined;

  constructor(code: RunnerErrorCode, message: string, options?: RunnerErrorOptions) {
    super(message, options);
    this.name = "RunnerError";
    this.code = code;
    this.status = options?.status;
    brand.mark(this);
  }
}

/** Whether the value is a RunnerError, of this or another copy of the package. */
export function isRunnerError(value: unknown): value is RunnerError {
  return brand.has(value);
}

export { textOf };

/** An error that says where another one happened: `outer: inner`. Code and status of the inner one stay. */
export function wrapError(code: RunnerErrorCode, outer: string, cause: unknown): RunnerError {
  const inner = isRunnerError(cause) ? cause : undefined;
  const status = inner?.status === undefined ? {} : { status: inner.status };
  return new RunnerError(inner?.code ?? code, `${outer}: ${textOf(cause)}`, { cause, ...status });
}
