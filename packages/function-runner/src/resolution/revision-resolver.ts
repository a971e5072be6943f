// SPDX-License-Identifier: Apache-2.0
import { compareUtf8 } from "@purlin/base";
import { isJsonObject, type JsonObject, ownValue } from "@purlin/kube-objects/json";
import { objectAt, stringAt } from "@purlin/kube-objects/object";
import { type FunctionTarget, RunnerError, type RunnerErrorCode, textOf, wrapError } from "../function-runner.ts";
import type { FunctionReference, FunctionResolver } from "./function-resolver.ts";

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

/** While a new revision is coming up the one before it continues to serve, so that no reconcile fails over an upgrade. */
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

/** The label that ties a revision to its Function. */
const packageLabel = "pkg.crossplane.io/package";
/** On a revision that only a rollout may choose. Its value is the reason. */
export const withheldAnnotation = "pkg.crossplane.io/withheld";

/** The parts of a FunctionRevision that decide whether it serves. */
interface FunctionRevision {
  readonly name: string;
  readonly labels: JsonObject;
  readonly created: string;
  readonly number: number;
  readonly image: string;
  readonly digest: string;
  /** Never that of a revision that another object than its Function controls: it was composed, and answers for nothing. */
  readonly isActive: boolean;
  readonly endpoint: string;
  /** What its package declares that it can do; empty while that is not recorded. */
  readonly capabilities: readonly string[];
  /** Whether a rollout decides which composite resources get it: unless nothing else serves, it is not chosen for being the newest. */
  readonly isWithheld: boolean;
  /** Whether the package has been read, so that a capability that is not listed is really missing. */
  readonly isExamined: boolean;
}

/** Reads a FunctionRevision; what is missing or of a wrong type counts as not set. */
export function readRevision(object: JsonObject): FunctionRevision {
  const metadata = objectAt(object, ["metadata"]);
  const spec = objectAt(object, ["spec"]);
  const status = objectAt(object, ["status"]);
  const { revision } = spec;
  const { capabilities } = status;
  return {
    name: stringAt(metadata, ["name"]),
    labels: objectAt(metadata, ["labels"]),
    created: stringAt(metadata, ["creationTimestamp"]),
    number: typeof revision === "number" ? revision : 0,
    image: stringAt(spec, ["image"]),
    digest: stringAt(spec, ["digest"]),
    isActive: spec["desiredState"] === "Active" && !isComposed(metadata),
    endpoint: stringAt(status, ["endpoint"]),
    capabilities: Array.isArray(capabilities) ? capabilities.map(String) : [],
    isWithheld: Object.hasOwn(objectAt(metadata, ["annotations"]), withheldAnnotation),
    isExamined: Array.isArray(capabilities) || isHealthy(status),
  };
}

/** Functions control their revisions. A revision without a controller is kept by hand. */
function isComposed(metadata: JsonObject): boolean {
  const { ownerReferences } = metadata;
  const owners = (Array.isArray(ownerReferences) ? ownerReferences : []).filter(isJsonObject);
  const controller = owners.find((owner) => owner["controller"] === true);
  if (controller === undefined) return false;
  const isFunction =
    stringAt(controller, ["apiVersion"]).startsWith("pkg.crossplane.io/") && controller["kind"] === "Function";
  return !isFunction || controller["name"] !== stringAt(metadata, ["labels", packageLabel]);
}

function isHealthy({ conditions }: JsonObject): boolean {
  if (!Array.isArray(conditions)) return false;
  return conditions.some((one) => isJsonObject(one) && one["type"] === "RevisionHealthy" && one["status"] === "True");
}

/** Whether a revision can take the calls of steps that do not name it: it answers, what it can do has been recorded, and it is not withheld. */
export function isServing({ isActive, isWithheld, endpoint, capabilities }: FunctionRevision): boolean {
  return isActive && !isWithheld && endpoint !== "" && capabilities.length > 0;
}

/** The revision to prefer: the highest number, then the newest, then by name. */
function highest(revisions: readonly FunctionRevision[]): FunctionRevision | undefined {
  return revisions.toSorted(
    (a, b) => b.number - a.number || compareUtf8(b.created, a.created) || compareUtf8(a.name, b.name),
  )[0];
}

/** The revision as runners take it. */
function targetOf(functionName: string, revision: FunctionRevision): FunctionTarget {
  const { name, image, endpoint, number } = revision;
  return { functionName, revisionName: name, packageRef: image, endpoint, revision: number };
}
