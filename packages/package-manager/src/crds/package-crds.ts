// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from "@purlin/kube-client";
import { deploymentRuntimeConfigCrd } from "./deployment-runtime-config.ts";
import { imageConfigCrd } from "./image-config.ts";
import { lockCrd } from "./lock.ts";
import { packageRevisionCrd } from "./package-revisions.ts";
import { packageCrd } from "./packages.ts";

/** The CRDs of Function and FunctionRevision: all that composition needs of packages. */
export function functionCrds(): readonly KubeObject[] {
  return [packageCrd("Function"), packageRevisionCrd("Function")];
}

/** The CRDs of every kind of the group of packages. */
export function packageCrds(): readonly KubeObject[] {
  return [
    ...functionCrds(),
    packageCrd("Provider"),
    packageRevisionCrd("Provider"),
    packageCrd("Configuration"),
    packageRevisionCrd("Configuration"),
    lockCrd(),
    imageConfigCrd(),
    deploymentRuntimeConfigCrd(),
  ];
}
