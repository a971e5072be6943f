// SPDX-License-Identifier: Apache-2.0
import { randomUUID } from "node:crypto";
import { awaited, inTurns } from "@purlin/base";
import { forbidden } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { toTypedForm } from "@purlin/kube-objects/typed";
import type { AdmissionWebhook } from "../admission/admission-webhook.ts";
import { StoredAdmission } from "../admission/configured-admission.ts";
import { type ExpressionDeps, expressionValues } from "../admission/expression-values.ts";
import { compileConditions, conditionsHold, webhookScope } from "../admission/match-rules.ts";
import type { MutatingPolicyDeps } from "../admission/mutating-policies.ts";
import type { DispatchDeps } from "../admission/webhook-dispatch.ts";
import type { Authorizer } from "../auth/authorizer.ts";
import type { AdmissionMetrics } from "../metrics/admission-metrics.ts";
import { metaOf, withMeta } from "../objects/object-members.ts";
import { apiVersionOf, type Catalog, type ResourceType } from "../registry/registry.ts";
import { decodedObject } from "../rest/decode-object.ts";
import type { Store } from "../store/store.ts";
import { scaleApplyType } from "../strategy/apply-versions.ts";
import type { ObjectStrategy } from "../strategy/object-strategy.ts";
import type { WebhookClient } from "../webhooks/webhook-client.ts";

interface StoredAdmissionDeps {
  readonly store: Store<JsonObject>;
  readonly catalog: () => Catalog;
  readonly authorizer: Authorizer;
  readonly strategyOf: (type: ResourceType) => ObjectStrategy;
  readonly isStarted: () => boolean;
  /** Names of the admission plugins that run. */
  readonly plugins: readonly string[];
  readonly client: WebhookClient;
  readonly metrics: AdmissionMetrics;
}

/** Admission by the policies and webhooks in the store of a server. */
export function storedAdmission({ strategyOf, ...deps }: StoredAdmissionDeps): StoredAdmission {
  return new StoredAdmission({
    ...deps,
    ...objectForms(strategyOf),
    newUid: randomUUID,
    conditionsHold: webhookConditions(deps),
    *served(objects, type) {
      const { storage } = strategyOf(type);
      if (storage.conversion !== undefined) yield* awaited(storage.conversion.servingAll(objects));
      return objects.map((object) => storage.toServed(object));
    },
  });
}

/** Converts and decodes the objects that webhooks and policies see and change. */
function objectForms(
  strategyOf: (type: ResourceType) => ObjectStrategy,
): Pick<MutatingPolicyDeps, "convert" | "decode" | "applyType"> {
  return {
    applyType: (object, type) => {
      if (object["kind"] === type.kind) return strategyOf(type).storage.applyType();
      if (object["kind"] === "Scale") return scaleApplyType();
      throw new Error(`${String(object["kind"])} objects cannot be merged`);
    },
    convert: async (object, from, to) => {
      // An object of a subresource with a kind of its own is the same in every version.
      if (object["kind"] !== from.kind) return object;
      const { resourceVersion } = metaOf(object);
      const { conversion } = strategyOf(from).storage;
      if (conversion !== undefined) return conversion.convert(object, apiVersionOf(to));
      if (from.custom) return { ...object, apiVersion: apiVersionOf(to) };
      const stored = strategyOf(from).storage.toStored(object);
      const shown = strategyOf(to).storage.toServed(stored);
      return withMeta({ ...shown, apiVersion: apiVersionOf(to), kind: to.kind }, { resourceVersion });
    },
    *decode(object, type) {
      if (object["kind"] !== type.kind) return toTypedForm(object).object;
      return (yield* decodedObject(strategyOf(type), object)).object;
    },
  };
}

interface WebhookConditionDeps extends ExpressionDeps {
  readonly metrics: AdmissionMetrics;
}

/** The check of the match conditions of webhooks. Conditions are compiled when they are first needed. */
function webhookConditions(deps: WebhookConditionDeps): DispatchDeps["conditionsHold"] {
  const compiled = new WeakMap<AdmissionWebhook, ReturnType<typeof compileConditions>>();
  return async (hook, write, type) => {
    if (hook.matchConditions.length === 0) return true;
    const conditions = compiled.get(hook) ?? compileConditions(hook.matchConditions, webhookScope);
    compiled.set(hook, conditions);
    const values = { ...expressionValues(write, deps), namespaceObject: null };
    const labels = { name: hook.name, kind: "webhook", type, operation: write.attributes.operation } as const;
    const holds = await inTurns(conditionsHold(conditions, values, deps.metrics.conditions(labels)));
    if (holds === true) return true;
    if (holds === false || hook.ignoresFailure) {
      deps.metrics.excluded({ ...labels, type: type === "validating" ? "validate" : type });
      return false;
    }
    throw forbidden(write.attributes.type, write.attributes.name, holds.error);
  };
}
