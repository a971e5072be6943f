// SPDX-License-Identifier: Apache-2.0

import {
  attempt,
  isEstablished,
  type ReconcileResult,
  type ReconcilerDefinition,
  refusalOf,
} from "@purlin/kube-controller";
import { textOf } from "@purlin/kube-objects/errors";
import { hasFinalizer, isDeleted, type KubeObject, withFinalizer } from "@purlin/kube-objects/object";
import { fieldManagers, kinds } from "../composite-resource/constants.ts";
import { isNotServed } from "../not-served.ts";
import { applyDerivedCrd } from "./apply-derived-crd.ts";
import { checkVersions } from "./check-definition.ts";
import { definitionFacts } from "./definition-facts.ts";
import type { DefinitionContext, DefinitionDeps } from "./deps.ts";
import type { InstanceControllers } from "./instance-controllers.ts";
import type { DefinitionRole } from "./role.ts";
import { withFailure, withoutConversionNotice, withRunning, withState } from "./status.ts";
import { terminateDefinition } from "./termination.ts";

/** Reconciles definitions in one role. */
export function definitionReconciler(
  deps: DefinitionDeps,
  role: DefinitionRole,
  controllers: InstanceControllers,
): ReconcilerDefinition<DefinitionContext> {
  return {
    ...deps,
    type: kinds.definition,
    timeoutMs: role.timeoutMs,
    async onGone({ key }) {
      await controllers.stop(key.name);
      return {};
    },
    extend: (context) => ({ ...context, deps, role, controllers }),
    reconcile(context) {
      const xrd = context.stored.object;
      if (isDeleted(xrd)) return terminateDefinition(context);
      return role.typeOf(definitionFacts(xrd)) === undefined ? retract(context) : establish(context);
    },
    onFailure: ({ message }, context) => context.writeStatus(withFailure(context.stored.object, message, context)),
  };
}

/**
 * A definition that no longer offers claims, or never did. Existing claims are user data: they are kept, deleted with the definition,
 * and reconciled again when it offers them again.
 */
async function retract(context: DefinitionContext): Promise<ReconcileResult> {
  const { role, controllers, stored } = context;
  if (!hasFinalizer(stored.object, role.finalizer)) return {};
  await controllers.stop(stored.object.metadata.name ?? "");
  const message = "spec.claimNames was removed: existing claims are kept but no longer reconciled";
  const state = { type: role.running.type, status: "False", reason: "ClaimsNotOffered", message } as const;
  await context.writeStatus(withState(stored.object, state, context));
  return {};
}

// The kind of a CRD is served a moment after the CRD is established.
const soonMs = 250;

async function establish(context: DefinitionContext): Promise<ReconcileResult> {
  const { deps, role, signal, stored } = context;
  const { apply } = role.reasons;
  const kindOfCrd = `${role.what} CustomResourceDefinition`;

  const wanted = await attempt({ reason: "RenderCRD", text: `cannot render ${kindOfCrd}` }, () =>
    role.derive(stored.object, deps),
  );
  await attempt({ reason: apply, text: `cannot add ${role.what} finalizer` }, () => ensureFinalizer(context));
  const xrd = stored.object;
  const { crd, isChanged } = await attempt({ reason: apply, text: `cannot apply rendered ${kindOfCrd}` }, () => {
    checkVersions(xrd);
    return applyDerivedCrd(deps.client, wanted, signal);
  });
  if (isChanged) context.emit({ reason: apply, message: `Applied ${kindOfCrd}: ${crd.metadata.name}` });
  const waiting = { reason: apply, message: `waiting for ${kindOfCrd} to be established` };
  if (!isEstablished(crd)) {
    context.emit(waiting);
    await reportRefusal(context, crd, waiting.message);
    return { requeue: true };
  }
  await stopOutdated(context, xrd);
  if (!(await startInstances(context, xrd))) {
    context.emit(waiting);
    return { requeueAfterMs: soonMs };
  }
  const type = role.typeOf(definitionFacts(xrd));
  if (type !== undefined) {
    await context.writeStatus(withoutConversionNotice(withRunning(xrd, type, context)));
  }
  return {};
}

/** Reports why the API server does not accept a CRD. Best effort: the next reconcile reports it again. */
async function reportRefusal(context: DefinitionContext, crd: KubeObject, waiting: string): Promise<void> {
  const refusal = refusalOf(crd);
  if (refusal === undefined) return;
  const xrd = context.stored.object;
  try {
    await context.writeStatus(withFailure(xrd, `${waiting}: ${refusal}`, context));
  } catch (error) {
    const { log } = context.deps;
    log.debug("failed to update definition status", { definition: xrd.metadata.name, error: textOf(error) });
  }
}

async function ensureFinalizer({ deps, role, stored, signal }: DefinitionContext): Promise<void> {
  const wanted = withFinalizer(stored.object, role.finalizer);
  if (wanted === stored.object) return;
  stored.object = await deps.client.update(wanted, { fieldManager: fieldManagers.update, signal });
}

async function stopOutdated(context: DefinitionContext, xrd: KubeObject): Promise<void> {
  const { role, controllers } = context;
  const now = definitionFacts(xrd);
  const made = controllers.running(now.name);
  if (made === undefined || !role.isOutdated(xrd, made, now)) return;
  const isComposite = role.prefix === "composite";
  const reason = isComposite ? "RestartComposite" : role.reasons.apply;
  if (isComposite) {
    context.emit({ reason, message: "XRD specification changed; restarting controller to apply updates" });
  }
  await attempt({ reason, text: `cannot stop ${role.what} controller` }, () => controllers.stop(now.name));
}

/** Whether the controller of the instances runs now. It does not while the API server does not serve the kind. */
async function startInstances(context: DefinitionContext, xrd: KubeObject): Promise<boolean> {
  const { role, controllers, signal } = context;
  const facts = definitionFacts(xrd);
  const reason = role.reasons.apply;
  await attempt({ reason, text: `cannot start ${role.what} controller` }, () => controllers.start(facts));
  return attempt({ reason, text: `cannot start ${role.what} controller watches` }, async () => {
    try {
      await controllers.startWatches(facts.name, signal);
      return true;
    } catch (error) {
      if (isNotServed(error)) return false;
      throw error;
    }
  });
}
