// SPDX-License-Identifier: Apache-2.0
import { type FieldTexts, type KindDocs, under } from "@purlin/kube-controller";

const dependencyTexts: FieldTexts = {
  apiVersion: "apiVersion of the kind of package.",
  kind: "Kind of package.",
  type: "Kind of package, in the older form.",
  package: "Image of the package, without tag or digest.",
  constraints: "Versions that are accepted, as a semantic version range or a digest.",
};

export const lockDocs: KindDocs = {
  about:
    "The Lock lists all installed packages and what they depend on. The control plane keeps it; there is one, named lock.",
  fields: {
    packages: "Packages that are installed.",
    "packages.apiVersion": "apiVersion of the kind of package.",
    "packages.kind": "Kind of package.",
    "packages.type": "Kind of package, in the older form.",
    "packages.name": "Name of the package's revision.",
    "packages.source": "Image of the package, without tag or digest.",
    "packages.version": "Tag or digest of the package.",
    "packages.dependencies": "Packages that this one depends on.",
    ...under("packages.dependencies", dependencyTexts),
  },
};
