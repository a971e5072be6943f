// SPDX-License-Identifier: Apache-2.0

import {
  ageColumn,
  checked,
  choice,
  createCrd,
  defaulted,
  flag,
  listOf,
  object,
  type Schema,
  text,
} from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import { imageConfigDocs } from "./docs/image-config-docs.ts";
import { crossplaneCategory, localSecretRef, packageGroup, runtimeConfigRef } from "./package-shapes.ts";

const authority: Schema = object({
  attestations: listOf(object({ "name*": text, "predicateType*": text })),
  key: object({
    "hashAlgorithm*": defaulted(text, "sha256"),
    "secretRef*": object({ "key*": text, "name*": text }),
  }),
  keyless: object({
    "identities*": listOf(object({ issuer: text, issuerRegExp: text, subject: text, subjectRegExp: text })),
    insecureIgnoreSCT: flag,
  }),
  "name*": text,
});

const spec: Schema = object({
  "matchImages*": checked(listOf(object({ "prefix*": text, type: defaulted(choice("Prefix"), "Prefix") })), {
    "size(self) > 0": "matchImages should have at least one element.",
  }),
  registry: object({ authentication: object({ "pullSecretRef*": localSecretRef }) }),
  rewriteImage: object({ "prefix*": text }),
  runtime: object({ configRef: runtimeConfigRef }),
  verification: object({
    cosign: object({ "authorities*": listOf(authority) }),
    "provider*": choice("Cosign"),
  }),
});

/** The CRD of ImageConfig. */
export function imageConfigCrd(): KubeObject {
  return createCrd({
    group: packageGroup,
    kind: "ImageConfig",
    docs: imageConfigDocs,
    plural: "imageconfigs",
    categories: [crossplaneCategory],
    versions: [{ name: "v1beta1", fields: { spec }, columns: [ageColumn], hasStatus: false }],
  });
}
