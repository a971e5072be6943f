// SPDX-License-Identifier: Apache-2.0

import type { RunFunctionRequest } from "@purlin/function-protocol";
import type { CallObserver, FunctionReference, FunctionTarget, RunCall, RunStep } from "@purlin/function-runner";
import type { ControllerClient } from "@purlin/kube-controller";
import { isConflict, textOf } from "@purlin/kube-objects/errors";
import { type KubeObject, keyText, type ObjectKey } from "@purlin/kube-objects/object";
import type { CallRecord, RunOutcome, RunRecord, StepRecord, WriteRecord } from "@purlin/run-store";

/** Takes over the record of a reconcile that has ended. */
export type RecordRun = (run: RunRecord) => void;

/** A reconcile that is being recorded. It collects references; all other work is done later. */
export class RunDraft {
  readonly steps: StepRecord[] = [];
  readonly #writes: { readonly place: number; readonly write: WriteRecord }[] = [];
  #sent = 0;
  readonly #cause: string;
  readonly #beganMs: number;
  /** The XR as it was read, and its newest version. Undefined until it was read. */
  #xr: KubeObject | undefined;
  #stored: { readonly object: KubeObject } | undefined;
  #failure: { readonly error: unknown; readonly reason: string; readonly message: string } | undefined;
  revision: KubeObject | undefined;
  ttlMs: number | undefined;

  constructor(cause: string, beganMs: number) {
    this.#cause = cause;
    this.#beganMs = beganMs;
  }

  read(stored: { readonly object: KubeObject }): void {
    this.#xr = stored.object;
    this.#stored = stored;
  }

  wroteStatus(before: KubeObject, after: KubeObject): void {
    const { apiVersion, kind, metadata } = after;
    const { namespace, name = "", resourceVersion } = metadata;
    if (resourceVersion === before.metadata.resourceVersion) return;
    const subject = { apiVersion, kind, ...(namespace && { namespace }), name };
    this.beginWrite()({ verb: "update", ...subject, subresource: "status", before, after });
  }

  /** Notes that a write is sent. Returns what takes its record: writes that are sent at the same time are answered in any order. */
  beginWrite(): (write: WriteRecord) => void {
    const place = this.#sent++;
    return (write) => void this.#writes.push({ place, write });
  }

  /** In the order in which they were sent. */
  get writes(): WriteRecord[] {
    return this.#writes.toSorted((a, b) => a.place - b.place).map(({ write }) => write);
  }

