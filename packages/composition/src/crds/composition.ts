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
  object,
  text,
} from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import { compositionDocs, compositionRevisionDocs } from "./docs/composition-docs.ts";
import { apiextensionsGroup, crossplaneCategory } from "./groups.ts";
import { compositionStep } from "./step.ts";

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

/** The CRD of Composition. */
export function compositionCrd(): KubeObject {
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
export function compositionRevisionCrd(): KubeObject {
  const pipeline = listOf(compositionStep, { mapBy: "step" });
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
