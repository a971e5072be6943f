// SPDX-License-Identifier: Apache-2.0
// The fields the control plane adds to the schemas that authors write.
import {
  choice,
  bareConditions as conditions,
  defaulted,
  type Fields,
  listOf,
  mapOf,
  bareNameRef as nameRef,
  object,
  text,
  time,
} from "@purlin/kube-controller";
import type { Schema } from "@purlin/kube-objects/schema";
import type { AddedStatusFields, CompositeScope } from "./definition-facts.ts";

const selector: Schema = object({ "matchLabels*": mapOf() });

const selection: Fields = {
  compositionRef: nameRef,
  compositionRevisionRef: nameRef,
  compositionRevisionSelector: selector,
  compositionSelector: selector,
};

function policy(values: readonly string[], value: string | undefined): Schema {
  const schema = choice(...values);
  return value === undefined ? schema : defaulted(schema, value);
}

const updatePolicies = ["Automatic", "Manual"];

interface CompositeFields {
  readonly scope: CompositeScope;
  readonly updatePolicy: string | undefined;
}

/** The fields that are added to the spec of a composite resource. */
export function compositeSpecFields({ scope, updatePolicy }: CompositeFields): Fields {
  // A namespaced composite resource composes in its own namespace only.
  const namespace = scope === "Namespaced" ? {} : { namespace: text };
  const crossplaneFields = {
    ...selection,
    compositionUpdatePolicy: policy(updatePolicies, updatePolicy),
    resourceRefs: listOf(object({ "apiVersion*": text, "kind*": text, name: text, ...namespace }), "atomic"),
  };
  if (scope === "LegacyCluster") {
    return {
      ...crossplaneFields,
      claimRef: object({ "apiVersion*": text, "kind*": text, "namespace*": text, "name*": text }),
      writeConnectionSecretToRef: object({ "name*": text, "namespace*": text }),
    };
  }
  const description = "Configures how Crossplane will reconcile this composite resource";
  return { crossplane: object(crossplaneFields, { description }) };
}

/** The fields that are added to the spec of a claim. */
export function claimSpecFields(deletePolicy: string | undefined): Fields {
  return {
    ...selection,
    compositeDeletePolicy: policy(["Background", "Foreground"], deletePolicy),
    compositionUpdatePolicy: policy(updatePolicies, undefined),
    resourceRef: object({ "apiVersion*": text, "kind*": text, "name*": text }),
    writeConnectionSecretToRef: nameRef,
  };
}

const texts = listOf(text, "set");
const connectionDetails = object({ lastPublishedTime: time });

/** The fields that are added to the status of a claim. `claimConditionTypes` is never written; upstream has it, so schemas are equal. */
export const claimStatusFields: Fields = { claimConditionTypes: texts, conditions, connectionDetails };

/** The fields that are added to the status of a composite resource. */
export function compositeStatusFields(isLegacy: boolean, added: AddedStatusFields): Fields {
  const ran = listOf(object({ "functionRevision*": text, "step*": text }), { mapBy: "step" });
  return {
    ...(isLegacy ? claimStatusFields : { conditions }),
    ...(added.claimConditions && { claimConditions: texts }),
    ...(added.lastHandledReconcileAt && { lastHandledReconcileAt: text }),
    ...(added.functionRevisions && { crossplane: object({ functionRevisions: ran }) }),
  };
}
