// SPDX-License-Identifier: Apache-2.0
import { forbidden } from "@purlin/kube-objects/errors";
import type { ReviewedWrite } from "./admission-review.ts";
import type { AdmissionWebhook } from "./admission-webhook.ts";
import { type ExpressionDeps, expressionValues } from "./expression-values.ts";
import { compileConditions, conditionsHold, webhookScope } from "./match-conditions.ts";

/** The check of the match conditions of webhooks. Conditions are compiled when they are first needed. */
export function webhookConditions(deps: ExpressionDeps): (hook: AdmissionWebhook, write: ReviewedWrite) => boolean {
  const compiled = new WeakMap<AdmissionWebhook, ReturnType<typeof compileConditions>>();
  return (hook, write) => {
    if (hook.matchConditions.length === 0) return true;
    const conditions = compiled.get(hook) ?? compileConditions(hook.matchConditions, webhookScope);
    compiled.set(hook, conditions);
    const values = { ...expressionValues(write, deps), namespaceObject: null };
    const holds = conditionsHold(conditions, values);
    if (typeof holds === "boolean") return holds;
    if (hook.ignoresFailure) return false;
    throw forbidden(write.attributes.type, write.attributes.name, holds.error);
  };
}
