// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from "@purlin/kube-objects/object";
import { compositeResourceDefinitionCrd } from "./composite-resource-definition.ts";
import { compositionCrd, compositionRevisionCrd } from "./composition.ts";
import { environmentConfigCrd } from "./environment-config.ts";
import { managedResourceActivationPolicyCrd, managedResourceDefinitionCrd } from "./managed-resources.ts";
import { cronOperationCrd, operationCrd, watchOperationCrd } from "./operations.ts";
import { clusterUsageCrd, legacyUsageCrd, usageCrd } from "./usages.ts";

/** The CRDs that the controllers of this package work on. */
export function compositionCrds(): readonly KubeObject[] {
  return [compositeResourceDefinitionCrd(), compositionCrd(), compositionRevisionCrd(), environmentConfigCrd()];
}

/** The CRDs of kinds that no controller of this package works on: their objects are kept and checked, nothing more. */
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
