// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { createErrorBrand } from "@purlin/base";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import {
  controllerOf,
  formatGvk,
  gvkOf,
  type KubeObject,
  keyOf,
  labelOf,
  memberAt,
  textAt,
  withMember,
} from "@purlin/kube-objects/object";
import { applyDefaults, mostDefaultValues } from "@purlin/kube-objects/structural";
import { referencesTo } from "../composite/apply/apply-composed.ts";
import { kinds, labels } from "../composite-resource/constants.ts";
import {
  type CompositeSchema,
  compositionRefOf,
  compositionSelectorOf,
  withCrossplaneFields,
} from "../composite-resource/crossplane-fields.ts";
import { definitionFacts, versionsOf } from "../definition/definition-facts.ts";
import { deriveCompositeCrd } from "../definition/derive-crd.ts";

/** The inputs of a render: the objects that a platform team and its users write. */
export interface RenderInputs {
  /** A composite resource, or a claim if a definition is given. */
  readonly xr: KubeObject;
  readonly composition: KubeObject;
  readonly definition?: KubeObject | undefined;
  /** Observed composed resources. */
  readonly observed?: readonly KubeObject[] | undefined;
}

/** The inputs as the reconciler needs them. */
export interface PreparedInputs {
  readonly xr: KubeObject;
  /** The given XR, with the defaults of its schema. */
  readonly given: KubeObject;
  readonly schema: CompositeSchema;
  readonly claim: KubeObject | undefined;
  readonly definition: KubeObject;
  readonly observed: readonly KubeObject[];
}

/** Checks the inputs against each other. Throws a RenderError that names the input and field at fault. */
export function prepareInputs(inputs: RenderInputs): PreparedInputs {
  const { composition } = inputs;
  const definition = storedDefinition(inputs.definition);
  const schema = schemaOf(definition);
  const { xr: plain, claim } = fromClaim({ ...inputs, definition });
  requireMatch(composition, plain);
  requirePipeline(composition);
  requireSelected(composition, plain, schema);
  const given = definition === undefined ? plain : withSchemaDefaults(plain, definition);
  const xr = withIdentity(given, composition, schema);
  const observed = (inputs.observed ?? []).flatMap((object, index) =>
    isRendered(object) || isSame(object, xr) ? [] : [observedBy(xr, object, index)],
  );
  const referred =
    observed.length === 0 ? xr : withCrossplaneFields(xr, schema, { resourceRefs: referencesTo(observed, xr) });
  return { xr: referred, given, schema, claim, definition: definition ?? unwritten(xr), observed };
}

function schemaOf(definition: KubeObject | undefined): CompositeSchema {
  return definition === undefined ? "modern" : definitionFacts(definition).schema;
}

/** The composite resource that would be created for a claim. */
function fromClaim({ xr, definition }: RenderInputs): {
  readonly xr: KubeObject;
  readonly claim: KubeObject | undefined;
} {
  const { claimType, compositeType } = definition
    ? definitionFacts(definition)
    : { claimType: undefined, compositeType: undefined };
  if (compositeType === undefined || claimType?.kind !== xr.kind || claimType.apiVersion !== xr.apiVersion) {
    return { xr, claim: undefined };
  }
  const { name = "", namespace = "default" } = xr.metadata;
  const claimRef = { apiVersion: xr.apiVersion, kind: xr.kind, namespace, name };
  const claimLabels = { [labels.claimName]: name, [labels.claimNamespace]: namespace };
  const { annotations, labels: own } = xr.metadata;
  const spec = isJsonObject(xr["spec"]) ? xr["spec"] : {};
  const { resourceRef: _ref, compositeDeletePolicy: _policy, writeConnectionSecretToRef: _secret, ...shared } = spec;
  const composite: KubeObject = {
    ...compositeType,
    metadata: { name, labels: { ...own, ...claimLabels }, ...(annotations ? { annotations } : {}) },
    spec: { ...shared, claimRef },
  };
  return { xr: composite, claim: { ...xr, metadata: { ...xr.metadata, namespace } } };
}

function requireMatch(composition: KubeObject, xr: KubeObject): void {
  for (const field of ["apiVersion", "kind"] as const) {
    const wanted = textAt(composition, ["spec", "compositeTypeRef", field]) ?? "";
    if (wanted === xr[field]) continue;
    const text = `composition's compositeTypeRef.${field} (${wanted}) does not match XR's ${field} (${xr[field]})`;
    throw new RenderError(text, "composition", { field: ["spec", "compositeTypeRef", field] });
  }
}

function requirePipeline(composition: KubeObject): void {
  const mode = textAt(composition, ["spec", "mode"]) ?? "Pipeline";
  if (mode === "Pipeline") return;
  const name = composition.metadata.name ?? "";
  const text = `render only supports Composition Function pipelines: Composition "${name}" must use spec.mode: Pipeline`;
  throw new RenderError(text, "composition", { field: ["spec", "mode"] });
}

/** An XR that selects by labels this Composition lacks would never be composed by it, unless it names it. */
function requireSelected(composition: KubeObject, xr: KubeObject, schema: CompositeSchema): void {
  const { name = "" } = composition.metadata;
  if (compositionRefOf(xr, schema) === name) return;
  for (const [label, wanted] of Object.entries(compositionSelectorOf(xr, schema) ?? {})) {
    const value = labelOf(composition, label);
    if (value === wanted) continue;
    const problem =
      value === undefined
        ? `is missing required label "${label}"`
        : `has incorrect value for label "${label}": want "${wanted}", got "${value}"`;
    throw new RenderError(`composition "${name}" ${problem}`, "composition", { field: ["metadata", "labels"] });
  }
}

