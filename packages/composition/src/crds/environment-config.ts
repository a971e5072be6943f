// SPDX-License-Identifier: Apache-2.0

import { ageColumn, createCrd, mapOf } from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import { environmentConfigDocs } from "./docs/composition-docs.ts";
import { apiextensionsGroup, crossplaneCategory } from "./groups.ts";

/** The CRD of EnvironmentConfig. */
export function environmentConfigCrd(): KubeObject {
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
