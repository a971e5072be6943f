// SPDX-License-Identifier: Apache-2.0
// From a definition to the CRDs of its composite resources and claims: pure functions.
import {
  ageColumn,
  type Column,
  choice,
  column,
  conditionColumn,
  bareConditions as conditions,
  crdType,
  defaulted,
  type Fields,
  listOf,
  mapOf,
  bareNameRef as nameRef,
  object,
  text,
  time,
  wideColumn,
} from "@purlin/kube-controller";
import { wrapError } from "@purlin/kube-objects/errors";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import {
  controllerReference,
  type KubeObject,
  memberAt,
  type OwnerReference,
  objectAt,
  textAt,
  textMapAt,
  textsAt,
} from "@purlin/kube-objects/object";
import type { Schema } from "@purlin/kube-objects/schema";
import { kinds } from "../composite-resource/constants.ts";
import type { CompositeSchema } from "../composite-resource/crossplane-fields.ts";
import { checkSchemaShape } from "./check-schema-shape.ts";
import {
  type AddedStatusFields,
  addedStatusFields,
  type CompositeScope,
  checkClaimNames,
  scopeOf,
  versionsOf,
} from "./definition-facts.ts";

const states = [conditionColumn("SYNCED", "Synced"), conditionColumn("READY", "Ready")] as const;

/** The columns of every claim, after those of the author. */
const claimColumns: readonly Column[] = [
  ...states,
  column("CONNECTION-SECRET", ".spec.writeConnectionSecretToRef.name"),
  ageColumn,
];

/** Which of our additions a derived CRD gets. */
export interface DeriveOptions {
  /** Whether the status of composite resources has the function revisions that ran. */
  readonly functionRevisions: boolean;
  /** Names of definitions whose kinds accept any field: those that a test needs and no file has. */
  readonly openDefinitions?: ReadonlySet<string> | undefined;
}

/** The CRDs of a definition: that of its composite resources, and that of its claims if it offers any. */
export function deriveCrds(xrd: KubeObject, options: DeriveOptions): KubeObject[] {
  const composite = deriveCompositeCrd(xrd, options);
  return memberAt(xrd, ["spec", "claimNames"]) === undefined ? [composite] : [composite, deriveClaimCrd(xrd, options)];
}

/** The CRD of a definition's composite resources. Throws an error that names the part of the definition it cannot use. */
export function deriveCompositeCrd(xrd: KubeObject, options: DeriveOptions): KubeObject {
  const scope = scopeOf(xrd);
  const isLegacy = scope === "LegacyCluster";
  const updatePolicy = textAt(xrd, ["spec", "defaultCompositionUpdatePolicy"]);
  const spec = compositeSpecFields({ scope, updatePolicy });
  const statusOf = (version: JsonObject): Fields =>
    compositeStatusFields(isLegacy, addedStatusFields(version, isLegacy, options.functionRevisions));
  const crd = generating(xrd, "Composite Resource", () => ({
    name: xrd.metadata.name ?? "",
    names: namesOf(xrd, "names", "composite"),
    scope: scope === "Namespaced" ? "Namespaced" : "Cluster",
    columns: compositeColumns(isLegacy ? "legacy" : "modern"),
    fieldsOf: (version) => ({ spec, status: statusOf(version) }),
  }));
  return opened(crd, xrd, options);
}

/** The CRD of a definition's claims. Throws an error that names the part of the definition it cannot use. */
export function deriveClaimCrd(xrd: KubeObject, options: Opening = {}): KubeObject {
  const spec = claimSpecFields(textAt(xrd, ["spec", "defaultCompositeDeletePolicy"]));
  const crd = generating(xrd, "Composite Resource Claim", () => {
    checkClaimNames(xrd);
    return {
      name: claimCrdName(xrd),
      names: namesOf(xrd, "claimNames", "claim"),
      scope: "Namespaced",
      columns: claimColumns,
      fieldsOf: () => ({ spec, status: claimStatusFields }),
    };
  });
  return opened(crd, xrd, options);
}

type Opening = Pick<DeriveOptions, "openDefinitions">;

/** With any field, at any place, if the definition is an open one. */
function opened(crd: KubeObject, xrd: KubeObject, { openDefinitions }: Opening): KubeObject {
  if (openDefinitions?.has(xrd.metadata.name ?? "") !== true) return crd;
  const versions = versionsOf(crd).map((version) => {
    const { properties, required: _, ...root } = objectAt(version, ["schema", "openAPIV3Schema"]);
    const { spec, status, ...others } = properties as Record<string, JsonObject>;
    const open = { ...others, spec: { ...spec, ...anything }, status: { ...status, ...anything } };
    return { ...version, schema: { openAPIV3Schema: { ...root, ...anything, properties: open } } };
  });
  return { ...crd, spec: { ...objectAt(crd, ["spec"]), versions } };
}

