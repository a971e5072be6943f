// SPDX-License-Identifier: Apache-2.0

import {
  ageColumn,
  checked,
  choice,
  column,
  conditions,
  createCrd,
  defaulted,
  type Fields,
  immutable,
  integer,
  listOf,
  mapOf,
  object,
  text,
} from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import { compositeResourceDefinitionCrd } from "./composite-resource-definition.ts";
import { apiextensionsGroup, crossplaneCategory } from "./crd-shapes.ts";
import { compositionDocs, compositionRevisionDocs, environmentConfigDocs } from "./docs/composition-docs.ts";
import { managedResourceActivationPolicyCrd, managedResourceDefinitionCrd } from "./managed-resources.ts";
import { cronOperationCrd, operationCrd, watchOperationCrd } from "./operations.ts";
import { compositionStep, revisionStep } from "./step.ts";
import { clusterUsageCrd, legacyUsageCrd, usageCrd } from "./usages.ts";

const commonFields: Fields = {
  "compositeTypeRef*": immutable(object({ "apiVersion*": text, "kind*": text })),
  mode: defaulted(choice("Pipeline"), "Pipeline"),
  writeConnectionSecretsToNamespace: text,
};

const typeColumns = [
  column("XR-KIND", ".spec.compositeTypeRef.kind"),
  column("XR-APIVERSION", ".spec.compositeTypeRef.apiVersion"),
  ageColumn,
] as const;

/** The CRDs that the controllers of this package work on. */
export function compositionCrds(): readonly KubeObject[] {
  return [compositeResourceDefinitionCrd(), compositionCrd(), compositionRevisionCrd(), environmentConfigCrd()];
}

/** The CRDs of Usages, Operations and managed resource definitions. They are installed even while their feature is off. */
export function keptCrds(): readonly KubeObject[] {
  return [
    managedResourceDefinitionCrd(),
    managedResourceActivationPolicyCrd(),
    legacyUsageCrd(),
    usageCrd(),
    clusterUsageCrd(),
    operationCrd(),
    cronOperationCrd(),
    watchOperationCrd(),
  ];
}

/** The CRD of EnvironmentConfig. */
function environmentConfigCrd(): KubeObject {
  const data = mapOf({ "x-kubernetes-preserve-unknown-fields": true });
  return createCrd({
    group: apiextensionsGroup,
    kind: "EnvironmentConfig",
    docs: environmentConfigDocs,
    plural: "environmentconfigs",
    shortNames: ["envcfg"],
    categories: [crossplaneCategory],
    versions: [{ name: "v1beta1", fields: { data }, columns: [ageColumn], hasStatus: false }],
  });
}

/** The CRD of Composition. */
function compositionCrd(): KubeObject {
  const pipeline = listOf(compositionStep, { mapBy: "step" }, { minItems: 1, maxItems: 99 });
  const spec = checked(object({ ...commonFields, pipeline }), {
    "self.mode == 'Pipeline' && has(self.pipeline)": "an array of pipeline steps is required in Pipeline mode",
  });
  return createCrd({
    group: apiextensionsGroup,
    kind: "Composition",
    docs: compositionDocs,
    plural: "compositions",
    shortNames: ["comp"],
    categories: [crossplaneCategory],
    versions: [{ name: "v1", fields: { spec }, columns: typeColumns, hasStatus: false }],
  });
}

/** The CRD of CompositionRevision. */
function compositionRevisionCrd(): KubeObject {
  const pipeline = listOf(revisionStep, { mapBy: "step" });
  const spec = object({ ...commonFields, pipeline, "revision*": integer });
  return createCrd({
    group: apiextensionsGroup,
    kind: "CompositionRevision",
    docs: compositionRevisionDocs,
    plural: "compositionrevisions",
    shortNames: ["comprev"],
    categories: [crossplaneCategory],
    versions: [
      {
        name: "v1",
        fields: { spec, status: object({ conditions }) },
        columns: [column("REVISION", ".spec.revision"), ...typeColumns],
        hasStatus: true,
      },
    ],
  });
}
