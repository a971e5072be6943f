// SPDX-License-Identifier: Apache-2.0
// The metadata of packages: files that `purlin xpkg build` reads, and no API server has a schema of.
import type { JsonObject } from "@purlin/kube-objects/json";
import type { CustomKind } from "./custom-module.ts";

const text = (description: string): JsonObject => ({ type: "string", description });

const dependency: JsonObject = {
  type: "object",
  required: ["version"],
  properties: {
    apiVersion: text("apiVersion of the package, such as pkg.crossplane.io/v1."),
    kind: { ...text("Kind of the package."), enum: ["Configuration", "Function", "Provider"] },
    package: text("Registry and repository of the package, without a tag."),
    version: text("Versions that will do, such as >=v1.0.0 <v2.0.0, or a digest."),
    configuration: text("Deprecated: use kind and package."),
    function: text("Deprecated: use kind and package."),
    provider: text("Deprecated: use kind and package."),
  },
};

const crossplane: JsonObject = {
  type: "object",
  description: "What the package needs of its control plane.",
  properties: { version: text("Versions of Crossplane that will do, such as >=v2.0.0.") },
};

const capabilities: JsonObject = {
  type: "array",
  description: "What a Function can be used for: composition, operation.",
  items: { type: "string" },
};

function schemaOf(kind: string): JsonObject {
  const properties = {
    crossplane,
    dependsOn: { type: "array", description: "Packages that are installed with this one.", items: dependency },
    ...(kind === "Configuration" ? {} : { capabilities }),
  };
  return {
    type: "object",
    description: `Says that a package is a ${kind}.`,
    properties: { spec: { type: "object", properties } },
  };
}

/** The kinds of package metadata. */
export const packageMetaKinds: readonly CustomKind[] = ["Configuration", "Function", "Provider"].map((kind) => ({
  ...{ group: "meta.pkg.crossplane.io", version: "v1", kind },
  schema: schemaOf(kind),
}));
