// SPDX-License-Identifier: Apache-2.0

import type { Buffer } from "node:buffer";
import { isPartDone, type Work } from "@purlin/base";
import type { Struct } from "@purlin/function-protocol";
import { isJsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { conditionsOf, type KubeObject, labelOf } from "@purlin/kube-objects/object";
import type { RunRedactor } from "../redact/redact-messages.ts";
import type { Mark } from "../redact/sensitive-fields.ts";
import { boundSteps } from "./bound-run.ts";
import { type CutPart, RunCutter } from "./cut-run.ts";
import type { CallRecord, RunRecord, StepRecord, StoredCall, StoredRun, StoredStep } from "./stored-run.ts";

const enough = 1000;

/** Members that every write changes. */
const bookkeeping: ReadonlySet<string> = new Set(["managedFields", "resourceVersion", "generation"]);

/** A run that is ready to be stored: no secrets, objects apart. */
export interface PreparedRun {
  readonly run: Omit<StoredRun, "id">;
  readonly parts: ReadonlyMap<string, Struct>;
  /** The same for runs that differ only in their time. */
  readonly digest: Buffer;
  /** Identify the calls of each step by content: the calls that a response cache may answer later. */
  readonly tags: ReadonlyMap<number, string>;
}

/** What preparing a run depends on. */
interface PrepareOptions {
  readonly redactor: RunRedactor;
  readonly mark: Mark;
  /** References of objects, by identity. */
  readonly known: WeakMap<Struct, CutPart>;
  /** Objects that are not Structs yet, such as revisions. */
  readonly structOf: (object: object) => Struct;
  /** A run with more bytes is kept without its large objects. */
  readonly maxRunBytes: number;
}

const compositionLabel = "crossplane.io/composition-name";

/** Redacts a run and cuts its messages, in parts. */
export function* prepareRun(record: RunRecord, options: PrepareOptions): Work<PreparedRun> {
  const { redactor, structOf } = options;
  const redacted = yield* withoutSecretFields(record.steps, redactor);
  const xr = compositeIn(redacted) ?? (yield* redactor.object(structOf(record.xr), "composite"));
  yield;
  const source = record.revision && (yield* redactor.object(structOf(record.revision), "resource"));
  yield;
  const steps = yield* scrubbed(yield* boundSteps(redacted, options), redactor);
  const composite = compositeIn(steps) ?? (yield* redactor.scrubObject(xr));
  const revision = source && (yield* redactor.scrubObject(source));
  const cutter = new RunCutter(options.known, { isUnique: record.writes.length > 0 });
  const stored: StoredStep[] = [];
  for (const step of steps) stored.push(yield* cutStep(step, cutter));
  const facts = yield* factsOf(record, redactor);
  const run = {
    ...facts,
    ...(record.error && {
      reason: yield* redactor.scrubText(record.error.reason),
      error: yield* redactor.scrubText(record.error.message),
    }),
    conditions: yield* conditionsAfter(record, redactor),
    steps: stored,
    composite: cutter.object(composite),
    ...(revision && { revision: cutter.object(revision) }),
  };
  yield;
  return finished(run, cutter, steps);
}

function compositeIn(steps: readonly StepRecord[]): Struct | undefined {
  return steps[0]?.calls[0]?.request.observed?.composite?.resource;
}

function* conditionsAfter({ after }: RunRecord, redactor: RunRedactor): Work<StoredRun["conditions"]> {
  const conditions: StoredRun["conditions"][number][] = [];
  for (const { type, status, reason, message } of conditionsOf(after)) {
    if (isPartDone()) yield;
    const clean = { type: yield* redactor.scrubText(type), status, reason: yield* redactor.scrubText(reason) };
    conditions.push(message === undefined ? clean : { ...clean, message: yield* redactor.scrubText(message) });
  }
  return conditions;
}

function finished(run: Omit<StoredRun, "id" | "parts">, cutter: RunCutter, steps: readonly StepRecord[]): PreparedRun {
  const { outcome, error = "", compositionRevision, uid, resourceVersion, writes, conditions } = run;
  for (const one of [outcome, error, compositionRevision, uid, resourceVersion]) cutter.add(one);
  cutter.add(JSON.stringify([writes, conditions]));
  for (const { name, revisionName, error: failure = "", isCached } of steps) {
    for (const one of [name, revisionName, failure, String(isCached)]) cutter.add(one);
  }
  return {
    run: { ...run, parts: [...cutter.parts.keys()] },
    parts: cutter.parts,
    digest: cutter.digest(),
    tags: new Map(steps.map(({ index, calls }) => [index, calls[0]?.request.meta?.tag ?? ""])),
  };
}

function* factsOf(record: RunRecord, redactor: RunRedactor) {
  const { xr, revision, composition = "", cause, beganMs, endedMs, outcome, writes, ttlMs } = record;
  const written: StoredRun["writes"][number][] = [];
  for (const { before, after, ...write } of writes) {
    const { namespace } = write;
    written.push({
      ...write,
      apiVersion: yield* redactor.scrubText(write.apiVersion),
      kind: yield* redactor.scrubText(write.kind),
      name: yield* redactor.scrubText(write.name),
      ...(namespace !== undefined && { namespace: yield* redactor.scrubText(namespace) }),
      changed: changedFields(before, after),
    });
    yield;
  }
  const { uid = "", generation = 0, resourceVersion = "", namespace, name = "" } = xr.metadata;
  return {
    xr: { apiVersion: xr.apiVersion, kind: xr.kind, ...(namespace && { namespace }), name },
    uid,
    generation,
    resourceVersion,
    composition: (revision && labelOf(revision, compositionLabel)) ?? composition,
    compositionRevision: revision?.metadata.name ?? "",
    cause,
    began: new Date(beganMs).toISOString(),
    durationMs: endedMs - beganMs,
    outcome,
    ...(ttlMs !== undefined && { ttlMs }),
    writes: written,
  };
}

/** The first of two passes: a secret of the last step may occur in the first. */
function* withoutSecretFields(steps: readonly StepRecord[], redactor: RunRedactor): Work<readonly StepRecord[]> {
  const redacted: StepRecord[] = [];
  for (const step of steps) {
    const calls: CallRecord[] = [];
    for (const { request, response } of step.calls) {
      calls.push({
        request: yield* redactor.request(request),
        response: response && (yield* redactor.response(response)),
      });
    }
    redacted.push({ ...step, calls });
  }
  return redacted;
}

/** The second pass. */
function* scrubbed(steps: readonly StepRecord[], redactor: RunRedactor): Work<readonly StepRecord[]> {
  const clean: StepRecord[] = [];
  for (const step of steps) {
    const calls: CallRecord[] = [];
    for (const { request, response } of step.calls) {
      calls.push({
        request: yield* redactor.scrubRequest(request),
        response: response && (yield* redactor.scrubResponse(response)),
      });
    }
    const error = step.error === undefined ? undefined : yield* redactor.scrubText(step.error);
    clean.push({ ...step, calls, ...(error !== undefined && { error }) });
  }
  return clean;
}

function* cutStep(step: StepRecord, cutter: RunCutter): Work<StoredStep> {
  cutter.takeBytes();
  let [bytesIn, bytesOut] = [0, 0];
  const calls: StoredCall[] = [];
  for (const { request, response } of step.calls) {
    const asked = yield* cutter.request(request);
    bytesIn = cutter.takeBytes();
    const answered = response && (yield* cutter.response(response));
    if (answered !== undefined) bytesOut = cutter.takeBytes();
    calls.push({ request: asked, ...(answered !== undefined && { response: answered }) });
  }
  const { index, name, functionName, revisionName, packageRef, durationMs, isCached, error } = step;
  return {
    ...{ index, name, function: functionName, revision: revisionName, package: packageRef, durationMs },
    ...{ bytesIn, bytesOut, cached: isCached, calls },
    ...(error !== undefined && { error }),
  };
}

/** How many fields differ between two versions of an object, at most a thousand. */
function changedFields(before: KubeObject | undefined, after: KubeObject | undefined): number {
  if (before === undefined && after === undefined) return 0;
  return Math.min(enough, count(plain(before), plain(after)));
}

function plain(object: KubeObject | undefined): JsonValue {
  if (object === undefined) return null;
  const metadata = Object.entries(object.metadata).filter(([name]) => !bookkeeping.has(name));
  return { ...object, metadata: Object.fromEntries(metadata) } as JsonValue;
}

function count(before: JsonValue | undefined, after: JsonValue | undefined): number {
  if (before === after) return 0;
  if (!isJsonObject(before ?? null) || !isJsonObject(after ?? null)) {
    if (before !== undefined && after !== undefined && jsonEqual(before, after)) return 0;
    return isJsonObject(before ?? null) || isJsonObject(after ?? null) ? leaves(before ?? after ?? null) : 1;
  }
  const [one, other] = [before as Record<string, JsonValue>, after as Record<string, JsonValue>];
  let changed = 0;
  for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
    changed += count(one[key], other[key]);
    if (changed >= enough) break;
  }
  return changed;
}

function leaves(value: JsonValue): number {
  if (!isJsonObject(value)) return 1;
  let found = 0;
  for (const member of Object.values(value)) {
    found += leaves(member);
    if (found >= enough) break;
  }
  return found;
}
