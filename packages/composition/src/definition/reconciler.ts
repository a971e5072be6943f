// SPDX-License-Identifier: Apache-2.0

import { isEstablished, type Reconcile, type ReconcileResult, refusalOf } from "@purlin/kube-controller";
import { hasFinalizer, isDeleted, type KubeObject, withFinalizer } from "@purlin/kube-objects/object";
import { fieldManagers, kinds } from "../composite-resource/constants.ts";
import { isNotServed } from "../not-served.ts";
import { reconcileWithin } from "../reconcile-within.ts";
import { applyDerivedCrd } from "./apply-derived-crd.ts";
import { checkVersions } from "./check-definition.ts";
import { definitionFacts } from "./definition-facts.ts";
import type { InstanceControllers } from "./instance-controllers.ts";
import { type DefinitionPass, failing, writeFailure } from "./pass.ts";
import type { DefinitionDeps } from "./ports.ts";
import type { DefinitionSide } from "./side.ts";
import { withConversionNotice, withRunning, withState, writeStatus } from "./status.ts";
import { terminateDefinition } from "./termination.ts";

/** Reconciles one side of definitions. */
export function definitionReconciler(
  deps: DefinitionDeps,
  side: DefinitionSide,
  controllers: InstanceControllers,
): Reconcile {
  return reconcileWithin(side.timeoutMs, deps.clock, async (key, { signal, stopping }) => {
    const pass = { deps, side, controllers, signal, stopping };
    const xrd = await deps.client.get(kinds.definition, key, { signal });
    if (xrd === undefined) {
      await controllers.stop(key.name);
      return {};
    }
    if (isDeleted(xrd)) return terminateDefinition(pass, xrd);
    return side.typeOf(definitionFacts(xrd)) === undefined ? retract(pass, xrd) : establish(pass, xrd);
  });
}

/**
 * A definition offers claims no longer, or never did. Claims that exist are people's data: they stay, and are deleted with
 * the definition, or looked after again when it offers them again.
 */
async function retract({ deps, side, controllers, signal }: DefinitionPass, xrd: KubeObject): Promise<ReconcileResult> {
  if (!hasFinalizer(xrd, side.finalizer)) return {};
  await controllers.stop(xrd.metadata.name ?? "");
  const message = "spec.claimNames was removed: claims are kept, but nobody looks after them until it is set again";
  const state = { type: side.running.type, status: "False", reason: "ClaimsNotOffered", message } as const;
  await writeStatus(deps, xrd, withState(xrd, state, deps), signal);
  return {};
}

// The kind of a CRD is served a moment after the CRD is established.
const soonMs = 250;

async function establish(pass: DefinitionPass, found: KubeObject): Promise<ReconcileResult> {
  const { deps, side, signal } = pass;
  const events = deps.events.with(side.controllerName);
  const { apply } = side.reasons;
  const kindOfCrd = `${side.what} CustomResourceDefinition`;

  const wanted = await failing(pass, found, { reason: "RenderCRD", text: `cannot render ${kindOfCrd}` }, () =>
    side.derive(found, deps),
  );
  const xrd = await failing(pass, found, { reason: apply, text: `cannot add ${side.what} finalizer` }, () =>
    ensureFinalizer(pass, found),
  );
  const rendered = { reason: apply, text: `cannot apply rendered ${kindOfCrd}` };
  const { crd, isChanged } = await failing(pass, xrd, rendered, () => {
    checkVersions(xrd);
    return applyDerivedCrd(deps.client, wanted, signal);
  });
  if (isChanged) {
    events.event(xrd, { type: "Normal", reason: apply, message: `Applied ${kindOfCrd}: ${crd.metadata.name}` });
  }
  const waiting = { type: "Normal", reason: apply, message: `waiting for ${kindOfCrd} to be established` } as const;
  if (!isEstablished(crd)) {
    events.event(xrd, waiting);
    const refusal = refusalOf(crd);
    if (refusal !== undefined) await writeFailure(pass, xrd, `${waiting.message}: ${refusal}`);
    return { requeue: true };
  }
  await stopOutdated(pass, xrd);
  if (!(await startInstances(pass, xrd))) {
    events.event(xrd, waiting);
    return { requeueAfterMs: soonMs };
  }
  const type = side.typeOf(definitionFacts(xrd));
  if (type !== undefined) {
    const running = withConversionNotice(withRunning(xrd, side, type, deps), crd, deps);
    await writeStatus(deps, xrd, running, signal);
  }
  return {};
}

async function ensureFinalizer({ deps, side, signal }: DefinitionPass, xrd: KubeObject): Promise<KubeObject> {
  const wanted = withFinalizer(xrd, side.finalizer);
  if (wanted === xrd) return xrd;
  return deps.client.update(wanted, { fieldManager: fieldManagers.update, signal });
}

async function stopOutdated(pass: DefinitionPass, xrd: KubeObject): Promise<void> {
  const { deps, side, controllers } = pass;
  const now = definitionFacts(xrd);
  const made = controllers.running(now.name);
  if (made === undefined || !side.isOutdated(xrd, made, now)) return;
  const isComposite = side.prefix === "composite";
  const reason = isComposite ? "RestartComposite" : side.reasons.apply;
  const message = "XRD specification changed; restarting controller to apply updates";
  if (isComposite) deps.events.with(side.controllerName).event(xrd, { type: "Normal", reason, message });
  const text = `cannot stop ${side.what} controller`;
  await failing(pass, xrd, { reason, text }, () => controllers.stop(now.name));
}

/** Whether the controller of the instances runs now; not yet while the API server does not serve the kind. */
async function startInstances(pass: DefinitionPass, xrd: KubeObject): Promise<boolean> {
  const { side, controllers, signal } = pass;
  const facts = definitionFacts(xrd);
  const reason = side.reasons.apply;
  await failing(pass, xrd, { reason, text: `cannot start ${side.what} controller` }, () => controllers.start(facts));
  return failing(pass, xrd, { reason, text: `cannot start ${side.what} controller watches` }, async () => {
    try {
      await controllers.startWatches(facts.name, signal);
      return true;
    } catch (error) {
      if (isNotServed(error)) return false;
      throw error;
    }
  });
}
