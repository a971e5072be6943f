// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { parseGoDuration, Ready } from "@purlin/function-protocol";
import { secretData } from "@purlin/function-runner";
import {
  attempt,
  type EventText,
  isReconcileError,
  type ReconcileError,
  type ReconcileResult,
} from "@purlin/kube-controller";
import { during, textOf, wrapError } from "@purlin/kube-objects/errors";
import { compareUtf8, type JsonObject } from "@purlin/kube-objects/json";
import {
  annotationOf,
  type ConditionText,
  conditionOf,
  conditionsOf,
  controllerOf,
  controllerReference,
  type KubeObject,
  memberAt,
  objectAt,
  withOwner,
} from "@purlin/kube-objects/object";
import {
  annotations,
  available,
  connectionSecretType,
  creating,
  fieldManagers,
  kinds,
  reconcileError,
  reconcileSuccess,
} from "../../composite-resource/constants.ts";
import { connectionSecretRefOf, refuseForeignSecret } from "../../composite-resource/crossplane-fields.ts";
import type { ComposedResource } from "../apply/apply-composed.ts";
import type { ComposeResult } from "../compose.ts";
import { type CompositeContext, type CompositeSettings, stampFor, steps } from "../context.ts";
import { type ConnectionDetails, noDetails } from "../observe/observe.ts";
import { ComposeError } from "../run/step-results.ts";
import { startDependencyWatches } from "../watch/watches.ts";
import { emitPipelineEvents } from "./report-failure.ts";
import { afterHold } from "./report-held.ts";
import { appliedStatus, desiredStatus, type StatusRules, statusAfter } from "./status-after.ts";
import {
  applyStatus,
  checkStatus,
  correctedStatus,
  draftOf,
  expectSelfUpdate,
  isLeftBehind,
  type Outcome,
  storeStatus,
} from "./status-baseline.ts";

/** The state of the XR after a reconcile that composed all resources. */
interface Readiness {
  readonly conditions: readonly ConditionText[];
  readonly events: readonly EventText[];
  /** Whether nothing is left to wait for. */
  readonly settled: boolean;
}

const undeclared = ": field not declared in schema";

/** The outcome for the status, and the failure after composing if there was one. */
interface Aftermath {
  readonly outcome: Outcome;
  readonly isPublished: boolean;
  readonly failure?: ReconcileError;
}

/**
 * Ends a reconcile that composed all resources: watches, connection secret, status, events. The status is written once, with what
 * functions want and what the controller reports, also when watching or publishing failed.
 */
export async function reportResult(result: ComposeResult, context: CompositeContext): Promise<ReconcileResult> {
  const { settings, deps, stored } = context;
  const before = stored.object;
  const readiness = readinessOf(result.applied.resources, result.composite?.ready);
  const { outcome, isPublished, failure } = await afterComposing(result, readiness, context);
  await writeResultStatus(result, outcome, context);
  // Only the failure is reported: the next reconcile emits the events of the pipeline.
  if (failure !== undefined) throw failure;
  if (isPublished) {
    context.emit({ reason: "PublishConnectionSecret", message: "Successfully published connection details" });
  }
  const news = isReportedAlready(before, readiness) ? [] : readiness.events;
  const own = news.map((event) => ({ ...event, forClaim: false, detail: "" }));
  const { desired, applied } = result;
  await emitPipelineEvents([...result.outcome.events, ...desired.events, ...applied.events, ...own], context);
  const { settled } = readiness;
  const chance = { random: deps.random ?? Math.random, now: deps.clock.now() };
  const next = requeueAfter({ xr: stored.object, settled, ttlMs: result.outcome.ttlMs, settings, ...chance });
  return atLatest(next, context.state.settling.lookAgainMs(context.key));
}

/** Whether the conditions of the XR have this state already: then no event repeats it at every reconcile. */
function isReportedAlready(xr: KubeObject, { conditions }: Readiness): boolean {
  const stored = conditionsOf(xr);
  return conditions.every(({ type, status, reason, message }) => {
    const before = conditionOf(stored, type);
    return before.status === status && before.reason === reason && (before.message ?? "") === (message ?? "");
  });
}

async function afterComposing(
  { outcome, composite }: ComposeResult,
  { conditions }: Readiness,
  context: CompositeContext,
): Promise<Aftermath> {
  const { settings, deps, stored } = context;
  const functionRevisions = settings.functionRevisions ? outcome.functionRevisions : undefined;
  try {
    if (settings.realtime) await attempt(steps.watch, () => startDependencyWatches(context));
    const details = composite?.connectionDetails ?? noDetails;
    const isPublished = await attempt(steps.publish, () => publishConnection(details, context));
    const publishedAt = isPublished ? stampFor(stored.object, deps).time : undefined;
    const all = [...conditions, ...afterHold(stored.object)];
    return { isPublished, outcome: { conditions: all, pipeline: outcome.conditions, publishedAt, functionRevisions } };
  } catch (failure) {
    if (!isReconcileError(failure)) throw failure;
    const failed = { conditions: [reconcileError(failure.message)], functionRevisions };
    return { failure, isPublished: false, outcome: failed };
  }
}

