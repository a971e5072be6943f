// SPDX-License-Identifier: Apache-2.0

import { create, type Resource, ResourceSelector } from "@purlin/function-protocol";
import { type RunStep, secretsFrom } from "@purlin/function-runner";
import { isNoMatch } from "@purlin/kube-client/objects";
import { type JsonValue, jsonEqual } from "@purlin/kube-objects";
import { type KubeObject, withMember } from "@purlin/kube-objects/object";
import { type CompositeSchema, withMachinery } from "../composite-resource/machinery.ts";
import type { Account } from "./account.ts";
import { type AppliedResources, applyComposed } from "./apply/apply-composed.ts";
import { type DesiredResources, desiredResources } from "./apply/desired-resources.ts";
import { applyReferences, referencesTo } from "./apply/references.ts";
import type { KnownComposite } from "./apply/require-alive.ts";
import { upgradeManagedFields } from "./apply/upgrade-managed-fields.ts";
import { collectGarbage } from "./collect/collect-garbage.ts";
import { clientReader } from "./observe/client-reader.ts";
import { type Observed, observe } from "./observe/observe.ts";
import type { Pass } from "./pass.ts";
import type { Prepared } from "./prepare.ts";
import type { PipelineOutcome, StepRequirement } from "./run/pipeline-outcome.ts";
import { reportSlowSteps } from "./run/report-slow-steps.ts";
import { runPipeline } from "./run/run-pipeline.ts";
import { onlyAddedReferences } from "./watch/own-echoes.ts";

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
export interface ComposeOptions {
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
