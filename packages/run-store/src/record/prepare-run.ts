// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { create, RequestMeta, ResponseMeta, type Struct } from "@purlin/function-protocol";
import { isJsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { conditionsOf, type KubeObject, labelOf } from "@purlin/kube-objects/object";
import type { RunRedactor } from "../redact/redact-messages.ts";
import type { Mark } from "../redact/sensitive-fields.ts";
import { boundCall, type CutPart, callBytes, RunCutter } from "./cut-run.ts";
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

/** Redacts a run and cuts its messages. */
export function prepareRun(record: RunRecord, options: PrepareOptions): PreparedRun {
  const steps = withoutSecrets(record.steps, options);
  const { redactor, structOf } = options;
  const text = (value: string): string => redactor.scrubText(value);
  const object = (value: object, place: "composite" | "resource"): Struct =>
    redactor.scrubObject(redactor.object(structOf(value), place));
  const composite = steps[0]?.calls[0]?.request.observed?.composite?.resource ?? object(record.xr, "composite");
  const revision = record.revision && object(record.revision, "resource");
  const cutter = new RunCutter(options.known, { isUnique: record.writes.length > 0 });
  const stored = steps.map((step) => cutStep(step, cutter, text));
  const conditions = conditionsOf(record.after).map(({ type, status, reason, message }) => ({
    ...{ type, status, reason: text(reason) },
    ...(message !== undefined && { message: text(message) }),
  }));
  const run = {
    ...factsOf(record),
    ...(record.error && { reason: record.error.reason, error: text(record.error.message) }),
    conditions,
    steps: stored,
    composite: cutter.object(composite),
    ...(revision && { revision: cutter.object(revision) }),
  };
  return finished(run, cutter, steps);
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

function factsOf({ xr, revision, composition = "", cause, beganMs, endedMs, outcome, writes, ttlMs }: RunRecord) {
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
    writes: writes.map(({ before, after, ...write }) => ({ ...write, changed: changedFields(before, after) })),
  };
}

/** Two passes: a secret of the last step may occur in the first. */
function withoutSecrets(steps: readonly StepRecord[], options: PrepareOptions): readonly StepRecord[] {
  const { redactor, mark } = options;
  const collected = steps.map((step) => ({
    ...step,
    calls: step.calls.map((call) => {
      const { request, response } = call;
      return { request: redactor.request(request), response: response && redactor.response(response) };
    }),
  }));
  const clean = collected.map((step) => ({
    ...step,
    ...(step.error !== undefined && { error: redactor.scrubText(step.error) }),
    calls: step.calls.map((call) => scrubbed(call, options)),
  }));
  const total = clean.reduce((sum, { calls }) => sum + calls.reduce((bytes, call) => bytes + callBytes(call), 0), 0);
  if (total <= options.maxRunBytes) return clean;
  return clean.map((step) => ({ ...step, calls: step.calls.map((call) => boundCall(call, 0, mark)) }));
}

function scrubbed({ request, response }: CallRecord, { redactor, mark }: PrepareOptions): CallRecord {
  const [asked, answered] = [redactor.scrubRequest(request), response && redactor.scrubResponse(response)];
  if (!redactor.hasSecrets) return { request: asked, response: answered };
  // A tag is a hash of everything, secrets included: without a key it would allow to guess them.
  const tagOf = (tag: string): string => (tag === "" ? "" : mark(Buffer.from(tag)));
  return {
    request:
      asked.meta === undefined
        ? asked
        : { ...asked, meta: create(RequestMeta, { ...asked.meta, tag: tagOf(asked.meta.tag) }) },
    response:
      answered?.meta === undefined
        ? answered
        : { ...answered, meta: create(ResponseMeta, { ...answered.meta, tag: tagOf(answered.meta.tag) }) },
  };
}

function cutStep(step: StepRecord, cutter: RunCutter, text: (value: string) => string): StoredStep {
  cutter.takeBytes();
  let [bytesIn, bytesOut] = [0, 0];
  const calls = step.calls.map(({ request, response }): StoredCall => {
    const asked = cutter.request(request);
    bytesIn = cutter.takeBytes();
    if (response === undefined) return { request: asked };
    const answered = cutter.response(response);
    bytesOut = cutter.takeBytes();
    return { request: asked, response: answered };
  });
  const { index, name, functionName, revisionName, packageRef, durationMs, isCached, error } = step;
  return {
    ...{ index, name, function: functionName, revision: revisionName, package: packageRef, durationMs },
    ...{ bytesIn, bytesOut, cached: isCached, calls },
    ...(error !== undefined && { error: text(error) }),
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
