// SPDX-License-Identifier: Apache-2.0
import {
  ageColumn,
  choice,
  conditions,
  createCrd,
  type FieldTexts,
  integer,
  type KindDocs,
  listOf,
  mapOf,
  object,
  text,
  under,
} from "@purlin/kube-controller";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { builtinOpenAPI, inlineReferences } from "@purlin/kube-objects/openapi";
import type { Schema } from "@purlin/kube-objects/schema";
import { rolloutCrds } from "./function-rollout.ts";
import { crossplaneCategory, packageGroup } from "./package-shapes.ts";
import { imageConfigCrd, type PackageCrdOptions, packageCrd, packageRevisionCrd } from "./packages.ts";

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

// A part of a built-in kind as part of a custom one: the OpenAPI schema that the API server serves, made structural.

/** The structural schema of a component of a built-in group version, such as `io.k8s.api.apps.v1.DeploymentSpec`. */
export function builtInSchema(documentKey: string, component: string): Schema {
  const document = builtinOpenAPI().document(documentKey);
  if (document === undefined) throw new Error(`there is no built-in document "${documentKey}"`);
  return structural(inlineReferences(document, component));
}

/** What people set in the metadata of a template; the rest is the server's. */
const templateMetadata: Schema = object({
  annotations: mapOf(),
  finalizers: listOf(text),
  labels: mapOf(),
  name: text,
  namespace: text,
});

// What a CRD has no use for: hints for another kind of patch, and values that only the built-in kind's own code knows.
const dropped = new Set([
  "default",
  "enum",
  "format",
  "oneOf",
  "x-kubernetes-patch-merge-key",
  "x-kubernetes-patch-strategy",
  "x-kubernetes-unions",
]);

const numbers = new Set(["integer", "number"]);

function structural(schema: JsonObject): Schema {
  if (Array.isArray(schema["oneOf"]))
    return { ...intOrString, ...(isQuantity(schema) && { pattern: quantityPattern }) };
  if (isObjectMeta(schema)) return templateMetadata;
  const kept = Object.entries(schema).filter(([key]) => !dropped.has(key));
  const { type, format } = schema as Schema;
  return {
    ...Object.fromEntries(kept.map(([key, value]) => [key, part(key, value)])),
    ...(numbers.has(String(type)) && format !== undefined && { format }),
    ...listItems(schema),
  };
}

function part(key: string, value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value;
  if (key === "items" || key === "additionalProperties") return structural(value);
  if (key !== "properties") return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, schema]) => [name, isJsonObject(schema) ? structural(schema) : schema]),
  );
}

const mapKeys = "x-kubernetes-list-map-keys";

/** Items are identified by their keys, so an optional key needs its default. */
function listItems(schema: JsonObject): Schema {
  const { items } = schema;
  const keys = schema[mapKeys];
  if (!isJsonObject(items) || !Array.isArray(keys)) return {};
  const required = (items["required"] ?? []) as readonly JsonValue[];
  const fields = isJsonObject(items["properties"]) ? items["properties"] : {};
  const made = structural(items);
  const properties: Record<string, Schema> = { ...made.properties };
  for (const key of keys as readonly string[]) {
    const [field, to] = [fields[key], properties[key]];
    const value = isJsonObject(field) ? field["default"] : undefined;
    if (value !== undefined && to !== undefined && !required.includes(key)) properties[key] = { ...to, default: value };
  }
  return { items: { ...made, properties } };
}

function isObjectMeta({ properties }: JsonObject): boolean {
  return isJsonObject(properties) && "managedFields" in properties && "ownerReferences" in properties;
}

const intOrString: Schema = {
  anyOf: [{ type: integer["type"] as string }, { type: "string" }],
  "x-kubernetes-int-or-string": true,
};

function isQuantity({ format }: JsonObject): boolean {
  return format !== "int-or-string";
}

const quantityPattern =
  "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$";