  fail(error: unknown): void {
    if (this.#failure !== undefined) return;
    const { reason } = error as { readonly reason?: unknown };
    this.#failure = { error, reason: typeof reason === "string" ? reason : "", message: textOf(error) };
  }

  /** The record; undefined when there was nothing to reconcile. */
  end(endedMs: number): RunRecord | undefined {
    if (this.#xr === undefined) return undefined;
    const { steps, writes, revision, ttlMs } = this;
    return {
      xr: this.#xr,
      after: this.#stored?.object ?? this.#xr,
      cause: this.#cause,
      beganMs: this.#beganMs,
      endedMs,
      outcome: this.#outcome(),
      ...{ steps, writes, revision, ttlMs },
      error: this.#failure && { reason: this.#failure.reason, message: this.#failure.message },
    };
  }

  /** The pipeline runs again: only its last run counts. */
  restart(): void {
    this.steps.length = 0;
  }

  #outcome(): RunOutcome {
    if (this.#failure !== undefined) return isConflict(this.#failure.error) ? "conflict" : "failed";
    return this.#writes.length > 0 ? "composed" : "unchanged";
  }
}

/** A client that notes every write of a run. */
export function recordWrites(client: ControllerClient, run: RunDraft): ControllerClient {
  const begin = (verb: WriteRecord["verb"]): ((after: KubeObject, more?: Partial<WriteRecord>) => void) => {
    const take = run.beginWrite();
    return (after, more = {}) => {
      const { apiVersion, kind, metadata } = after;
      const { namespace, name = "" } = metadata;
      take({ verb, apiVersion, kind, ...(namespace && { namespace }), name, after, ...more });
    };
  };
  return {
    live: client.live,
    mapper: client.mapper,
    get: (type, key, options) => client.get(type, key, options),
    list: (type, options) => client.list(type, options),
    deleteCollection: (type, options) => client.deleteCollection(type, options),
    async create(object, options) {
      const note = begin("create");
      const stored = await client.create(object, options);
      // Reviews are questions.
      if (stored.metadata.uid !== undefined) note(stored);
      return stored;
    },
    async update(object, options) {
      const note = begin("update");
      const stored = await client.update(object, options);
      note(stored, { before: object, subresource: options?.subresource });
      return stored;
    },
    async patch(target, patch, options) {
      const note = begin("patch");
      const stored = await client.patch(target, patch, options);
      note(stored, { subresource: options?.subresource });
      return stored;
    },
    async apply(object, options) {
      const note = begin("apply");
      const stored = await client.apply(object, options);
      if (options.dryRun !== true) note(stored, { subresource: options.subresource });
      return stored;
    },
    async applyIfChanged(object, options) {
      const note = begin("apply");
      const outcome = await client.applyIfChanged(object, options);
      if (outcome.sent) note(outcome.object, { before: options.observed, subresource: options.subresource });
      return outcome;
    },
    async delete(target, options) {
      const take = run.beginWrite();
      const deleted = await client.delete(target, options);
      const { apiVersion, kind, namespace, name = "" } = target;
      take({ verb: "delete", apiVersion, kind, ...(namespace && { namespace }), name });
      return deleted;
    },
  };
}

/** Why XRs are reconciled next. */
export interface RunCauses {
  note(xr: ObjectKey, cause: string): void;
  /** The first cause since the last reconcile, with the number of others. */
  take(xr: ObjectKey): string;
  /** What a reconcile without another cause is due to. */
  expect(xr: ObjectKey, cause: string): void;
  forget(xr: ObjectKey): void;
}

/** Remembers causes while runs are recorded. */
export function createRunCauses(): RunCauses {
  const noted = new Map<string, { readonly first: string; more: number }>();
  const expected = new Map<string, string>();
  return {
    note(xr, cause) {
      const key = keyText(xr);
      const known = noted.get(key);
      if (known === undefined) noted.set(key, { first: cause, more: 0 });
      else if (known.first !== cause) known.more++;
    },
    take(xr) {
      const key = keyText(xr);
      const known = noted.get(key);
      noted.delete(key);
      if (known === undefined) return expected.get(key) ?? "requeue";
      return known.more === 0 ? known.first : `${known.first} and ${known.more} more`;
    },
    expect: (xr, cause) => void expected.set(keyText(xr), cause),
    forget(xr) {
      noted.delete(keyText(xr));
      expected.delete(keyText(xr));
    },
  };
}

/** Causes of controllers whose runs are not recorded. */
export const noRunCauses: RunCauses = { note() {}, take: () => "", expect() {}, forget() {} };

interface StepCall {
  readonly request: RunFunctionRequest;
  readonly call: RunCall;
  /** Takes over the record; without it nothing is recorded. */
  readonly record: ((step: StepRecord) => void) | undefined;
}

/** Runs a step, and records each call of its function. */
export async function recordStep(
  runStep: RunStep,
  reference: FunctionReference,
  { request, call, record }: StepCall,
): ReturnType<RunStep> {
  if (record === undefined) return runStep(reference, request, call);
  const calls = new StepCalls();
  const began = performance.now();
  const end = (more: Pick<StepRecord, "error">): void => {
    const { name = "", index = 0 } = call.step ?? {};
    const durationMs = Math.round((performance.now() - began) * 10) / 10;
    record({ index, name, durationMs, ...calls.facts(reference), ...more });
  };
  try {
    const run = await runStep(reference, request, { ...call, observer: calls });
    calls.answered(run.target, { request, response: run.response });
    end({});
    return run;
  } catch (error) {
    end({ error: textOf(error) });
    throw error;
  }
}

class StepCalls implements CallObserver {
  readonly #calls: CallRecord[] = [];
  #target: FunctionTarget | undefined;
  #isCached = false;

  called: CallObserver["called"] = (target, request) => {
    this.#target = target;
    const at = this.#calls.push({ request }) - 1;
    return (response) => {
      this.#calls[at] = { request, response };
    };
  };

  cached: CallObserver["cached"] = () => {
    this.#isCached = true;
  };

  /** The step has an answer. One from a cache, or from a runner that reports no calls, is recorded as one call. */
  answered(target: FunctionTarget, call: CallRecord): void {
    this.#target = target;
    if (this.#calls.length === 0) this.#calls.push(call);
  }

  facts({ functionName, function: image = "" }: FunctionReference) {
    return {
      functionName: this.#target?.functionName || functionName || image,
      revisionName: this.#target?.revisionName ?? "",
      packageRef: this.#target?.packageRef ?? "",
      isCached: this.#isCached,
      calls: this.#calls,
    };
  }
}
