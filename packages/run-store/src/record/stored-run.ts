// SPDX-License-Identifier: Apache-2.0

import { createHash } from "node:crypto";
import { isPartDone, type Work } from "@purlin/base";
import { encodeCanonical, type RunFunctionRequest, RunFunctionResponse, type Struct } from "@purlin/function-protocol";
import type { KubeObject } from "@purlin/kube-objects/object";
import { visitResponse } from "../redact/map-structs.ts";

/** How a reconcile ended. */
export type RunOutcome = "composed" | "unchanged" | "failed" | "conflict";

/** One call of a function within a step. */
export interface CallRecord {
  readonly request: RunFunctionRequest;
  /** Undefined when the call failed. */
  readonly response?: RunFunctionResponse | undefined;
}

/** One step of a run. */
export interface StepRecord {
  readonly index: number;
  readonly name: string;
  readonly functionName: string;
  readonly revisionName: string;
  /** The package of the revision, with its digest if it has one. */
  readonly packageRef: string;
  readonly durationMs: number;
  /** Whether a cache answered. */
  readonly isCached: boolean;
  /** The calls in their order; the last one has everything that the function required. */
  readonly calls: readonly CallRecord[];
  readonly error?: string | undefined;
}

/** A write of a run. */
export interface WriteRecord {
  readonly verb: "create" | "update" | "patch" | "apply" | "delete";
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly subresource?: string | undefined;
  readonly before?: KubeObject | undefined;
  readonly after?: KubeObject | undefined;
}

/** One reconcile of one composite resource, by reference: nothing in it changes afterwards. */
export interface RunRecord {
  /** The resource as it was read. */
  readonly xr: KubeObject;
  /** The resource as it was stored last. */
  readonly after: KubeObject;
  readonly cause: string;
  readonly beganMs: number;
  readonly endedMs: number;
  /** The CompositionRevision; undefined when the run ended before one was selected. */
  readonly revision?: KubeObject | undefined;
  /** The name of the Composition, where its revision is not known. */
  readonly composition?: string | undefined;
  readonly steps: readonly StepRecord[];
  readonly writes: readonly WriteRecord[];
  readonly outcome: RunOutcome;
  readonly error?: { readonly reason: string; readonly message: string } | undefined;
  readonly ttlMs?: number | undefined;
}

/**
 * The same for runs that are equal, at little cost: requests carry a hash of their content, and a version stands for an object. Kept
 * in memory only, because it depends on secrets. Empty for a run that wrote something or whose function was called more than once.
 */
export function* rawDigest({ xr, after, revision, outcome, error, steps, writes }: RunRecord): Work<string> {
  if (writes.length > 0 || steps.some(({ calls }) => calls.length !== 1)) return "";
  const hash = createHash("sha256");
  const { uid = "", resourceVersion = "" } = xr.metadata;
  const facts = [uid, resourceVersion, after.metadata.resourceVersion, revision?.metadata.uid, outcome, error?.message];
  hash.update(JSON.stringify(facts));
  for (const { name, revisionName, error: failure, isCached, calls } of steps) {
    const [call] = calls;
    hash.update(JSON.stringify([name, revisionName, failure, isCached, call?.request.meta?.tag]));
    if (call?.response === undefined) continue;
    yield* makeCanonical(call.response);
    hash.update(encodeCanonical(RunFunctionResponse, { ...call.response, meta: undefined }));
    yield;
  }
  return hash.digest("base64");
}

/** Puts the members of every object of a response in order, one object after the other. The objects remember it. */
function* makeCanonical(response: RunFunctionResponse): Work<void> {
  const structs: Struct[] = [];
  visitResponse(response, (struct) => structs.push(struct));
  for (const struct of structs) {
    if (isPartDone() || struct.bytes.length > largeBytes) yield;
    void struct.canonicalBytes;
  }
}

/** Objects with more bytes are a part of the work of their own. */
const largeBytes = 4096;

/** A write, without the objects. */
interface StoredWrite extends Omit<WriteRecord, "before" | "after"> {
  /** How many fields the write changed. */
  readonly changed: number;
}

/** A condition of the composite resource after a run. */
interface StoredCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message?: string;
}

/** A message whose objects are elsewhere: in base64, with a reference in place of each object. */
type CutMessage = string;

/** A call of a function. */
export interface StoredCall {
  readonly request: CutMessage;
  readonly response?: CutMessage;
}

/** A step. The last call has everything that the function required. */
export interface StoredStep {
  readonly index: number;
  readonly name: string;
  readonly function: string;
  readonly revision: string;
  readonly package: string;
  readonly durationMs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly cached: boolean;
  /** The run whose call the cached response is of; undefined when that run is not recorded. */
  readonly origin?: string;
  readonly calls: readonly StoredCall[];
  readonly error?: string;
}

/** The composite resource of a run. */
export interface RunSubject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** What lists show of a run. */
export interface RunSummary {
  readonly id: string;
  readonly xr: RunSubject;
  readonly uid: string;
  readonly generation: number;
  readonly resourceVersion: string;
  readonly composition: string;
  /** The name of the CompositionRevision; empty when the run ended before one was selected. */
  readonly compositionRevision: string;
  readonly cause: string;
  readonly began: string;
  readonly durationMs: number;
  readonly outcome: RunOutcome;
  readonly steps: readonly string[];
  readonly writes: number;
  /** How many later runs of the resource were equal to this one, and when the last of them ended. */
  readonly repeats: number;
  readonly last: string;
  readonly error?: string;
}

/** A run with everything that is kept of it, apart from the objects. */
export interface StoredRun extends Omit<RunSummary, "steps" | "writes" | "repeats" | "last"> {
  readonly reason?: string;
  readonly conditions: readonly StoredCondition[];
  readonly ttlMs?: number;
  readonly steps: readonly StoredStep[];
  readonly writes: readonly StoredWrite[];
  /** The composite resource and the CompositionRevision, as references to parts. */
  readonly composite: string;
  readonly revision?: string;
  /** The objects of the run, by reference. */
  readonly parts: readonly string[];
}

type Members = Readonly<Record<string, unknown>>;

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const hasTexts = (value: unknown, ...names: readonly string[]): boolean =>
  isMembers(value) && names.every((name) => typeof value[name] === "string");
const isText = (value: unknown): boolean => typeof value === "string";
const isListOf = (value: unknown, isItem: (item: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every(isItem);
const isSubject = (value: unknown): boolean => hasTexts(value, "apiVersion", "kind", "name");
const isCall = (value: unknown): boolean =>
  hasTexts(value, "request") && isMembers(value) && (value["response"] === undefined || isText(value["response"]));
const isStep = (value: unknown): boolean =>
  hasTexts(value, "name") && isMembers(value) && isListOf(value["calls"], isCall);

/** Whether a value read from a file or a server is the summary of a run, as far as lists use it. */
export function isRunSummary(value: unknown): boolean {
  return (
    hasTexts(value, "id", "outcome") && isMembers(value) && isSubject(value["xr"]) && isListOf(value["steps"], isText)
  );
}

/** Whether such a value is a run whose messages can be put together again. */
export function isStoredRun(value: unknown): boolean {
  return (
    hasTexts(value, "id", "composite") &&
    isMembers(value) &&
    isSubject(value["xr"]) &&
    isListOf(value["steps"], isStep) &&
    isListOf(value["writes"], isMembers) &&
    isListOf(value["conditions"], (one) => hasTexts(one, "type", "status"))
  );
}
