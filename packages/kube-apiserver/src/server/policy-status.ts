// SPDX-License-Identifier: Apache-2.0
// Writes into the status of each ValidatingAdmissionPolicy what the type check of its expressions found.
import type { JsonObject } from "@purlin/kube-objects/json";
import { type GroupVersionKind, numberAt, stringAt } from "@purlin/kube-objects/object";
import {
  builtinSchema,
  crdToOpenAPI,
  findSchema,
  inlineReferences,
  isOpenAPIError,
  openAPIPathKey,
} from "@purlin/kube-objects/openapi";
import type { Schema } from "@purlin/kube-objects/schema";
import { expressionWarnings } from "../admission/policy-type-check.ts";
import { metaOf } from "../objects/object-meta.ts";
import type { Catalog } from "../registry/registry.ts";
import type { Store } from "../store/store.ts";
import type { InternalClient } from "./internal-client.ts";
import { StoreFollower } from "./store-follower.ts";

const prefix = "/admissionregistration.k8s.io/validatingadmissionpolicies/";
const path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";

/** The ServiceAccount of the controller. */
export const policyStatusController = "validatingadmissionpolicy-status-controller";
const fieldManager = "validatingadmissionpolicy-status";

interface PolicyStatusDeps {
  readonly store: Store<JsonObject>;
  readonly client: InternalClient;
  readonly catalog: () => Catalog;
  readonly crds: () => readonly JsonObject[];
  readonly onError: (error: unknown) => void;
}

/** Checks each generation of a policy once: kinds that are defined later do not change the status, as in the reference. */
export function createPolicyStatus({ store, client, catalog, crds, onError }: PolicyStatusDeps): StoreFollower {
  return new StoreFollower({
    store,
    prefix,
    onError,
    reconcile: async (key) => {
      const policy = store.get(key)?.value;
      if (policy === undefined) return;
      const { name = "", generation = 0 } = metaOf(policy);
      if (generation <= numberAt(policy, ["status", "observedGeneration"])) return;
      const schemaOf = (kind: GroupVersionKind): Schema | undefined => servedSchema(kind, crds());
      const warnings = expressionWarnings(policy, { catalog: catalog(), schemaOf });
      await client.send("PATCH", `${path}/${encodeURIComponent(name)}/status`, {
        contentType: "application/apply-patch+yaml",
        query: { fieldManager, force: "true" },
        body: {
          apiVersion: "admissionregistration.k8s.io/v1",
          kind: "ValidatingAdmissionPolicy",
          metadata: { name },
          status: {
            observedGeneration: generation,
            typeChecking: warnings.length === 0 ? {} : { expressionWarnings: warnings },
          },
        },
      });
    },
  });
}

/** A kind without a usable schema is left out of the check. */
function servedSchema(kind: GroupVersionKind, crds: readonly JsonObject[]): Schema | undefined {
  try {
    return builtinSchema(kind) ?? customSchema(kind, crds);
  } catch (error) {
    if (isOpenAPIError(error)) return undefined;
    throw error;
  }
}

function customSchema(kind: GroupVersionKind, crds: readonly JsonObject[]): Schema | undefined {
  const crd = crds.find(
    (one) => stringAt(one, ["spec", "group"]) === kind.group && stringAt(one, ["spec", "names", "kind"]) === kind.kind,
  );
  const document = crd && crdToOpenAPI(crd).get(openAPIPathKey(kind));
  const component = document && findSchema(document, kind);
  return document === undefined || component === undefined ? undefined : inlineReferences(document, component);
}
