// SPDX-License-Identifier: Apache-2.0

import { type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import {
  type Condition,
  type ConditionText,
  conditionOf,
  conditionsOf,
  conditionTime,
  type KubeObject,
  memberAt,
  setCondition,
  stampCondition,
  type TypeRef,
  withConditions,
  withMember,
} from "@purlin/kube-objects/object";
import { fieldManagers } from "../composite-resource/constants.ts";
import { reconcileSuccess } from "../composite-resource/standard-conditions.ts";
import type { DefinitionDeps } from "./ports.ts";
import { claimSide, compositeSide, type DefinitionSide } from "./side.ts";

function withCondition(xrd: KubeObject, text: ConditionText, deps: DefinitionDeps): KubeObject {
  const condition = stampCondition(text, conditionTime(deps.clock.now()), xrd.metadata.generation);
  return withConditions(xrd, setCondition(conditionsOf(xrd), condition));
}

function syncedOf(xrd: KubeObject): Condition {
  return conditionOf(conditionsOf(xrd), "Synced");
}

/** The definition of a side that runs: what it reconciles, and no failure of its own any more. */
export function withRunning(xrd: KubeObject, side: DefinitionSide, type: TypeRef, deps: DefinitionDeps): KubeObject {
  const none = { apiVersion: "", kind: "" };
  const { apiVersion, kind } = type;
  const controllers = {
    compositeResourceType: none,
    compositeResourceClaimType: none,
    ...(memberAt(xrd, ["status", "controllers"]) as object | undefined),
    [side.statusField]: { apiVersion, kind },
  };
  const running = withCondition(withMember(xrd, ["status", "controllers"], controllers), side.running, deps);
  return withoutFailure(running, side, deps);
}

/** A condition of CRDs on API servers that do not call conversion webhooks. */
const conversionCalled = "ConversionWebhookCalled";

/** The definition with what the API server says about the conversion webhook of its CRD, which is the definition's own. */
export function withConversionNotice(xrd: KubeObject, crd: KubeObject, deps: DefinitionDeps): KubeObject {
  const { status, reason, message = "" } = conditionOf(conditionsOf(crd), conversionCalled);
  if (status === "False") return withCondition(xrd, { type: conversionCalled, status, reason, message }, deps);
  const others = conditionsOf(xrd).filter(({ type }) => type !== conversionCalled);
  return others.length === conditionsOf(xrd).length ? xrd : withConditions(xrd, others);
}

/** The definition with another condition. */
export function withState(xrd: KubeObject, state: ConditionText, deps: DefinitionDeps): KubeObject {
  return withCondition(xrd, state, deps);
}

function withoutFailure(xrd: KubeObject, side: DefinitionSide, deps: DefinitionDeps): KubeObject {
  return syncedOf(xrd).reason === side.failure ? withCondition(xrd, reconcileSuccess, deps) : xrd;
}

/**
 * The definition with the failure of a side in its Synced condition, which it has only since something failed. When both
 * sides fail, the composite side's is shown: without composite resources there is no use for claims.
 */
export function withFailure(xrd: KubeObject, side: DefinitionSide, message: string, deps: DefinitionDeps): KubeObject {
  if (side === claimSide && syncedOf(xrd).reason === compositeSide.failure) return xrd;
  return withCondition(xrd, { type: "Synced", status: "False", reason: side.failure, message }, deps);
}

/** Stores the status of a definition unless it is what is stored already. */
export async function writeStatus(
  deps: DefinitionDeps,
  before: KubeObject,
  after: KubeObject,
  signal: AbortSignal,
): Promise<KubeObject> {
  const [had, has] = [before["status"] ?? null, after["status"] ?? null] as readonly [JsonValue, JsonValue];
  if (jsonEqual(had, has)) return before;
  return deps.client.update(after, { subresource: "status", fieldManager: fieldManagers.update, signal });
}
