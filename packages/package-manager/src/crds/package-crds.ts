// SPDX-License-Identifier: Apache-2.0

import {
  ageColumn,
  choice,
  conditions,
  createCrd,
  type FieldTexts,
  type KindDocs,
  listOf,
  mapOf,
  object,
  text,
  under,
} from "@purlin/kube-controller";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Schema } from "@purlin/kube-objects/schema";
import { builtInSchema } from "./built-in-schema.ts";
import { rolloutCrds } from "./function-rollout.ts";
import { imageConfigCrd } from "./image-config.ts";
import { crossplaneCategory, packageGroup } from "./package-shapes.ts";
import { type PackageCrdOptions, packageCrd, packageRevisionCrd } from "./packages.ts";

const dependencyTexts: FieldTexts = {
  apiVersion: "apiVersion of the kind of package.",
  kind: "Kind of package.",
  type: "Kind of package, in the older form.",
  package: "Image of the package, without tag or digest.",
  constraints: "Versions that are accepted, as a semantic version range or a digest.",
};

const lockDocs: KindDocs = {
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

const packageType = choice("Configuration", "Provider", "Function");

const templateTexts = (name: string): FieldTexts => ({
  [`spec.${name}.metadata`]: "Metadata of the object.",
  [`spec.${name}.metadata.name`]: "Name of the object; made from that of the revision if left out.",
  [`spec.${name}.metadata.labels`]: "Labels of the object.",
  [`spec.${name}.metadata.annotations`]: "Annotations of the object.",
});

const metadata: Schema = object({ annotations: mapOf(), labels: mapOf(), name: text });

/** The CRDs of Function and FunctionRevision: all that composition needs of packages. */
export function functionCrds(options: PackageCrdOptions): readonly KubeObject[] {
  const rollouts = options.functionRollouts === true ? rolloutCrds() : [];
  return [packageCrd("Function", options), packageRevisionCrd("Function"), ...rollouts];
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

/** The CRD of DeploymentRuntimeConfig. */
function deploymentRuntimeConfigCrd(): KubeObject {
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

/** The texts of a part that is Kubernetes' own: each field says where `kubectl explain` describes it. */
function builtInTexts(schema: JsonObject, at: string, there: string): FieldTexts {
  const inner = [schema["items"], schema["additionalProperties"]].filter((one) => isJsonObject(one));
  const properties = isJsonObject(schema["properties"]) ? Object.entries(schema["properties"]) : [];
  return Object.assign(
    {},
    ...inner.map((one) => builtInTexts(one, at, there)),
    ...properties.map(([name, field]) => ({
      [`${at}.${name}`]: `As in a Deployment: see kubectl explain ${there}.${name}`,
      ...(isJsonObject(field) ? builtInTexts(field, `${at}.${name}`, `${there}.${name}`) : {}),
    })),
  ) as FieldTexts;
}

function runtimeConfigDocs(deploymentSpec: JsonObject): KindDocs {
  return {
    about:
      "A DeploymentRuntimeConfig changes the Deployment, Service and ServiceAccount that run a package. A package uses the one " +
      "in its runtimeConfigRef.",
    fields: {
      ...templateTexts("deploymentTemplate"),
      ...templateTexts("serviceTemplate"),
      ...templateTexts("serviceAccountTemplate"),
      "spec.deploymentTemplate": "What the Deployment has in addition to what the control plane sets.",
      "spec.deploymentTemplate.spec":
        "Spec of the Deployment. The container of the package is named package-runtime; others are added beside it.",
      ...builtInTexts(deploymentSpec, "spec.deploymentTemplate.spec", "deployment.spec"),
      "spec.serviceTemplate": "What the Service has in addition to what the control plane sets.",
      "spec.serviceAccountTemplate": "What the ServiceAccount has in addition to what the control plane sets.",
    },
  };
}

/** The CRD of Lock. */
function lockCrd(): KubeObject {
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