/** The given Composition is used, whichever the XR would select in a cluster. */
function withIdentity(xr: KubeObject, composition: KubeObject, schema: CompositeSchema): KubeObject {
  const stored = withMember(withMember(xr, ["metadata", "uid"], uidOf(xr)), ["spec"], specOf(xr));
  const undecided = withCrossplaneFields(stored, schema, {
    compositionRef: undefined,
    compositionSelector: undefined,
    compositionRevisionRef: undefined,
    compositionRevisionSelector: undefined,
    compositionUpdatePolicy: undefined,
    resourceRefs: undefined,
  });
  const { name = "" } = composition.metadata;
  return compositionRefOf(xr, schema) === name
    ? withCrossplaneFields(undecided, schema, { compositionRef: { name } })
    : undecided;
}

function specOf(xr: KubeObject): JsonValue {
  return isJsonObject(xr["spec"]) ? xr["spec"] : {};
}

/** The output of an earlier render can be observed; its results and context are not resources. */
function isRendered({ apiVersion }: KubeObject): boolean {
  return apiVersion.startsWith("render.crossplane.io/");
}

/** Whether two objects have the same type, namespace and name. */
export function isSame(object: KubeObject, xr: KubeObject): boolean {
  const sameType = object.apiVersion === xr.apiVersion && object.kind === xr.kind;
  return sameType && jsonEqual({ ...keyOf(object) } as JsonValue, { ...keyOf(xr) } as JsonValue);
}

function observedBy(xr: KubeObject, object: KubeObject, index: number): KubeObject {
  const controller = controllerOf(object);
  const { name = "", namespace } = object.metadata;
  const what = `observed ${object.kind} "${name}"`;
  if (controller !== undefined && controller.uid !== xr.metadata.uid) {
    const text = `${what} is controlled by ${controller.kind} "${controller.name}" (UID ${controller.uid}), not by the XR (UID ${xr.metadata.uid})`;
    throw new RenderError(text, "observed", { field: ["metadata", "ownerReferences"], index });
  }
  const own = xr.metadata.namespace;
  if (own && namespace && namespace !== own) {
    const text = `${what} is in namespace "${namespace}", but the XR and all it composes are in "${own}"`;
    throw new RenderError(text, "observed", { field: ["metadata", "namespace"], index });
  }
  return own ? withMember(object, ["metadata", "namespace"], own) : object;
}

/** An empty definition, for a render without one. */
function unwritten(xr: KubeObject): KubeObject {
  return { ...kinds.definition, metadata: { name: `render.${xr.kind}`.toLowerCase() }, spec: {} };
}

const nilNamespace = Buffer.alloc(16);

/** The UUID (version 5, nil namespace) of a text: the same text, the same UUID. */
export function nameUuid(text: string): string {
  const bytes = createHash("sha1").update(nilNamespace).update(text).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** The uid of an object that was never stored. It is derived from its name, so that names derived from the uid are stable. */
export function uidOf(object: KubeObject): string {
  const { name = "", namespace = "", uid } = object.metadata;
  return uid || nameUuid([formatGvk(gvkOf(object)), namespace, name].join("\0"));
}

// The defaults that an API server applies to a definition and its composite resource.

/** The definition as it would be stored: one of v2 without a scope is namespaced. */
export function storedDefinition(definition: KubeObject | undefined): KubeObject | undefined {
  if (definition === undefined || !definition.apiVersion.endsWith("/v2")) return definition;
  const scope = memberAt(definition, ["spec", "scope"]);
  return scope === undefined ? withMember(definition, ["spec", "scope"], "Namespaced") : definition;
}

/** The composite resource with the defaults of its schema. Throws when the definition does not have its version. */
function withSchemaDefaults(xr: KubeObject, definition: KubeObject): KubeObject {
  const schema = versionSchemaOf(definition, xr.apiVersion);
  const spec = isJsonObject(xr["spec"]) ? xr["spec"] : {};
  const filled = applyDefaults({ ...xr, spec }, schema);
  if (filled === undefined) {
    throw new RenderError(`the defaults of its definition add more than ${mostDefaultValues} values`, "xr", {
      field: ["spec"],
    });
  }
  return filled as KubeObject;
}

function versionSchemaOf(definition: KubeObject, apiVersion: string): JsonObject {
  const version = versionsOf(derivedFrom(definition)).find(({ name }) => apiVersion.endsWith(`/${name}`));
  const schema = version && memberAt(version, ["schema", "openAPIV3Schema"]);
  if (isJsonObject(schema)) return schema;
  const { name = "" } = definition.metadata;
  throw new RenderError(`definition "${name}" has no version of apiVersion ${apiVersion}`, "definition", {
    field: ["spec", "versions"],
  });
}

function derivedFrom(definition: KubeObject): KubeObject {
  try {
    return deriveCompositeCrd(definition, { functionRevisions: false });
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new RenderError(text, "definition", { field: ["spec"] });
  }
}

const brand = createErrorBrand<RenderError>("purlin.dev/composition/RenderError");

/** The input with the error. */
type RenderInput = "xr" | "composition" | "definition" | "observed";

/** An error about an input of a render, with input and field. */
export class RenderError extends Error {
  readonly input: RenderInput;
  /** Where in the object, as a path of members; empty for the object itself. */
  readonly field: readonly string[];
  /** Which of several objects, counted from 0. */
  readonly index: number;

  constructor(
    message: string,
    input: RenderInput,
    { field = [], index = 0 }: { field?: readonly string[]; index?: number } = {},
  ) {
    super(message);
    this.name = "RenderError";
    this.input = input;
    this.field = field;
    this.index = index;
    brand.mark(this);
  }
}

/** Whether the value is a RenderError, of this or another copy of the package. */
export function isRenderError(value: unknown): value is RenderError {
  return brand.has(value);
}
