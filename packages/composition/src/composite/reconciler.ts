// SPDX-License-Identifier: Apache-2.0

import { attempt, type Reconcile, type ReconcileResult } from "@purlin/kube-controller";
import { during, ignoreNotFound } from "@purlin/kube-objects/errors";
import { isDeleted, isPaused, type KubeObject, withoutFinalizer } from "@purlin/kube-objects/object";
import { fieldManagers, finalizers } from "../composite-resource/constants.ts";
import { deleting, reconcilePaused, reconcileSuccess } from "../composite-resource/standard-conditions.ts";
import { type Account, closeAccount, openAccount } from "./account.ts";
import { compose } from "./compose.ts";
import { type CompositeState, controllerName, forgetComposite } from "./composite-state.ts";
import { composeFailed, fail } from "./fail.ts";
import { type Pass, settingsOf, withDeadlines } from "./pass.ts";
import type { CompositePorts } from "./ports.ts";
import { prepare } from "./prepare.ts";
import { reportComposition } from "./report-composition.ts";
import { verdictPollMs } from "./select/awaited-verdicts.ts";
import { type DefinitionFacts, readDefinition } from "./select/definition.ts";
import { steps } from "./steps.ts";
import { admitted } from "./watches.ts";

/** Brings one composite resource towards what it asks for. */
export function createReconcile(ports: CompositePorts, state: CompositeState): Reconcile {
  const settings = settingsOf(ports);
  return async (key, stopped) => {
    state.echoes.begin(key);
    try {
      const result = await withDeadlines({ key, ports, settings, state }, stopped, reconcileOne);
      state.conflicts.ended(key);
      return result;
    } catch (error) {
      state.conflicts.ended(key, error);
      throw error;
    } finally {
      const news = state.echoes.end(key).filter((change) => admitted(change, state));
      if (news.length > 0) ports.engine.enqueue(controllerName(ports.kind.definition), key);
    }
  };
}

async function reconcileOne(pass: Pass): Promise<ReconcileResult> {
  const { key, ports, signal, state } = pass;
  const xr = await during("cannot get composite resource", () => ports.client.get(ports.kind.type, key, { signal }));
  if (xr === undefined) {
    forgetComposite(state, key);
    return {};
  }
  const definition = readDefinition(ports, signal);
  const account = openAccount(xr, pass, await definition.catch(() => undefined));
  if (isPaused(xr)) return pause(xr, pass, account);
  if (account.handledRequest !== undefined) {
    const message = "Handling reconcile request";
    ports.events.event(xr, { type: "Normal", reason: "ReconcileRequestHandled", message });
  }
  if (isDeleted(xr)) return letGo(xr, pass, account);
  return keepUp(xr, pass, account, definition);
}

/** Somebody wants it left alone, also on its way out. */
async function pause(xr: KubeObject, pass: Pass, account: Account): Promise<ReconcileResult> {
  const message = "Reconciliation is paused via the pause annotation";
  pass.ports.events.event(xr, { type: "Normal", reason: "ReconciliationPaused", message });
  await closeAccount(xr, pass, { ...account, handledRequest: undefined }, { conditions: [reconcilePaused] });
  return {};
}

/** What it composed is collected by its owner references; nothing is deleted here. */
async function letGo(xr: KubeObject, pass: Pass, account: Account): Promise<ReconcileResult> {
  const { client } = pass.ports;
  const released = withoutFinalizer(xr, finalizers.composite);
  const options = { fieldManager: fieldManagers.update, signal: pass.signal };
  try {
    const stored =
      released === xr ? xr : await attempt(steps.deletion, () => ignoreNotFound(client.update(released, options)));
    forgetComposite(pass.state, pass.key);
    // Without finalizers it is gone, and there is no status to write.
    if (stored === undefined || (stored.metadata.finalizers ?? []).length === 0) return {};
    await ignoreNotFound(closeAccount(stored, pass, account, { conditions: [deleting, reconcileSuccess] }));
    return {};
  } catch (error) {
    return fail(xr, error, pass, { account, conditions: [deleting] });
  }
}

async function keepUp(
  xr: KubeObject,
  pass: Pass,
  account: Account,
  definition: Promise<DefinitionFacts>,
): Promise<ReconcileResult> {
  // The XR as it was last stored: whoever fails writes the status of that.
  let stored = xr;
  const onStored = (newer: KubeObject): void => {
    stored = newer;
  };
  const prepared = await prepare(xr, () => definition, pass, onStored).catch((error: unknown) =>
    fail(stored, error, pass, { account }),
  );
  if (prepared === undefined) return { requeueAfterMs: verdictPollMs };
  const composition = await compose(prepared, pass, { account, onStored }).catch((error: unknown) =>
    composeFailed(stored, error, pass, account),
  );
  return reportComposition(composition, pass, account, await definition);
}