async function writeResultStatus(
  { composite }: ComposeResult,
  outcome: Outcome,
  context: CompositeContext,
): Promise<void> {
  const { baseline, deps, stored } = context;
  const { rules } = baseline;
  const xr = stored.object;
  const after = statusAfter(xr, draftOf(baseline, outcome), { rules, stamp: stampFor(xr, deps) });
  try {
    const status = appliedStatus(desiredStatus(composite?.resource?.value), after, rules);
    if (isLeftBehind(xr, status)) {
      // Parts of our items that others wrote would survive the apply; they are removed first, so that no reader sees a mixture. But not
      // before it is known that the apply will be accepted: a status that failed must not look fine for a moment.
      await checkStatus(status, context);
      await storeStatus(context, { ...xr, status: correctedStatus(objectAt(xr, ["status"]), status) });
    }
    const latest = stored.object;
    await applyStatus(status, context);
    expectSelfUpdate(latest, context);
  } catch (error) {
    const failure = wrapError("cannot apply composite resource status", error);
    // The API server will know our fields at the next reconcile: this is not reported.
    throw isSchemaLate(error, rules) ? failure : new ComposeError(failure);
  }
}

/**
 * Whether a status was refused only because the API server does not serve the changed CRD yet: it does not know the fields that were
 * just added to it. That takes a moment on a cluster, and a user can do nothing about it.
 */
export function isSchemaLate(error: unknown, { ownFields }: StatusRules): boolean {
  const own: ReadonlySet<string> = ownFields;
  const paths = textOf(error).split(undeclared).slice(0, -1).map(lastWord);
  return paths.length > 0 && paths.every((path) => own.has(statusField(path) ?? ""));
}

/** The last word of a text: the path in front of the message that it is not declared. */
function lastWord(text: string): string {
  const start = Math.max(...[" ", "\n", ":"].map((end) => text.lastIndexOf(end)));
  return text.slice(start + 1);
}

