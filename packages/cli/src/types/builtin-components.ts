// SPDX-License-Identifier: Apache-2.0
// The built-in kinds and what they are made of, with the group-version to which each part belongs.
import { isJsonArray, isJsonObject, type JsonObject, printJson } from "@purlin/kube-objects/json";
import { builtinOpenAPI } from "@purlin/kube-objects/openapi";

const kindsExtension = "x-kubernetes-group-version-kind";
/** Where the types are that all kinds share. It cannot be a group: those have a dot. */
export const metaApiVersion = "meta/v1";

/** A built-in component, and where its type is. */
export interface BuiltinComponent {
  readonly name: string;
  readonly schema: JsonObject;
  readonly apiVersion: string;
  /** Undefined for what is only part of a kind. */
  readonly kind: string | undefined;
  readonly typeName: string;
}

/** The component of metadata. */
export const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
/** Kinds that are answers of a server or parts of requests: no function composes them. */
const isPassing = (kind: string): boolean =>
  /List$|Review$|^(APIVersions|APIGroup|Status|Scale|TokenRequest)$/.test(kind);

/** The kinds, and every component that they are made of. */
export function builtinComponents(): ReadonlyMap<string, BuiltinComponent> {
  const schemas = allSchemas();
  const groupVersions = groupVersionsOf(schemas);
  const needed = new Map<string, BuiltinComponent>();
  const pending = [...schemas.keys()].filter((name) => isKind(schemas.get(name))).concat(objectMeta);
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    const schema = schemas.get(name);
    if (schema === undefined || needed.has(name)) continue;
    const gvk = isKind(schema) ? gvkOf(schema) : undefined;
    const apiVersion = gvk?.apiVersion ?? groupVersions.get(packageOf(name)) ?? metaApiVersion;
    needed.set(name, { name, schema, apiVersion, kind: gvk?.kind, typeName: name.slice(name.lastIndexOf(".") + 1) });
    for (const [, referred = ""] of printJson(schema).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      pending.push(referred);
    }
  }
  return needed;
}

function allSchemas(): ReadonlyMap<string, JsonObject> {
  const documents = builtinOpenAPI();
  const all = new Map<string, JsonObject>();
  for (const key of documents.keys) {
    for (const [name, schema] of Object.entries(documents.document(key)?.components.schemas ?? {}))
      all.set(name, schema);
  }
  return all;
}

/** The group-version whose kinds a Go package has: parts of kinds are in the module of their kinds. */
function groupVersionsOf(schemas: ReadonlyMap<string, JsonObject>): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [name, schema] of schemas) {
    const gvk = gvkOf(schema);
    if (gvk !== undefined && !packageOf(name).endsWith(".meta.v1")) found.set(packageOf(name), gvk.apiVersion);
  }
  return found;
}

function packageOf(component: string): string {
  return component.slice(0, component.lastIndexOf("."));
}

function isKind(schema: JsonObject | undefined): boolean {
  const gvk = schema && gvkOf(schema);
  return gvk !== undefined && !isPassing(gvk.kind);
}

function gvkOf(schema: JsonObject): { readonly apiVersion: string; readonly kind: string } | undefined {
  const kinds = schema[kindsExtension];
  const [only, ...more] = isJsonArray(kinds) ? kinds : [];
  if (!isJsonObject(only) || more.length > 0) return undefined;
  const { group, version, kind } = only as Readonly<Record<string, string>>;
  return { apiVersion: group ? `${group}/${version}` : `${version}`, kind: `${kind}` };
}