const anything = { "x-kubernetes-preserve-unknown-fields": true };

/** The name of the CRD of a definition's claims. */
export function claimCrdName(xrd: KubeObject): string {
  return `${textAt(xrd, ["spec", "claimNames", "plural"]) ?? ""}.${textAt(xrd, ["spec", "group"]) ?? ""}`;
}

interface Derived {
  readonly name: string;
  readonly names: JsonObject;
  readonly scope: "Namespaced" | "Cluster";
  readonly columns: readonly Column[];
  readonly fieldsOf: (version: JsonObject) => { readonly spec: Fields; readonly status: Fields };
}

function generating(xrd: KubeObject, what: string, derive: () => Derived): KubeObject {
  try {
    return crdOf(xrd, derive());
  } catch (error) {
    throw wrapError(`cannot generate CRD for "${what}" "${xrd.metadata.name ?? ""}"`, error);
  }
}

function crdOf(xrd: KubeObject, { name, names, scope, columns, fieldsOf }: Derived): KubeObject {
  const labels = { ...xrd.metadata.labels, ...textMapAt(xrd, ["spec", "metadata", "labels"]) };
  const annotations = { ...textMapAt(xrd, ["spec", "metadata", "annotations"]) };
  const conversion = memberAt(xrd, ["spec", "conversion"]);
  return {
    ...crdType,
    metadata: {
      name,
      ...(Object.keys(labels).length > 0 && { labels }),
      ...(Object.keys(annotations).length > 0 && { annotations }),
      ownerReferences: [ownerOf(xrd)],
    },
    spec: {
      group: textAt(xrd, ["spec", "group"]) ?? "",
      names,
      scope,
      ...(conversion !== undefined && { conversion }),
      versions: versionsOf(xrd).map((version, index) => versionOf(version, index, { columns, ...fieldsOf(version) })),
    },
  };
}

/** Definitions are always referred to by the version in which they are stored. */
function ownerOf(xrd: KubeObject): OwnerReference {
  return controllerReference({ ...xrd, ...kinds.definition });
}

function namesOf(xrd: KubeObject, field: string, category: string): JsonObject {
  const names = objectAt(xrd, ["spec", field]);
  return { ...names, categories: [...textsAt(names, ["categories"]), category] };
}

interface VersionParts {
  readonly columns: readonly Column[];
  readonly spec: Fields;
  readonly status: Fields;
}

function versionOf(version: JsonObject, index: number, { columns, spec, status }: VersionParts): JsonObject {
  const { name = "", served = false, referenceable = false, deprecated, deprecationWarning } = version;
  const authored = (version["additionalPrinterColumns"] ?? []) as readonly JsonValue[];
  const scale = memberAt(version, ["subresources", "scale"]);
  return {
    name,
    served,
    storage: referenceable,
    ...(deprecated === true && { deprecated }),
    ...(deprecationWarning !== undefined && { deprecationWarning }),
    schema: { openAPIV3Schema: derivedSchema(version, `spec.versions[${index}].schema`, { spec, status }) },
    subresources: { status: {}, ...(scale !== undefined && { scale }) },
    additionalPrinterColumns: [...authored, ...columns],
  };
}

/** The columns of every composite resource, after those of the author. */
function compositeColumns(schema: CompositeSchema): readonly Column[] {
  const place = schema === "legacy" ? ".spec" : ".spec.crossplane";
  return [
    ...states,
    column("COMPOSITION", `${place}.compositionRef.name`),
    wideColumn("COMPOSITIONREVISION", `${place}.compositionRevisionRef.name`),
    ageColumn,
  ];
}

// Names of composite resources and claims become label values.
const maxNameLength = 63;

const specKeywords = [
  "description",
  "required",
  "properties",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-validations",
  "oneOf",
];
const statusKeywords = ["description", "required", "properties", "x-kubernetes-validations", "oneOf"];
const rootKeywords = ["description", "x-kubernetes-validations"];

