// SPDX-License-Identifier: Apache-2.0

import { ageColumn, createCrd, mapOf, object, type Schema, text } from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import { builtInSchema } from "./built-in-schema.ts";
import { runtimeConfigDocs } from "./docs/runtime-config-docs.ts";
import { crossplaneCategory, packageGroup } from "./package-shapes.ts";

const metadata: Schema = object({ annotations: mapOf(), labels: mapOf(), name: text });

/** The CRD of DeploymentRuntimeConfig. */
export function deploymentRuntimeConfigCrd(): KubeObject {
  const deploymentSpec = builtInSchema("apis/apps/v1", "io.k8s.api.apps.v1.DeploymentSpec");
  const spec = object({
    deploymentTemplate: object({ metadata, spec: deploymentSpec }),
    serviceAccountTemplate: object({ metadata }),
    serviceTemplate: object({ metadata }),
  });
  return createCrd({
    group: packageGroup,
    kind: "DeploymentRuntimeConfig",
    docs: runtimeConfigDocs(deploymentSpec),
    plural: "deploymentruntimeconfigs",
    categories: [crossplaneCategory],
    versions: [{ name: "v1beta1", fields: { spec }, columns: [ageColumn], hasStatus: false }],
  });
}
