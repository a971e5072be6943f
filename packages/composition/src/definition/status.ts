// SPDX-License-Identifier: Apache-2.0

import { withConditionTexts } from "@purlin/kube-controller";
import {
  type Condition,
  type ConditionText,
  conditionOf,
  conditionsOf,
  type KubeObject,
  memberAt,
  type TypeRef,
  withConditions,
  withMember,
} from "@purlin/kube-objects/object";
import { reconcileSuccess } from "../composite-resource/standard-conditions.ts";
import type { DefinitionContext } from "./deps.ts";
import { claimRole, compositeRole } from "./role.ts";

/** The role in which a definition is reconciled, and the time of its conditions. */
type StatusContext = Pick<DefinitionContext, "deps" | "role">;

/** The definition with another condition. */
export function withState(xrd: KubeObject, text: ConditionText, { deps }: StatusContext): KubeObject {
  return withConditionTexts(xrd, [text], deps.clock);
}

function syncedOf(xrd: KubeObject): Condition {
  return conditionOf(conditionsOf(xrd), "Synced");
}

/** The definition while the controller of a role runs: the kind that it reconciles, and no failure of the role. */
export function withRunning(xrd: KubeObject, type: TypeRef, context: StatusContext): KubeObject {
  const { role } = context;
  const none = { apiVersion: "", kind: "" };
  const { apiVersion, kind } = type;
  const controllers = {
    compositeResourceType: none,
    compositeResourceClaimType: none,
    ...(memberAt(xrd, ["status", "controllers"]) as object | undefined),
    [role.statusField]: { apiVersion, kind },
  };
  const running = withState(withMember(xrd, ["status", "controllers"], controllers), role.running, context);
  return syncedOf(running).reason === role.failure ? withState(running, reconcileSuccess, context) : running;
}

/** A condition of older versions, whose API server did not call conversion webhooks. */
const conversionCalled = "ConversionWebhookCalled";

/** The definition without the condition that its conversion webhook is not called. */
export function withoutConversionNotice(xrd: KubeObject): KubeObject {
  const others = conditionsOf(xrd).filter(({ type }) => type !== conversionCalled);
  return others.length === conditionsOf(xrd).length ? xrd : withConditions(xrd, others);
}

/**
 * The definition with the failure of a role in its Synced condition, which is absent until a first failure. When both
 * roles fail, the failure of the composite role is shown: without composite resources claims are of no use.
 */
export function withFailure(xrd: KubeObject, message: string, context: StatusContext): KubeObject {
  const { role } = context;
  if (role === claimRole && syncedOf(xrd).reason === compositeRole.failure) return xrd;
  return withState(xrd, { type: "Synced", status: "False", reason: role.failure, message }, context);
}
