// SPDX-License-Identifier: Apache-2.0
import { type JsonObject, ownValue } from "@purlin/kube-objects/json";
import type { FunctionTarget } from "../function-runner.ts";
import { RunnerError, type RunnerErrorCode, textOf, wrapError } from "../runner-error.ts";
import type { FunctionReference, FunctionResolver } from "./function-resolver.ts";
import {
  type FunctionRevision,
  highest,
  isServing,
  packageLabel,
  readRevision,
  targetOf,
} from "./function-revision.ts";

/** Where FunctionRevisions are read from. */
export interface FunctionRevisions {
  /** A FunctionRevision; undefined when it does not exist. */
  get(name: string, signal?: AbortSignal): Promise<JsonObject | undefined>;
  /** The FunctionRevisions that carry all of these labels. */
  list(labels: ReadonlyMap<string, string>, signal?: AbortSignal): Promise<readonly JsonObject[]>;
  /** The FunctionRevisions whose `spec.digest` is this one. */
  withDigest(digest: string, signal?: AbortSignal): Promise<readonly JsonObject[]>;
}

/** What a resolver may do. */
interface RevisionResolverOptions {
  /** Whether steps may name revisions; otherwise those that do fail. */
  readonly revisionSelectors: boolean;
}

/**
 * Finds the revision that serves a step: the one it names, or else the highest-numbered serving one among those its
 * selector matches. A step that names a revision never gets another, and one that may not name any fails.
 */
export function createRevisionResolver(
  revisions: FunctionRevisions,
  options: RevisionResolverOptions,
): FunctionResolver {
  return {
    async resolve(reference, signal) {
      try {
        if (!options.revisionSelectors) refuseSelection(reference);
        const { functionName, revision } = await findRevision(revisions, reference, signal);
        return withEndpoint(functionName, revision);
      } catch (error) {
        const named = reference.functionName || reference.function || "";
        throw wrapError("FETCH", `cannot get gRPC client connection for Function "${named}"`, error);
      }
    },
  };
}

const selecting = ["functionRevisionRef", "functionRevisionSelector", "function"] as const;

function refuseSelection(reference: FunctionReference): void {
  const field = selecting.find((name) => reference[name] !== undefined);
  if (field === undefined) return;
  const text = `pipeline step "${reference.step}" uses ${field}, which needs --enable-function-revision-selectors`;
  throw new RunnerError("FEATURE_DISABLED", text);
}

/** The revision a step resolves to, and the Function it is of. */
export interface FoundRevision {
  readonly functionName: string;
  readonly revision: FunctionRevision;
}

/**
 * The revision a step resolves to, whether or not it answers yet. Rejects with a RunnerError when no revision matches. Whether
 * steps may name revisions at all is not looked at.
 */
export async function findRevision(
  revisions: FunctionRevisions,
  reference: FunctionReference,
  signal?: AbortSignal,
): Promise<FoundRevision> {
  const { functionName, functionRevisionRef: ref } = reference;
  if (reference.function !== undefined) return findByImage(revisions, reference.function, signal);
  if (ref !== undefined) {
    return { functionName, revision: await findByName(revisions, { functionName, name: ref.name }, signal) };
  }
  const labels = new Map(Object.entries(reference.functionRevisionSelector?.matchLabels ?? {}));
  const wanted = [...labels].map(([key, value]) => `${key}=${value}`).sort();
  // Last, so that no selector reaches another function's revisions.
  labels.set(packageLabel, functionName);
  const active = await activeOf(() => revisions.list(labels, signal));
  const none =
    wanted.length === 0
      ? "cannot find an active FunctionRevision (a FunctionRevision with spec.desiredState: Active)"
      : `no active FunctionRevision of Function "${functionName}" matches ${wanted.join(",")}`;
  return { functionName, revision: choose(active, none) };
}

async function findByName(
  revisions: FunctionRevisions,
  { functionName, name }: { readonly functionName: string; readonly name: string },
  signal?: AbortSignal,
): Promise<FunctionRevision> {
  const object = await revisions.get(name, signal).catch((error: unknown) => {
    throw wrapError("FETCH", `cannot get FunctionRevision "${name}"`, error);
  });
  if (object === undefined) throw failure("REVISION_NOT_FOUND", `cannot get FunctionRevision "${name}": not found`);
  const revision = readRevision(object);
  if (ownValue(revision.labels, packageLabel) !== functionName) {
    throw failure("REVISION_FOREIGN", `FunctionRevision "${name}" does not belong to Function "${functionName}"`);
  }
  if (!revision.isActive) throw failure("REVISION_INACTIVE", `FunctionRevision "${name}" is not active`);
  return revision;
}

/** A step may name its function by package: any Function's revision that runs exactly that image will do. */
async function findByImage(
  revisions: FunctionRevisions,
  reference: string,
  signal?: AbortSignal,
): Promise<FoundRevision> {
  const match = /^(.+?)(?::[^:/@]+)?@(sha256:[0-9a-f]{64})$/.exec(reference);
  const [, source, digest] = match ?? [];
  const running = digest === undefined ? [] : await activeOf(() => revisions.withDigest(digest, signal));
  const active = running.filter((revision) => revision.digest === digest && sourceOf(revision.image) === source);
  const advice = `install it with a Function whose spec.package is ${reference}`;
  const none = `no active FunctionRevision runs ${reference}: ${advice}`;
  const revision = choose(active, none);
  return { functionName: String(revision.labels[packageLabel] ?? ""), revision };
}

function sourceOf(image: string): string {
  return image.replace(/@sha256:[0-9a-f]{64}$/, "").replace(/:[^:/]+$/, "");
}

async function activeOf(list: () => Promise<readonly JsonObject[]>): Promise<FunctionRevision[]> {
  try {
    return (await list()).map(readRevision).filter(({ isActive }) => isActive);
  } catch (error) {
    throw new RunnerError("FETCH", `cannot list FunctionRevisions: ${textOf(error)}`, { cause: error });
  }
}

/** While a new revision is coming up the one before it goes on serving, so that no reconcile fails over an upgrade. */
function choose(active: readonly FunctionRevision[], none: string): FunctionRevision {
  const chosen = highest(active.filter(isServing)) ?? highest(active);
  if (chosen === undefined) throw failure("NO_ACTIVE_REVISION", none);
  return chosen;
}

function withEndpoint(functionName: string, revision: FunctionRevision): FunctionTarget {
  if (revision.endpoint !== "") return targetOf(functionName, revision);
  const text = `cannot determine gRPC target: active FunctionRevision "${revision.name}" has an empty status.endpoint`;
  throw failure("NO_ENDPOINT", text);
}

function failure(code: RunnerErrorCode, text: string): RunnerError {
  return new RunnerError(code, text);
}