function statusField(path: string): string | undefined {
  const [root, status, field] = path.split(/[.[]/, 3);
  return root === "" && status === "status" ? field : undefined;
}

/** Derives Synced and Ready. The readiness that the pipeline sets on the XR wins over that of its resources. */
export function readinessOf(resources: readonly ComposedResource[], composite: Ready | undefined): Readiness {
  // A resource without a name, which only render accepts, is named by its position.
  const named = resources.map(({ name, ...state }, index) => ({ ...state, name: name || String(index) }));
  const unsynced = named.filter(({ synced }) => !synced).map(({ name }) => name);
  const unready = named.filter(({ ready }) => !ready).map(({ name }) => name);
  const synced = unsynced.length === 0 ? reconcileSuccess : reconcileError(`Unsynced resources: ${listed(unsynced)}`);
  return {
    conditions: [synced, readyCondition(unready, composite)],
    events: [
      ...unsynced.map((name) => composeEvent(`Composed resource "${name}" is not yet valid`)),
      ...unready.map((name) => composeEvent(`Composed resource "${name}" is not yet ready`)),
    ],
    settled: unsynced.length === 0 && unready.length === 0,
  };
}

function readyCondition(unready: readonly string[], composite: Ready | undefined): ConditionText {
  if (composite === Ready.READY_TRUE) return available;
  if (composite === Ready.READY_FALSE) return creating();
  return unready.length === 0 ? available : creating(`Unready resources: ${listed(unready)}`);
}

function composeEvent(message: string): EventText {
  return { type: "Normal", reason: "ComposeResources", message };
}

/** At most three names as text, in a stable order. */
export function listed(names: readonly string[]): string {
  const sorted = names.toSorted(compareUtf8);
  const first = sorted.slice(0, 3).join(", ");
  if (sorted.length > 3) return `${first}, and ${sorted.length - 3} more`;
  return sorted.length === 3 ? `${sorted[0]}, ${sorted[1]}, and ${sorted[2]}` : first;
}

/** What the time of the next reconcile depends on. */
interface RequeueFacts {
  readonly xr: KubeObject;
  readonly settled: boolean;
  /** The time to live of the pipeline's responses. */
  readonly ttlMs: number | undefined;
  readonly settings: Pick<CompositeSettings, "realtime" | "pollIntervalMs" | "minPollIntervalMs">;
  readonly random: () => number;
  readonly now: number;
}

/** When to reconcile the XR again if nothing changes. */
export function requeueAfter({ xr, settled, ttlMs, settings, random, now }: RequeueFacts): ReconcileResult {
  const asked = askedInterval(xr, settings.minPollIntervalMs);
  if (settings.realtime) {
    // A function whose responses have no time to live would keep the control plane busy.
    const after = ttlMs === undefined ? asked : Math.max(ttlMs, settings.minPollIntervalMs);
    return after === undefined ? {} : { requeueAfterMs: inStep(jittered(after, random), now) };
  }
  if (!settled) return { requeue: true };
  return { requeueAfterMs: inStep(jittered(asked ?? settings.pollIntervalMs, random), now) };
}

/** The interval that the XR asks for. An invalid interval does not count. */
export function askedInterval(xr: KubeObject, minMs: number): number | undefined {
  const text = annotationOf(xr, annotations.pollInterval);
  const ms = text === undefined ? undefined : parseGoDuration(text);
  return ms === undefined || ms <= 0 ? undefined : Math.max(ms, minMs);
}

/** Adds up to ten percent of jitter, so that XRs created together do not stay in step. */
function jittered(ms: number, random: () => number): number {
  return Math.round(ms * (0.9 + 0.2 * random()));
}

const stepMs = 250;
/** A shorter wait is exact; for longer ones the step is smaller than the jitter. */
const leastWaitMs = 10_000;

/**
 * Moves the end of a wait to the next quarter of a second. A reconcile after a pause finds cold caches, here and in the functions, and
 * costs twice as much as one right after another: several are run together instead of one every few milliseconds.
 */
function inStep(ms: number, now: number): number {
  return ms < leastWaitMs ? ms : Math.ceil((now + ms) / stepMs) * stepMs - now;
}

/** The planned result, with a limit on the delay. */
export function atLatest(planned: ReconcileResult, ms: number | undefined): ReconcileResult {
  if (ms === undefined || planned.requeue) return planned;
  return { ...planned, requeueAfterMs: Math.min(planned.requeueAfterMs ?? ms, ms) };
}

/**
 * Writes connection details to the Secret a legacy XR names. Keys are added and changed, never removed. Resolves to whether
 * anything was written.
 */
async function publishConnection(details: ConnectionDetails, context: CompositeContext): Promise<boolean> {
  const { deps, definition, stored, signal } = context;
  const { client } = deps;
  const xr = stored.object;
  const ref = connectionSecretRefOf(xr, deps.kind.schema);
  if (ref === undefined) return false;
  const data = encoded(allowed(details, definition.require().connectionSecretKeys));
  return during("cannot apply connection secret", async () => {
    const existing = await client.get(kinds.secret, ref, { signal });
    if (existing === undefined) return createSecret(data, context);
    refuseForeignSecret(existing, xr);
    if (holds(existing, data) && controllerOf(existing) !== undefined) return false;
    const { resourceVersion = "" } = existing.metadata;
    const { ownerReferences = null } = withOwner(existing, controllerReference(xr)).metadata;
    const patch = { data, metadata: { ownerReferences, resourceVersion } };
    const options = { type: "merge", fieldManager: fieldManagers.update, signal } as const;
    await client.patch({ ...kinds.secret, ...ref }, patch, options);
    return true;
  });
}

async function createSecret(data: JsonObject, { deps, stored, signal }: CompositeContext): Promise<boolean> {
  const { name = "", namespace = "" } = connectionSecretRefOf(stored.object, "legacy") ?? {};
  const ownerReferences = [controllerReference(stored.object)];
  const secret = { ...kinds.secret, metadata: { name, namespace, ownerReferences }, type: connectionSecretType, data };
  await deps.client.create(secret, { fieldManager: fieldManagers.update, signal });
  return true;
}

function allowed(details: ConnectionDetails, keys: readonly string[]): ConnectionDetails {
  if (keys.length === 0) return details;
  const wanted = new Set(keys);
  return new Map([...details].filter(([key]) => wanted.has(key)));
}

function encoded(details: ConnectionDetails): JsonObject {
  return Object.fromEntries([...details].map(([key, bytes]) => [key, Buffer.from(bytes).toString("base64")]));
}

/** A key that functions no longer return stays in the Secret, so it must not count as a difference. */
function holds(secret: KubeObject, data: JsonObject): boolean {
  const stored = secretData({ data: memberAt(secret, ["data"]) ?? {} });
  return Object.entries(data).every(([key, value]) => {
    const bytes = stored.get(key);
    return bytes !== undefined && Buffer.from(bytes).toString("base64") === value;
  });
}
