// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from "@purlin/kube-objects/object";
import { deploymentRuntimeConfigCrd } from "./deployment-runtime-config.ts";
import { imageConfigCrd } from "./image-config.ts";
import { lockCrd } from "./lock.ts";
import { packageRevisionCrd } from "./package-revisions.ts";
import { type PackageCrdOptions, packageCrd } from "./packages.ts";

/** The CRDs of Function and FunctionRevision: all that composition needs of packages. */
export function functionCrds(options: PackageCrdOptions): readonly KubeObject[] {
  return [packageCrd("Function", options), packageRevisionCrd("Function")];
}

/** The CRDs of every kind of the group of packages. */
export function packageCrds(options: PackageCrdOptions): readonly KubeObject[] {
  return [
    ...functionCrds(options),
    packageCrd("Provider", options),
    packageRevisionCrd("Provider"),
    packageCrd("Configuration", options),
    packageRevisionCrd("Configuration"),
    lockCrd(),
    imageConfigCrd(),
    deploymentRuntimeConfigCrd(),
  ];
}
