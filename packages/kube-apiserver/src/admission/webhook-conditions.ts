// SPDX-License-Identifier: Apache-2.0
import { forbidden } from "@purlin/kube-objects/errors";
import type { AdmissionMetrics } from "../metrics/admission-metrics.ts";
import type { AdmissionWebhook } from "./admission-webhook.ts";
import { type ExpressionDeps, expressionValues } from "./expression-values.ts";
import { compileConditions, conditionsHold, webhookScope } from "./match-conditions.ts";
import type { DispatchDeps } from "./webhook-dispatch.ts";

interface WebhookConditionDeps extends ExpressionDeps {
  readonly metrics: AdmissionMetrics;
}

/** The check of the match conditions of webhooks. Conditions are compiled when they are first needed. */
export function webhookConditions(deps: WebhookConditionDeps): DispatchDeps["conditionsHold"] {
  const compiled = new WeakMap<AdmissionWebhook, ReturnType<typeof compileConditions>>();
  return (hook, write, type) => {
    if (hook.matchConditions.length === 0) return true;
    const conditions = compiled.get(hook) ?? compileConditions(hook.matchConditions, webhookScope);
    compiled.set(hook, conditions);
    const values = { ...expressionValues(write, deps), namespaceObject: null };
    const labels = { name: hook.name, kind: "webhook", type, operation: write.attributes.operation } as const;
    const holds = conditionsHold(conditions, values, deps.metrics.conditions(labels));
    if (holds === true) return true;
    if (holds === false || hook.ignoresFailure) {
      deps.metrics.excluded({ ...labels, type: type === "validating" ? "validate" : type });
      return false;
    }
    throw forbidden(write.attributes.type, write.attributes.name, holds.error);
  };
}
