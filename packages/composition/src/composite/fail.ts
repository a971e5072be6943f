// SPDX-License-Identifier: Apache-2.0

import { isProtocolError } from "@purlin/function-protocol";
import { isReconcileFailure, ReconcileFailure } from "@purlin/kube-controller";
import { isConflict, isInvalid, textOf } from "@purlin/kube-objects/errors";
import type { ConditionText, KubeObject } from "@purlin/kube-objects/object";
import { reconcileError } from "../composite-resource/standard-conditions.ts";
import { type Account, closeAccount, type Outcome } from "./account.ts";
import type { Pass } from "./pass.ts";
import { diagnoseAccess } from "./report/rbac-diagnosis.ts";
import { readClaim, tell } from "./report/tell.ts";
import { type FatalResult, isComposedResourceError, isFatalResult } from "./run/compose-error.ts";

/**
 * Ends a pass in which a step failed: reports why, in an event and in the Synced condition, and throws the error again.
 * A conflict is a race that the next pass resolves; it is reported only when it returns again and again.
 */
export async function fail(
  xr: KubeObject,
  error: unknown,
  pass: Pass,
  { account, conditions = [] }: { readonly account: Account; readonly conditions?: readonly ConditionText[] },
): Promise<never> {
  if (!isReconcileFailure(error) || isSilent(error, pass)) throw error;
  pass.ports.events.event(xr, { type: "Warning", reason: error.reason, message: error.message });
  await tryClose(xr, pass, account, { conditions: [...conditions, reconcileError(error.message)] });
  throw error;
}

function isSilent(error: unknown, { key, state, statusSignal }: Pass): boolean {
  return statusSignal.aborted || state.conflicts.isRace(key, error);
}

/** Ends a pass in which composing failed. Nobody knows now what functions would say about their other conditions. */
export async function composeFailed(xr: KubeObject, error: unknown, pass: Pass, account: Account): Promise<never> {
  if (isSilent(error, pass)) throw error;
  const message = `cannot compose resources: ${textOf(error)}${adviceOn(error)}`;
  const fatal = isFatalResult(error) ? error.result : undefined;
  const reason = fatal === undefined ? "ComposeResources" : fatal.reason || "ReconcileError";
  pass.ports.events.event(xr, { type: "Warning", reason, message });
  const text = await conditionText(xr, error, message, pass);
  if (fatal !== undefined) await tellFatal(xr, fatal, reason, pass);
  await tryClose(xr, pass, account, {
    conditions: [reconcileError(text)],
    pipeline: fatal?.conditions ?? [],
    undetermined: true,
    functionRevisions: pass.settings.functionRevisions ? fatal?.functionRevisions : undefined,
  });
  throw new ReconcileFailure(reason, message, error);
}

/** What stays in the condition. Texts of invalid objects change all the time; a status must not change with them. */
async function conditionText(xr: KubeObject, error: unknown, message: string, pass: Pass): Promise<string> {
  if (isInvalid(error)) return "cannot compose resources: some resources were invalid, check events";
  if (!isComposedResourceError(error)) return message;
  const denied = await diagnoseAccess(error.resource, pass.ports.client, pass.statusSignal);
  if (denied === undefined) return message;
  pass.ports.events.event(xr, { type: "Warning", reason: "RoleBasedAccessControl", message: denied });
  return `[${message}, ${denied}]`;
}

async function tellFatal(xr: KubeObject, fatal: FatalResult, reason: string, pass: Pass): Promise<void> {
  const audience = audienceOf(pass);
  const claim = fatal.forClaim ? await readClaim(xr, audience) : undefined;
  if (claim !== undefined) pass.ports.events.event(claim, { type: "Warning", reason, message: fatal.message });
  await tell(xr, fatal.events, audience);
}

/** Who is told about what happens to an XR. */
export function audienceOf({ ports, settings, statusSignal }: Pass): Parameters<typeof tell>[2] {
  const { events, client, kind, log } = ports;
  return { events, client, schema: kind.schema, log, signal: statusSignal, maxEvents: settings.maxEvents };
}

/** A status that cannot be written must not hide the error. One that fails because of what functions say is written without that. */
async function tryClose(xr: KubeObject, pass: Pass, account: Account, outcome: Outcome): Promise<void> {
  try {
    await closeAccount(xr, pass, account, outcome);
  } catch (error) {
    const { name } = xr.metadata;
    pass.ports.log.debug("cannot report a failed reconcile", { name, error: textOf(error) });
    const { pipeline = [], ...own } = outcome;
    if (pipeline.length > 0 && !isConflict(error)) await tryClose(xr, pass, account, own);
  }
}

/**
 * What whoever reads about a failure can do, to go after its text; empty when the text says it all. What a function says
 * is its own: nothing is added to that.
 */
export function adviceOn(error: unknown): string {
  if (isFatalResult(error)) return "";
  const text = error instanceof Error ? error.message : String(error);
  if (/no matches for kind "[^"]*" in version "[^"]*"$/.test(text)) {
    return ": install the CRD that defines it, or correct the function";
  }
  if (/namespaces "[^"]*" not found$/.test(text)) return ": create the namespace, or correct the function";
  // Some reasons end with a question that says what to look at.
  if (text.includes("function unreachable") && !text.endsWith("?")) {
    return ": check that the function runs and can be reached there";
  }
  if (innermost(error, (one) => isProtocolError(one) && one.code === "UNSTABLE_REQUIREMENTS")) {
    return ": the function has to ask for the same on every call, also once it has the answer";
  }
  return "";
}

/** Whether one of the errors that led to this one is as wanted. */
function innermost(error: unknown, isWanted: (one: unknown) => boolean): boolean {
  for (let one = error; one !== undefined && one !== null; one = (one as { readonly cause?: unknown }).cause) {
    if (isWanted(one)) return true;
  }
  return false;
}
