// SPDX-License-Identifier: Apache-2.0

import { create, type Resource, ResourceSelector } from "@purlin/function-protocol";
import { type RunStep, secretsFrom } from "@purlin/function-runner";
import { isNoMatch } from "@purlin/kube-client/objects";
import type { ControllerClient } from "@purlin/kube-controller";
import { ignoreNotFound, textOf } from "@purlin/kube-objects/errors";
import { type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import {
  conditionOf,
  conditionsOf,
  conditionTime,
  type KubeObject,
  keyOf,
  withMember,
} from "@purlin/kube-objects/object";
import { fieldManagers } from "../composite-resource/constants.ts";
import { type CompositeSchema, withMachinery } from "../composite-resource/machinery.ts";
import { waitingForFunction } from "../composite-resource/standard-conditions.ts";
import { type Account, closeAccount } from "./account.ts";
import { type AppliedResources, applyComposed } from "./apply/apply-composed.ts";
import { type DesiredResources, desiredResources } from "./apply/desired-resources.ts";
import { applyReferences, referencesTo } from "./apply/references.ts";
import type { KnownComposite } from "./apply/require-alive.ts";
import { collectGarbage } from "./collect/collect-garbage.ts";
import { clientReader } from "./observe/client-reader.ts";
import { type Observed, observe } from "./observe/observe.ts";
import type { Pass } from "./pass.ts";
import type { Prepared } from "./prepare.ts";
import type { PipelineOutcome, StepRequirement } from "./run/pipeline-outcome.ts";
import { runPipeline } from "./run/run-pipeline.ts";
import { onlyAddedReferences } from "./watch/own-echoes.ts";

/** Runs steps, and reports on the XR those that take long. */
interface SlowStepReporter {
  readonly runStep: RunStep;
  /** The XR as it was last stored, once a report that is under way has been written. */
  latest(): Promise<KubeObject>;
}

/** A step that took long is reported again when it takes this many times as long. */
const unusual = 2;

const beforeFirstApply = "before-first-apply";

/** What composing an XR led to. */
export interface Composition {
  /** The XR with its references as they are now. */
  readonly xr: KubeObject;
  readonly outcome: PipelineOutcome;
  readonly applied: AppliedResources;
  /** Events of the desired state, beside those of the pipeline. */
  readonly desired: DesiredResources;
  /** What the pipeline wants of the XR itself. */
  readonly composite: Resource | undefined;
}

/** What composing depends on beside the XR. */
interface ComposeOptions {
  readonly account: Account;
  /** Called with each version of the XR that was stored. */
  readonly onStored: (xr: KubeObject) => void;
}

/**
 * Composes an XR: observe, run the pipeline, collect what is no longer wanted, write down what will be, apply it.
 * References are stored before anything they name is made, and garbage goes before its references do, so that wherever
 * this ends the next pass finds everything there is.
 */
export async function compose(
  { xr: before, revision }: Prepared,
  pass: Pass,
  { account, onStored }: ComposeOptions,
): Promise<Composition> {
  const { ports, signal } = pass;
  const { client, kind } = ports;
  const observed = await observe(before, kind, client, signal);
  const slow = reportSlowSteps(before, pass, account);
  const running = runPipeline(revision, observed, surroundings(pass, slow.runStep));
  // Whether it succeeds or fails, what follows writes over the XR as it is stored.
  const xr = await running.then(slow.latest, slow.latest);
  onStored(xr);
  const outcome = await running;
  ports.onPipeline?.(xr, outcome.context);
  const desired = await desiredResources(outcome.desired, {
    xr,
    observed,
    mapper: client.mapper,
    signal,
    refuse: ports.refuse,
  });
  const objects = desired.resources.map(({ object }) => object);
  await collectGarbage(observed, new Set(desired.resources.map(({ name }) => name)), client, signal);
  const stored = await applyReferences(xr, referencesTo(objects, xr), { client, schema: kind.schema, signal });
  const referred = asSeen(xr, stored, kind.schema);
  onStored(referred);
  if (referred !== xr && onlyAddedReferences(xr, referred, kind.schema)) pass.state.echoes.expect(referred);
  // Before they are made: the event of a resource must find whose it is.
  const requirements = await Promise.all(outcome.requirements.map((wanted) => inScope(wanted, pass)));
  pass.state.tracker.record(pass.key, { composed: objects, requirements, schemas: outcome.schemas });
  const applied = await applyDesired(desired, observed, { read: xr, stored }, pass);
  return { xr: referred, outcome, applied, desired, composite: outcome.desired?.composite };
}

/** What somebody changed while functions ran they have not seen, and no condition may say that they had. */
function asSeen(before: KubeObject, stored: KubeObject, schema: CompositeSchema): KubeObject {
  const wishes = (xr: KubeObject): JsonValue =>
    (withMachinery(xr, schema, { resourceRefs: undefined })["spec"] ?? null) as JsonValue;
  if (stored === before || jsonEqual(wishes(before), wishes(stored))) return stored;
  return withMember(stored, ["metadata", "generation"], before.metadata.generation);
}

function surroundings(pass: Pass, runStep: RunStep): Parameters<typeof runPipeline>[2] {
  const { ports, key, state, settings, deadline, signal } = pass;
  return {
    runStep,
    sources: { secrets: secretsFrom(clientReader(ports.client)), ...ports.fetchers },
    seeds: (step) => (settings.realtime ? state.tracker.seeds(key, step) : new Map()),
    deadline,
    signal,
    context: ports.context,
  };
}

async function applyDesired(
  desired: DesiredResources,
  observed: Observed,
  composite: KnownComposite,
  { ports: { client }, signal }: Pass,
): Promise<AppliedResources> {
  const existing = desired.resources.flatMap(({ name }) => observed.resources.get(name)?.object ?? []);
  await upgradeManagedFields(existing, client, signal);
  return applyComposed(desired.resources, observed, composite, { client, signal });
}

/** A namespace means nothing to a cluster-scoped kind, whatever a function says. */
async function inScope(wanted: StepRequirement, { ports, signal }: Pass): Promise<StepRequirement> {
  const { selector } = wanted;
  if (!selector.namespace) return wanted;
  try {
    if ((await ports.client.mapper.mapping(selector, signal)).namespaced) return wanted;
  } catch (error) {
    if (isNoMatch(error)) return wanted;
    throw error;
  }
  return { ...wanted, selector: create(ResourceSelector, { ...selector, namespace: undefined }) };
}

/**
 * The patch after which removing a field removes it, also from an object that was once written by plain updates:
 * undefined when there is nothing to do. The version read goes along, so that nobody's change is lost.
 */
export function managedFieldsUpgrade({ metadata }: KubeObject): JsonValue | undefined {
  if (!metadata.creationTimestamp) return undefined;
  const managers = (metadata.managedFields ?? []).map(({ manager = "" }) => manager);
  const ours = managers.some((manager) => manager.startsWith(fieldManagers.composedPrefix));
  const index = managers.indexOf(beforeFirstApply);
  if (ours && index < 0) return undefined;
  const change = ours
    ? { op: "remove", path: `/metadata/managedFields/${index}` }
    : { op: "replace", path: "/metadata/managedFields", value: [{}] };
  return [change, { op: "replace", path: "/metadata/resourceVersion", value: metadata.resourceVersion ?? "" }];
}

/** Upgrades the field ownership of observed objects where that is needed. What is gone meanwhile needs none. */
async function upgradeManagedFields(
  objects: readonly KubeObject[],
  client: ControllerClient,
  signal: AbortSignal,
): Promise<void> {
  for (const object of objects) {
    const patch = managedFieldsUpgrade(object);
    if (patch === undefined) continue;
    const { apiVersion, kind } = object;
    await ignoreNotFound(client.patch({ apiVersion, kind, ...keyOf(object) }, patch, { type: "json", signal }));
  }
}

/**
 * Sets the condition Synced of an XR to Unknown while a step has not been answered for a while: the deadline of a reconcile is minutes
 * away. The end of the reconcile sets it again. A step that is answered in time costs no write, and neither does one that takes
 * as long as it took the last time, unless the XR has changed since.
 */
function reportSlowSteps(xr: KubeObject, pass: Pass, account: Account): SlowStepReporter {
  const { ports, settings, statusSignal, state, key } = pass;
  const { clock, log } = ports;
  const { slowStepMs: longMs } = settings;
  const isNew = conditionOf(conditionsOf(xr), "Synced").observedGeneration !== xr.metadata.generation;
  let latest = Promise.resolve(xr);
  const report = async (before: KubeObject, message: string): Promise<KubeObject> => {
    if (statusSignal.aborted) return before;
    try {
      // The request is handled when the reconcile ends.
      const open = { ...account, handledRequest: undefined };
      return await closeAccount(before, pass, open, { conditions: [waitingForFunction(message)] });
    } catch (error) {
      // A conflict means that the XR has changed: the next reconcile reports.
      log.debug("cannot report a slow step", { name: before.metadata.name, error: textOf(error) });
      return before;
    }
  };
  return {
    async runStep(reference, request, call) {
      const { step, functionName, function: image } = reference;
      const began = clock.now();
      const since = conditionTime(began);
      const patienceMs = isNew ? longMs : Math.max(longMs, unusual * state.durations.last(key, step));
      const cancel = clock.schedule(patienceMs, () => {
        const message = `waiting for Function "${functionName || image}" in pipeline step "${step}" since ${since}`;
        latest = latest.then((before) => report(before, message));
      });
      try {
        return await ports.runStep(reference, request, call);
      } finally {
        cancel();
        state.durations.record(key, step, { ms: clock.now() - began, longMs });
      }
    },
    latest: () => latest,
  };
}
