// SPDX-License-Identifier: Apache-2.0
import { type EnumPlace, itemsStep, valuesStep } from "./enums.ts";
import { factsOf } from "./facts.ts";
import { isObject, type Json, type OriginalDocument, referencesIn } from "./original.ts";
import { rootComponents } from "./roots.ts";

/** What the generated file holds; packages/kube-objects/src/openapi/builtin-openapi.ts reads the same shape. */
export interface BuiltinData {
  readonly source: string;
  readonly release: string;
  /** The components each document's operations name; the rest of a document follows from their references. */
  readonly documents: Readonly<Record<string, readonly string[]>>;
  /** Components whose list of kinds also names the group-version of the document they stand in. */
  readonly crossRegistered: readonly string[];
  /** The group-versions such a component lists in the document of a custom resource. */
  readonly clientGroupVersions: readonly string[];
  readonly schemas: Readonly<Record<string, Json>>;
}

/** What the data is made from. */
export interface Originals {
  readonly release: string;
  readonly documents: Readonly<Record<string, OriginalDocument>>;
  readonly enums: readonly EnumPlace[];
  /** Every kind of DeleteOptions, as the OpenAPI v2 document of the module lists them. */
  readonly deleteOptionsKinds: readonly GroupVersionKind[];
}

interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

const kindsKey = "x-kubernetes-group-version-kind";
const metaV1 = "io.k8s.apimachinery.pkg.apis.meta.v1";
const crossRegistered = [`${metaV1}.DeleteOptions`, `${metaV1}.WatchEvent`];

// The server names the kinds of custom resources from the registry of its client library, which lacks these groups.
const unknownToClients = ["admission.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "imagepolicy.k8s.io"];

/** Makes the data of all served documents. Throws when an assumption about the originals does not hold. */
export function buildData(originals: Originals): BuiltinData {
  const schemas = new Map<string, Json>();
  const documents: Record<string, readonly string[]> = {};
  for (const [key, document] of Object.entries(originals.documents)) {
    const roots = rootComponents(document);
    documents[key] = roots;
    for (const [name, schema] of closureOf(document, roots)) addSchema(schemas, { key, name, schema });
  }
  addEnums(schemas, originals.enums);
  const clientKinds = originals.deleteOptionsKinds.filter(({ group }) => !unknownToClients.includes(group));
  return {
    source:
      `OpenAPI v3 documents of k8s.io/kubernetes ${originals.release} (api/openapi-spec/v3), copyright The Kubernetes ` +
      "Authors, licensed under Apache-2.0; reduced to the served kinds and stripped of descriptions",
    release: originals.release,
    documents,
    crossRegistered,
    clientGroupVersions: clientKinds.map(({ group, version }) => (group === "" ? version : `${group}/${version}`)),
    schemas: Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

function* closureOf(document: OriginalDocument, roots: readonly string[]): Iterable<[string, Json]> {
  const seen = new Set(roots);
  for (const name of seen) {
    const schema = document.components?.schemas?.[name];
    if (!schema) throw new Error(`component ${name} is referred to but not defined`);
    yield [name, schema];
    for (const next of referencesIn(schema)) seen.add(next);
  }
}

function addSchema(schemas: Map<string, Json>, entry: { key: string; name: string; schema: Json }): void {
  const facts = crossRegistered.includes(entry.name) ? withoutOwnKind(entry.key, entry.schema) : factsOf(entry.schema);
  const known = schemas.get(entry.name);
  if (known && JSON.stringify(known) !== JSON.stringify(facts)) {
    throw new Error(`component ${entry.name} of ${entry.key} differs from the one in another document`);
  }
  schemas.set(entry.name, facts);
}

function withoutOwnKind(key: string, schema: Json): Json {
  const [, group, version] = key.startsWith("apis/") ? key.split("/") : ["api", "", "v1"];
  const kinds = schema[kindsKey] as GroupVersionKind[];
  const others = kinds.filter((kind) => kind.group !== group || kind.version !== version || group === "");
  if (others.length !== 1 || kinds.length !== (group === "" ? 1 : 2) || others[0]?.version !== "v1") {
    throw new Error(`unexpected ${kindsKey} of a cross-registered component in ${key}: ${JSON.stringify(kinds)}`);
  }
  return { ...factsOf(schema), [kindsKey]: others };
}

function addEnums(schemas: Map<string, Json>, places: readonly EnumPlace[]): void {
  for (const { component, path, values } of places) {
    const schema = schemas.get(component);
    if (schema) schemas.set(component, withEnum(schema, path, values));
  }
}

function withEnum(schema: Json, path: readonly string[], values: readonly string[]): Json {
  const [step, ...rest] = path;
  if (step === undefined) return sorted({ ...schema, enum: values });
  const [keyword, name] =
    step === itemsStep ? ["items"] : step === valuesStep ? ["additionalProperties"] : ["properties", step];
  const target = schema[keyword as string];
  const child = name === undefined || !isObject(target) ? target : target[name];
  if (!isObject(child)) throw new Error(`no schema at ${path.join(" > ")} for the enum ${values.join(", ")}`);
  const changed = withEnum(child, rest, values);
  return { ...schema, [keyword as string]: name === undefined ? changed : { ...(target as Json), [name]: changed } };
}

function sorted(schema: Json): Json {
  return Object.fromEntries(Object.entries(schema).sort(([a], [b]) => (a < b ? -1 : 1)));
}
