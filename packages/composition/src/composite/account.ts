// SPDX-License-Identifier: Apache-2.0

import { during } from "@purlin/kube-objects/errors";
import { annotationOf, type ConditionText, type KubeObject, textAt } from "@purlin/kube-objects/object";
import { annotations } from "../composite-resource/constants.ts";
import { type Pass, rulesFor, stampFor } from "./pass.ts";
import type { ConditionChanges } from "./report/condition-changes.ts";
import { type StatusDraft, type StatusRules, statusAfter } from "./report/status-after.ts";
import { replaceStatus } from "./report/write-status.ts";
import type { DefinitionFacts } from "./select/definition.ts";
import type { CircuitState } from "./watch/circuit-breaker.ts";
import { onlyConditions } from "./watch/own-echoes.ts";

/** What every status of a pass says, whatever else comes of it. */
export interface Account {
  readonly responsive: ConditionText;
  /** The token of a reconcile request that this pass answers. */
  readonly handledRequest: string | undefined;
  readonly rules: StatusRules;
}

/** Begins the account of a pass. */
export function openAccount(xr: KubeObject, pass: Pass, definition: DefinitionFacts | undefined): Account {
  const rules = rulesFor(pass.ports, definition);
  const responsive = responsiveCondition(pass.state.breaker.state(pass.key));
  return { responsive, handledRequest: newRequest(xr, rules), rules };
}

/** Whether events reach the XR. */
function responsiveCondition(circuit: CircuitState): ConditionText {
  if (!circuit.open) return { type: "Responsive", status: "True", reason: "WatchCircuitClosed" };
  const message = `Too many watch events from ${circuit.triggeredBy}. Allowing events periodically.`;
  return { type: "Responsive", status: "False", reason: "WatchCircuitOpen", message };
}

/** A token this XR has not answered yet. Where the author's schema has the field, there is no place to answer. */
function newRequest(xr: KubeObject, { ownFields }: StatusRules): string | undefined {
  if (!ownFields.has("lastHandledReconcileAt")) return undefined;
  const token = annotationOf(xr, annotations.reconcileRequested);
  return token === textAt(xr, ["status", "lastHandledReconcileAt"]) ? undefined : token;
}

/** What a pass adds to its account before the status is written. */
export interface Outcome extends Omit<StatusDraft, "conditions" | "handledRequest"> {
  readonly conditions?: readonly ConditionText[];
  readonly pipeline?: ConditionChanges["pipeline"];
  readonly undetermined?: boolean;
}

/** Everything the status has to say. */
export function draftOf({ responsive, handledRequest }: Account, outcome: Outcome): StatusDraft {
  const { conditions = [], pipeline = [], undetermined = false, ...rest } = outcome;
  // A failure is known before functions have set their conditions; whether the XR is synced and ready, only afterwards.
  const order = undetermined
    ? { before: [responsive, ...conditions], after: [] }
    : { before: [responsive], after: conditions };
  return { ...rest, handledRequest, conditions: { ...order, pipeline, undetermined } };
}

/** Writes the status of a pass in which functions have no say, or no longer. */
export async function closeAccount(
  xr: KubeObject,
  pass: Pass,
  account: Account,
  outcome: Outcome,
): Promise<KubeObject> {
  const status = statusAfter(xr, draftOf(account, outcome), account.rules, stampFor(xr, pass.ports));
  return during("cannot update composite resource status", async () => {
    const stored = await replaceStatus(xr, status, pass.ports.client, pass.statusSignal);
    expectEcho(xr, stored, pass);
    return stored;
  });
}

/** Takes note that the event of this write is no news, if it is none. */
export function expectEcho(before: KubeObject, stored: KubeObject, { state, ports }: Pass): void {
  const written = stored.metadata.resourceVersion !== before.metadata.resourceVersion;
  if (written && onlyConditions(before, stored, ports.kind.schema)) state.echoes.expect(stored);
}
