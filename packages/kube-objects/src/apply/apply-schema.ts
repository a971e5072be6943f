// SPDX-License-Identifier: Apache-2.0
// From an OpenAPI v3 schema to the types server-side apply works with. Types are made when first needed, because the
// built-in schemas are large and some contain themselves.
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from "../json/json-value.ts";
import {
  type ApplyType,
  createListType,
  deduced,
  type FieldType,
  type ListType,
  type MapType,
  type ScalarKind,
  untypedAtomic,
} from "./apply-type.ts";

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";
const reference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${meta}.${name}` });
const text: JsonObject = { type: "string" };
const requiredText: JsonObject = { type: "string", default: "" };
const texts: JsonObject = { type: "object", additionalProperties: text };
const integer: JsonObject = { type: "integer", format: "int64" };
const time: JsonObject = { type: "string", format: "date-time" };
const flag: JsonObject = { type: "boolean" };

/** The components behind metadata, by name: custom resources get them without loading the built-in schemas. */
export const objectMetaComponents: Readonly<Record<string, JsonObject>> = {
  [`${meta}.ObjectMeta`]: {
    type: "object",
    properties: {
      annotations: texts,
      creationTimestamp: time,
      deletionGracePeriodSeconds: integer,
      deletionTimestamp: time,
      finalizers: { type: "array", items: text, "x-kubernetes-list-type": "set" },
      generateName: text,
      generation: integer,
      labels: texts,
      managedFields: { type: "array", items: reference("ManagedFieldsEntry"), "x-kubernetes-list-type": "atomic" },
      name: text,
      namespace: text,
      ownerReferences: {
        type: "array",
        items: reference("OwnerReference"),
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["uid"],
      },
      resourceVersion: text,
      selfLink: text,
      uid: text,
    },
  },
  [`${meta}.OwnerReference`]: {
    type: "object",
    "x-kubernetes-map-type": "atomic",
    properties: {
      apiVersion: requiredText,
      blockOwnerDeletion: flag,
      controller: flag,
      kind: requiredText,
      name: requiredText,
      uid: requiredText,
    },
  },
  [`${meta}.ManagedFieldsEntry`]: {
    type: "object",
    properties: {
      apiVersion: text,
      fieldsType: text,
      fieldsV1: { type: "object" },
      manager: text,
      operation: text,
      subresource: text,
      time,
    },
  },
};

/** The properties with those every object has, which win. */
function withObjectFields(properties: JsonObject): JsonObject {
  return { ...properties, apiVersion: text, kind: text, metadata: reference("ObjectMeta") };
}

/** What {@link applyTypeOf} needs besides a schema. */
interface ApplyTypeOptions {
  /** The component a `$ref` names by the last part of its path. */
  readonly component?: (name: string) => JsonObject | undefined;
  /** Whether undeclared fields are kept everywhere, as in custom resources of old. */
  readonly preserveUnknownFields?: boolean;
}

interface Context {
  readonly component: (name: string) => JsonObject | undefined;
  readonly preserveEverywhere: boolean;
  readonly components: Map<string, ApplyType>;
}

/** The apply type of a schema. */
export function applyTypeOf(schema: JsonObject, options: ApplyTypeOptions = {}): ApplyType {
  const context: Context = {
    component: options.component ?? (() => undefined),
    preserveEverywhere: options.preserveUnknownFields ?? false,
    components: new Map(),
  };
  return referenced(context, schema, context.preserveEverywhere);
}

/** The apply type of a custom resource from the schema of one version of its definition; without a schema, anything. */
export function customResourceType(schema: JsonObject | undefined, options: ApplyTypeOptions = {}): ApplyType {
  if (!schema) return deduced;
  const properties = ownValue(schema, "properties");
  const declared = withObjectFields(isJsonObject(properties) ? properties : {});
  return applyTypeOf({ ...schema, properties: declared }, options);
}

// A reference, alone or as the only member of an allOf, stands for its component; fields around it may override how its
// entries relate.
function referenced(context: Context, schema: JsonObject, preserve: boolean): ApplyType {
  const reference = referenceOf(schema);
  if (reference === undefined) return inline(context, schema, preserve);
  const name = reference.slice(reference.lastIndexOf("/") + 1);
  const relation = ownValue(schema, "x-kubernetes-map-type");
  return componentType(context, name, typeof relation === "string" ? relation : undefined);
}

function referenceOf(schema: JsonObject): string | undefined {
  const own = ownValue(schema, "$ref");
  if (typeof own === "string") return own;
  const all = ownValue(schema, "allOf");
  const only = Array.isArray(all) && all.length === 1 ? all[0] : undefined;
  const inner = isJsonObject(only) ? ownValue(only, "$ref") : undefined;
  return typeof inner === "string" ? inner : undefined;
}

const quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const rawExtension = "io.k8s.apimachinery.pkg.runtime.RawExtension";

function componentType(context: Context, name: string, relation: string | undefined): ApplyType {
  const key = relation === undefined ? name : `${name} ${relation}`;
  const known = context.components.get(key);
  if (known) return known;
  const type =
    relation === undefined ? plainComponent(context, name) : related(componentType(context, name, undefined), relation);
  context.components.set(key, type);
  return type;
}

function plainComponent(context: Context, name: string): ApplyType {
  if (name === quantity) return { scalar: "untyped" };
  if (name === rawExtension) return untypedAtomic;
  const schema = context.component(name) ?? objectMetaComponents[name];
  if (!schema) throw new Error(`schema error: no type found matching: ${name}`);
  return inline(context, schema, context.preserveEverywhere);
}

function related(type: ApplyType, relation: string): ApplyType {
  if (!type.map) return type;
  return { ...type, map: withAtomic(type.map, relation === "atomic") };
}

function withAtomic(map: MapType, atomic: boolean): MapType {
  return {
    atomic,
    freeForm: map.freeForm,
    field: map.field,
    get element() {
      return map.element;
    },
  };
}

function inline(context: Context, schema: JsonObject, inherited: boolean): ApplyType {
  const preserve = inherited || ownValue(schema, "x-kubernetes-preserve-unknown-fields") === true;
  const type = ownValue(schema, "type");
  switch (type) {
    case "object":
      return { map: mapType(context, schema, preserve) };
    case "array":
      return { list: listType(context, schema, preserve) };
    case "integer":
    case "number":
      return { scalar: "numeric" };
    case "boolean":
      return { scalar: "boolean" };
    case "string":
      return { scalar: stringKind(ownValue(schema, "format")) };
    default:
      // No type means any type, int-or-string included.
      return {
        scalar: "untyped",
        list: listType(context, schema, preserve),
        map: mapType(context, schema, preserve),
      };
  }
}

// Times and the like have formats of their own in which equal values may differ as text.
function stringKind(format: JsonValue | undefined): ScalarKind {
  return format === undefined || format === "" || format === "byte" ? "string" : "untyped";
}

function listType(context: Context, schema: JsonObject, preserve: boolean): ListType {
  const { atomic, keys } = listRelation(schema);
  const items = ownValue(schema, "items");
  return createListType(atomic, keys, () =>
    isJsonObject(items) ? referenced(context, items, preserve) : untypedAtomic,
  );
}

interface ListRelation {
  readonly atomic: boolean;
  readonly keys: readonly string[];
}

const atomicList: ListRelation = { atomic: true, keys: [] };

// The older patch extensions count where the newer list type is absent.
function listRelation(schema: JsonObject): ListRelation {
  const listKind = ownValue(schema, "x-kubernetes-list-type");
  if (listKind === "set") return { atomic: false, keys: [] };
  if (listKind === "map") return { atomic: false, keys: strings(ownValue(schema, "x-kubernetes-list-map-keys")) };
  if (listKind !== undefined) return atomicList;
  const strategy = ownValue(schema, "x-kubernetes-patch-strategy");
  if (strategy !== "merge" && strategy !== "merge,retainKeys") return atomicList;
  const key = ownValue(schema, "x-kubernetes-patch-merge-key");
  return { atomic: false, keys: typeof key === "string" ? [key] : [] };
}

function strings(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}

function mapType(context: Context, schema: JsonObject, preserve: boolean): MapType {
  const declared = declaredProperties(schema);
  const hasFields = Object.keys(declared).length > 0;
  const element = elementType(context, schema, { open: preserve || !hasFields, preserve });
  const fields = new Map<string, FieldType | undefined>();
  return {
    atomic: ownValue(schema, "x-kubernetes-map-type") === "atomic",
    freeForm: !hasFields && element.free,
    field(name) {
      const known = fields.get(name);
      if (known !== undefined || !Object.hasOwn(declared, name)) return known;
      const field = fieldType(context, declared[name] ?? null, preserve);
      fields.set(name, field);
      return field;
    },
    get element() {
      return element.type();
    },
  };
}

// An embedded resource has the fields of every object, whether its schema names them or not.
function declaredProperties(schema: JsonObject): JsonObject {
  const properties = ownValue(schema, "properties");
  const declared: JsonObject = isJsonObject(properties) ? properties : {};
  return ownValue(schema, "x-kubernetes-embedded-resource") === true ? withObjectFields(declared) : declared;
}

function fieldType(context: Context, schema: JsonValue, preserve: boolean): FieldType {
  if (!isJsonObject(schema)) return { type: deduced };
  const fallback = ownValue(schema, "default");
  const type = referenced(context, schema, preserve);
  return fallback === undefined || fallback === null ? { type } : { type, default: fallback };
}

interface ElementType {
  readonly type: () => ApplyType | undefined;
  /** Whether elements are of any type, so that there is nothing to reconcile. */
  readonly free: boolean;
}

const freeElement: ElementType = { type: () => deduced, free: true };

interface Openness {
  /** Whether undeclared keys are allowed where the schema does not say. */
  readonly open: boolean;
  readonly preserve: boolean;
}

function elementType(context: Context, schema: JsonObject, { open, preserve }: Openness): ElementType {
  const additional = ownValue(schema, "additionalProperties");
  if (additional === undefined || additional === null)
    return open ? freeElement : { type: () => undefined, free: false };
  if (additional === true) return freeElement;
  if (!isJsonObject(additional)) return { type: () => undefined, free: false };
  let known: ApplyType | undefined;
  const type = (): ApplyType => {
    known ??= referenced(context, additional, preserve);
    return known;
  };
  return { type, free: referenceOf(additional) === undefined && isUntypedScalar(additional) };
}

// An inline untyped scalar, or no type at all, counts as free-form when the reference reconciles schemas.
function isUntypedScalar(schema: JsonObject): boolean {
  const type = ownValue(schema, "type");
  if (type === "string") return stringKind(ownValue(schema, "format")) === "untyped";
  return type !== "object" && type !== "array" && type !== "integer" && type !== "number" && type !== "boolean";
}