/** The schema of a derived kind: the author's spec and status, overlaid with the fields of the control plane. */
function derivedSchema(
  version: JsonObject,
  path: string,
  fields: { readonly spec: Fields; readonly status: Fields },
): Schema {
  const authored = authoredSchema(version, path);
  const properties = {
    apiVersion: text,
    kind: text,
    metadata: { type: "object", properties: { name: { type: "string", maxLength: nameLimit(authored) } } },
    spec: merged(objectAt(authored, ["properties", "spec"]), specKeywords, fields.spec),
    status: merged(objectAt(authored, ["properties", "status"]), statusKeywords, fields.status),
  };
  return { type: "object", required: ["spec"], ...pick(authored, rootKeywords), properties };
}

function authoredSchema(version: JsonObject, path: string): JsonObject {
  const schema = memberAt(version, ["schema"]);
  if (schema === undefined || schema === null) throw new Error(`${path}: custom resource validation cannot be nil`);
  const root = memberAt(version, ["schema", "openAPIV3Schema"]);
  return checkSchemaShape(root, `${path}.openAPIV3Schema`);
}

function nameLimit(authored: JsonObject): number {
  const wanted = memberAt(authored, ["properties", "metadata", "properties", "name", "maxLength"]);
  return typeof wanted === "number" ? Math.min(maxNameLength, wanted) : maxNameLength;
}

function merged(authored: JsonObject, keywords: readonly string[], injected: Fields): Schema {
  const kept = pick(authored, keywords);
  const properties = { ...objectAt(kept, ["properties"]), ...injected } as Fields;
  return { type: "object", ...kept, properties };
}

function pick(schema: JsonObject, keywords: readonly string[]): JsonObject {
  const kept = keywords.flatMap((keyword) => {
    const value = schema[keyword];
    return value === undefined ? [] : [[keyword, value] as const];
  });
  return Object.fromEntries(kept);
}

// The fields the control plane adds to the schemas that authors write.

const selector: Schema = object({ "matchLabels*": mapOf() });

const selection: Fields = {
  compositionRef: nameRef,
  compositionRevisionRef: nameRef,
  compositionRevisionSelector: selector,
  compositionSelector: selector,
};

function policy(values: readonly string[], value: string | undefined): Schema {
  const schema = choice(...values);
  return value === undefined ? schema : defaulted(schema, value);
}

const updatePolicies = ["Automatic", "Manual"];

interface CompositeFields {
  readonly scope: CompositeScope;
  readonly updatePolicy: string | undefined;
}

/** The fields that are added to the spec of a composite resource. */
function compositeSpecFields({ scope, updatePolicy }: CompositeFields): Fields {
  // A namespaced composite resource composes in its own namespace only.
  const namespace = scope === "Namespaced" ? {} : { namespace: text };
  const crossplaneFields = {
    ...selection,
    compositionUpdatePolicy: policy(updatePolicies, updatePolicy),
    resourceRefs: listOf(object({ "apiVersion*": text, "kind*": text, name: text, ...namespace }), "atomic"),
  };
  if (scope === "LegacyCluster") {
    return {
      ...crossplaneFields,
      claimRef: object({ "apiVersion*": text, "kind*": text, "namespace*": text, "name*": text }),
      writeConnectionSecretToRef: object({ "name*": text, "namespace*": text }),
    };
  }
  const description = "Configures how Crossplane will reconcile this composite resource";
  return { crossplane: object(crossplaneFields, { description }) };
}

/** The fields that are added to the spec of a claim. */
function claimSpecFields(deletePolicy: string | undefined): Fields {
  return {
    ...selection,
    compositeDeletePolicy: policy(["Background", "Foreground"], deletePolicy),
    compositionUpdatePolicy: policy(updatePolicies, undefined),
    resourceRef: object({ "apiVersion*": text, "kind*": text, "name*": text }),
    writeConnectionSecretToRef: nameRef,
  };
}

const texts = listOf(text, "set");
const connectionDetails = object({ lastPublishedTime: time });

/** The fields that are added to the status of a claim. `claimConditionTypes` is never written; upstream has it, so schemas are equal. */
const claimStatusFields: Fields = { claimConditionTypes: texts, conditions, connectionDetails };

/** The fields that are added to the status of a composite resource. */
function compositeStatusFields(isLegacy: boolean, added: AddedStatusFields): Fields {
  const ran = listOf(object({ "functionRevision*": text, "step*": text }), { mapBy: "step" });
  return {
    ...(isLegacy ? claimStatusFields : { conditions }),
    ...(added.claimConditions && { claimConditions: texts }),
    ...(added.lastHandledReconcileAt && { lastHandledReconcileAt: text }),
    ...(added.functionRevisions && { crossplane: object({ functionRevisions: ran }) }),
  };
}
