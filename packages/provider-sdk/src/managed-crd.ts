// SPDX-License-Identifier: Apache-2.0

import {
  ageColumn,
  choice,
  column,
  conditionColumn,
  conditions,
  createCrd,
  defaulted,
  type Fields,
  flag,
  listOf,
  mapOf,
  object,
  text,
} from "@purlin/kube-controller";
import { type KubeObject, parseApiVersion } from "@purlin/kube-objects/object";
import type { Schema } from "@purlin/kube-objects/schema";
import type { ManagedResource } from "./managed-resource.ts";
import type { ReferenceSpec } from "./references.ts";

const actions = choice("Observe", "Create", "Update", "Delete", "LateInitialize", "*");

const policy = object({ resolution: choice("Required", "Optional"), resolve: choice("Always", "IfNotPresent") });

function referenceFields({ field }: ReferenceSpec): Fields {
  return {
    [`${field}Ref`]: object({ "name*": text, namespace: text, policy }),
    [`${field}Selector`]: object({ matchLabels: mapOf(), matchControllerRef: flag, namespace: text, policy }),
  };
}

/** The CRD of a kind of managed resources: its own fields, and those that all managed resources have. */
export function managedResourceCrd(resource: ManagedResource): KubeObject {
  const { type, plural, scope = "Namespaced", forProvider, atProvider, references = [] } = resource;
  const { group, version } = parseApiVersion(type.apiVersion);
  const isCluster = scope === "Cluster";
  const added = Object.assign({}, ...references.map(referenceFields)) as Fields;
  const secretRef = isCluster ? object({ "name*": text, "namespace*": text }) : object({ "name*": text });
  const spec = object({
    "forProvider*": withProperties(forProvider, object(added).properties ?? {}),
    managementPolicies: defaulted(listOf(actions), ["*"]),
    providerConfigRef: object({ "name*": text, kind: text }),
    writeConnectionSecretToRef: secretRef,
    ...(isCluster && { deletionPolicy: defaulted(choice("Orphan", "Delete"), "Delete") }),
  });
  const status = object({ atProvider: atProvider ?? object({}), conditions, lastHandledReconcileAt: text });
  return createCrd({
    group,
    kind: type.kind,
    plural,
    categories: ["crossplane", "managed"],
    isNamespaced: !isCluster,
    versions: [
      {
        name: version,
        fields: { "spec*": spec, status },
        columns: [
          conditionColumn("SYNCED", "Synced"),
          conditionColumn("READY", "Ready"),
          column("EXTERNAL-NAME", ".metadata.annotations.crossplane\\.io/external-name"),
          ageColumn,
        ],
        hasStatus: true,
      },
    ],
  });
}

function withProperties(schema: Schema, properties: Readonly<Record<string, Schema>>): Schema {
  return { ...schema, properties: { ...properties, ...schema.properties } };
}
