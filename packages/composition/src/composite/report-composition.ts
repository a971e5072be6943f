// SPDX-License-Identifier: Apache-2.0

import { Ready } from "@purlin/function-protocol";
import { attempt, type EventText, isReconcileFailure, type ReconcileResult } from "@purlin/kube-controller";
import { textOf, wrapError } from "@purlin/kube-objects/errors";
import { compareUtf8 } from "@purlin/kube-objects/json";
import { type ConditionText, conditionOf, conditionsOf, type KubeObject, objectAt } from "@purlin/kube-objects/object";
import { available, creating, reconcileError, reconcileSuccess } from "../composite-resource/standard-conditions.ts";
import { type Account, draftOf, expectEcho, type Outcome } from "./account.ts";
import type { ComposedResource } from "./apply/apply-composed.ts";
import type { Composition } from "./compose.ts";
import { controllerName } from "./composite-state.ts";
import { audienceOf, composeFailed } from "./fail.ts";
import { noDetails } from "./observe/connection-details.ts";
import { type Pass, stampFor } from "./pass.ts";
import { correctedStatus, isLeftBehind } from "./report/corrected-status.ts";
import { publishConnection } from "./report/publish-connection.ts";
import { atLatest, requeueAfter } from "./report/requeue.ts";
import { appliedStatus, desiredStatus, type StatusRules, statusAfter } from "./report/status-after.ts";
import { tell } from "./report/tell.ts";
import { applyStatus, checkStatus, replaceStatus } from "./report/write-status.ts";
import type { DefinitionFacts } from "./select/definition.ts";
import { steps } from "./steps.ts";
import { watchOn } from "./watches.ts";

/** How the XR is after a pass that composed everything. */
interface Readiness {
  readonly conditions: readonly ConditionText[];
  readonly events: readonly EventText[];
  /** Whether nothing is left to wait for. */
  readonly settled: boolean;
}

const undeclared = ": field not declared in schema";

/** What came after composing: the outcome for the status, and the failure if there was one. */
interface Aftermath {
  readonly outcome: Outcome;
  readonly published: boolean;
  readonly failure?: unknown;
}

/**
 * Ends a pass that composed everything: watches, connection secret, status, events. The status is written once, with
 * what functions want and what we say, also when watching or publishing failed.
 */
export async function reportComposition(
  composition: Composition,
  pass: Pass,
  account: Account,
  definition: DefinitionFacts,
): Promise<ReconcileResult> {
  const readiness = readinessOf(composition.applied.resources, composition.composite?.ready);
  const aftermath = await afterComposing(composition, pass, definition, readiness);
  const stored = await writeStatus(composition, aftermath.outcome, pass, account);
  if (aftermath.failure !== undefined) return endWith(stored, aftermath.failure, pass);
  const news = isReportedAlready(composition.xr, readiness) ? [] : readiness.events;
  await tellAll(stored, composition, pass, { news, published: aftermath.published });
  const { settings, ports } = pass;
  const { ttlMs } = composition.outcome;
  const { settled } = readiness;
  const chance = { random: ports.random ?? Math.random, now: ports.clock.now() };
  const next = requeueAfter({ xr: stored, settled, ttlMs, settings, ...chance });
  return atLatest(next, pass.state.settling.lookAgainMs(pass.key));
}

/** Whether the XR says already what it waits for: that is not repeated in events at every reconcile. */
function isReportedAlready(xr: KubeObject, { conditions }: Readiness): boolean {
  const stored = conditionsOf(xr);
  return conditions.every(({ type, status, reason, message }) => {
    const before = conditionOf(stored, type);
    return before.status === status && before.reason === reason && (before.message ?? "") === (message ?? "");
  });
}

async function afterComposing(
  composition: Composition,
  pass: Pass,
  definition: DefinitionFacts,
  readiness: Readiness,
): Promise<Aftermath> {
  const { outcome, xr } = composition;
  const functionRevisions = pass.settings.functionRevisions ? outcome.functionRevisions : undefined;
  try {
    if (pass.settings.realtime) await attempt(steps.watch, () => startWatches(pass));
    const published = await attempt(steps.publish, () => publish(composition, pass, definition));
    const publishedAt = published ? stampFor(xr, pass.ports).time : undefined;
    const conditions = readiness.conditions;
    return { published, outcome: { conditions, pipeline: outcome.conditions, publishedAt, functionRevisions } };
  } catch (failure) {
    if (!isReconcileFailure(failure)) throw failure;
    const conditions = [reconcileError(failure.message)];
    return { failure, published: false, outcome: { conditions, functionRevisions } };
  }
}

/** On the kinds of this XR alone: one that another XR depends on and that cannot be watched is no concern of this one. */
async function startWatches({ key, ports, state, signal }: Pass): Promise<void> {
  const watches = state.tracker.typesOf(key).map((type) => {
    const name = `${type.apiVersion}/${type.kind}`;
    const known = state.dependencyWatches.get(name) ?? watchOn(type, state);
    state.dependencyWatches.set(name, known);
    return known;
  });
  await ports.engine.startWatches(controllerName(ports.kind.definition), watches, signal);
}

