// SPDX-License-Identifier: Apache-2.0

import { ageColumn, choice, conditions, createCrd, listOf, object, text } from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import { lockDocs } from "./docs/lock-docs.ts";
import { packageGroup } from "./package-shapes.ts";

const packageType = choice("Configuration", "Provider", "Function");

/** The CRD of Lock. */
export function lockCrd(): KubeObject {
  const dependency = object({
    apiVersion: text,
    "constraints*": text,
    kind: text,
    "package*": text,
    type: packageType,
  });
  const locked = object({
    apiVersion: text,
    "dependencies*": listOf(dependency),
    kind: text,
    "name*": text,
    "source*": text,
    type: packageType,
    "version*": text,
  });
  return createCrd({
    group: packageGroup,
    kind: "Lock",
    docs: lockDocs,
    plural: "locks",
    versions: [
      {
        name: "v1beta1",
        fields: { packages: listOf(locked), status: object({ conditions }) },
        columns: [ageColumn],
        hasStatus: true,
      },
    ],
  });
}
