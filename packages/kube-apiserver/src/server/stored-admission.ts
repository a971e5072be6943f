// SPDX-License-Identifier: Apache-2.0
import { randomUUID } from "node:crypto";
import { awaited } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import { toTypedForm } from "@purlin/kube-objects/typed";
import { StoredAdmission } from "../admission/configured-admission.ts";
import type { MutatingPolicyDeps } from "../admission/mutating-policies.ts";
import { webhookConditions } from "../admission/webhook-conditions.ts";
import type { Authorizer } from "../auth/authorizer.ts";
import type { AdmissionMetrics } from "../metrics/admission-metrics.ts";
import { metaOf, withMeta } from "../objects/object-meta.ts";
import type { Catalog } from "../registry/registry.ts";
import { apiVersionOf, type ResourceType } from "../registry/resource-type.ts";
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
      const stored = strategyOf(from).storage.toStored(object);
      const shown = strategyOf(to).storage.toServed(stored);
      return withMeta({ ...shown, apiVersion: apiVersionOf(to), kind: to.kind }, { resourceVersion });
    },
    decode: (object, type) =>
      object["kind"] === type.kind ? strategyOf(type).decoder.decode(object).object : toTypedForm(object).object,
  };
}