async function publish(
  { xr, composite }: Composition,
  { ports, signal }: Pass,
  { connectionSecretKeys: keys }: DefinitionFacts,
): Promise<boolean> {
  if (ports.kind.schema !== "legacy") return false;
  return publishConnection(xr, { details: composite?.connectionDetails ?? noDetails, keys }, ports.client, signal);
}

async function writeStatus(
  { xr, composite }: Composition,
  outcome: Outcome,
  pass: Pass,
  account: Account,
): Promise<KubeObject> {
  const after = statusAfter(xr, draftOf(account, outcome), account.rules, stampFor(xr, pass.ports));
  let latest = xr;
  try {
    const wanted = desiredStatus(composite?.resource?.value);
    const status = appliedStatus(wanted, after, account.rules);
    const { client } = pass.ports;
    if (isLeftBehind(xr, status)) {
      // What others left in our items would survive the apply; it goes first, so that nobody sees half of both. But not
      // before it is known that the apply will be taken: a status that failed must not look fine for a moment.
      await checkStatus(xr, status, client, pass.statusSignal);
      const corrected = correctedStatus(objectAt(xr, ["status"]), status);
      latest = await replaceStatus(xr, corrected, client, pass.statusSignal);
    }
    expectEcho(xr, latest, pass);
    const stored = await applyStatus(latest, status, client, pass.statusSignal);
    expectEcho(latest, stored, pass);
    return stored;
  } catch (error) {
    const failure = wrapError("cannot apply composite resource status", error);
    // The next pass will find that the server knows our fields: nobody is told.
    if (isSchemaLate(error, account.rules)) throw failure;
    return composeFailed(latest, failure, pass, account);
  }
}

/** Nothing but the failure is told: what the pipeline said will be said again. */
function endWith(xr: KubeObject, failure: unknown, { ports }: Pass): never {
  if (isReconcileFailure(failure)) {
    ports.events.event(xr, { type: "Warning", reason: failure.reason, message: failure.message });
  }
  throw failure;
}

async function tellAll(
  xr: KubeObject,
  { outcome, desired, applied }: Composition,
  pass: Pass,
  { news, published }: { readonly news: readonly EventText[]; readonly published: boolean },
): Promise<void> {
  const { events } = pass.ports;
  if (published) {
    const message = "Successfully published connection details";
    events.event(xr, { type: "Normal", reason: "PublishConnectionSecret", message });
  }
  const own = news.map((event) => ({ ...event, forClaim: false, detail: "" }));
  await tell(xr, [...outcome.events, ...desired.events, ...applied.events, ...own], audienceOf(pass));
}

/**
 * Whether a status was refused only because the API server has not taken in the CRD as it is now: it knows none of the
 * fields that we have just added to it. That takes a moment on a cluster, and is nothing a user could do anything about.
 */
export function isSchemaLate(error: unknown, { ownFields }: StatusRules): boolean {
  const own: ReadonlySet<string> = ownFields;
  const paths = textOf(error).split(undeclared).slice(0, -1).map(lastWord);
  return paths.length > 0 && paths.every((path) => own.has(statusField(path) ?? ""));
}

/** What is before the first place where a path is not declared, and between two of them, ends with the path. */
function lastWord(text: string): string {
  const start = Math.max(...[" ", "\n", ":"].map((end) => text.lastIndexOf(end)));
  return text.slice(start + 1);
}

function statusField(path: string): string | undefined {
  const [root, status, field] = path.split(/[.[]/, 3);
  return root === "" && status === "status" ? field : undefined;
}

/** Derives Synced and Ready. What the pipeline says about the XR itself beats what its resources say. */
export function readinessOf(resources: readonly ComposedResource[], composite: Ready | undefined): Readiness {
  // One without a name, which only render lets through, goes by its position.
  const named = resources.map(({ name, ...state }, index) => ({ ...state, name: name || String(index) }));
  const unsynced = named.filter(({ synced }) => !synced).map(({ name }) => name);
  const unready = named.filter(({ ready }) => !ready).map(({ name }) => name);
  const synced = unsynced.length === 0 ? reconcileSuccess : reconcileError(`Unsynced resources: ${listed(unsynced)}`);
  return {
    conditions: [synced, readyCondition(unready, composite)],
    events: [
      ...unsynced.map((name) => told(`Composed resource "${name}" is not yet valid`)),
      ...unready.map((name) => told(`Composed resource "${name}" is not yet ready`)),
    ],
    settled: unsynced.length === 0 && unready.length === 0,
  };
}

function readyCondition(unready: readonly string[], composite: Ready | undefined): ConditionText {
  if (composite === Ready.READY_TRUE) return available;
  if (composite === Ready.READY_FALSE) return creating();
  return unready.length === 0 ? available : creating(`Unready resources: ${listed(unready)}`);
}

function told(message: string): EventText {
  return { type: "Normal", reason: "ComposeResources", message };
}

/** Names for a reader: three at most, in a stable order. */
export function listed(names: readonly string[]): string {
  const sorted = names.toSorted(compareUtf8);
  const first = sorted.slice(0, 3).join(", ");
  if (sorted.length > 3) return `${first}, and ${sorted.length - 3} more`;
  return sorted.length === 3 ? `${sorted[0]}, ${sorted[1]}, and ${sorted[2]}` : first;
}
