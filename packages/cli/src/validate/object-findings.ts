// SPDX-License-Identifier: Apache-2.0
import { crossplaneAnnotations } from "@purlin/composition";
import { isNoMatch } from "@purlin/kube-client";
import { findStatusError, isAlreadyExists } from "@purlin/kube-objects/errors";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import type { Schema } from "@purlin/kube-objects/schema";
import { parseFieldPath } from "../files/yaml-position.ts";
import { objectProblems, unknownFields } from "../manifests/apply-problem.ts";
import type { Manifest } from "../manifests/manifest.ts";
import { textOf } from "../user-error.ts";
import type { Finding } from "./finding.ts";
import { lookUp, type ScratchServer } from "./kind-schemas.ts";

/** The annotation of composed resources, by which `purlin render` prints those without a name. */
const { resourceName } = crossplaneAnnotations;
const manager = "purlin-validate";

/** What may be known about an object. */
interface Known {
  /** What it was before. */
  readonly old?: Manifest | undefined;
  /** Of a claim: the kind of its composite resource. */
  readonly composite?: TypeRef | undefined;
}

/** Judges one object as an API server would that has no other objects: schema, unknown fields, CEL rules, metadata. */
export async function objectFindings(
  manifest: Manifest,
  scratch: ScratchServer,
  { old, composite }: Known = {},
): Promise<Finding[]> {
  const { object, findings } = await place(manifest, scratch);
  if (object === undefined) return [...findings];
  const schemas = {
    own: scratch.schemas.of(object),
    composite: composite && scratch.schemas.of(composite),
  };
  const finding = finder(manifest, schemas);
  try {
    const before = old && (await store(old, scratch));
    if (before?.stored === undefined && before !== undefined) return [...findings, ...before.findings];
    await write(object, scratch, { before: before?.stored, fieldValidation: "Strict" });
    return [...findings];
  } catch (error) {
    const unknown = unknownFields(textOf(error));
    if (unknown.length === 0) return [...findings, ...finding.of(await located(object, scratch, error))];
    return [...findings, ...unknown.map(finding.unknownField), ...(await otherFindings(object, scratch, finding))];
  }
}

/** What is wrong beside unknown fields, which hide everything else. */
async function otherFindings(object: KubeObject, scratch: ScratchServer, finding: Finder): Promise<Finding[]> {
  try {
    await write(object, scratch, { fieldValidation: "Ignore" });
    return [];
  } catch (error) {
    return finding.of(await located(object, scratch, error));
  }
}

interface Write {
  /** The stored object to change; a new one is made without it. */
  readonly before?: KubeObject | undefined;
  readonly fieldValidation: "Strict" | "Ignore";
}

async function write(object: KubeObject, { client }: ScratchServer, { before, fieldValidation }: Write): Promise<void> {
  const options = { dryRun: true, fieldValidation };
  try {
    if (before === undefined) await client.create(object, options);
    else await client.update(withVersion(object, before), options);
  } catch (error) {
    // Objects that every server has, such as the namespace default.
    if (!isAlreadyExists(error)) throw error;
    await client.apply(object, { ...options, fieldManager: manager, force: true });
  }
}

const withVersion = (object: KubeObject, { metadata }: KubeObject): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: metadata.resourceVersion ?? "" },
});

interface Stored {
  readonly stored?: KubeObject;
  readonly findings: readonly Finding[];
}

/** Stores what an object was before, for rules about changes; or says why that is impossible. */
async function store(old: Manifest, scratch: ScratchServer): Promise<Stored> {
  const { object, findings } = await place(old, scratch);
  if (object === undefined) return { findings };
  try {
    return { stored: await scratch.client.create(object, { fieldValidation: "Ignore" }), findings: [] };
  } catch (error) {
    return { findings: finder(old, { own: scratch.schemas.of(old.object) }).of(error) };
  }
}

/** Typed kinds answer the first value of a wrong type without its place; server-side apply answers all of them with theirs. */
async function located(object: KubeObject, { client }: ScratchServer, error: unknown): Promise<unknown> {
  if (findStatusError(error)?.status.code !== 400) return error;
  try {
    const name = object.metadata.name ?? "unnamed";
    const named = { ...object, metadata: { ...object.metadata, name } };
    await client.apply(named, { fieldManager: manager, force: true, dryRun: true, fieldValidation: "Ignore" });
    return error;
  } catch (applied) {
    return applied;
  }
}

/** The object as it is sent, and what is wrong with its place; no object if its kind is not known. */
interface Placed {
  readonly object?: KubeObject;
  readonly findings: readonly Finding[];
}

/** In its namespace, with a name if it is one that the control plane names. */
async function place(manifest: Manifest, { client, ensureNamespace, schemas }: ScratchServer): Promise<Placed> {
  const { object } = manifest;
  const { apiVersion, kind } = object;
  try {
    const { namespaced } = await client.mapper.mapping(object);
    const { namespace: given, ...metadata } = object.metadata;
    const findings: Finding[] = [];
    if (!namespaced && given) {
      const text = `metadata.namespace: ${kind} is cluster-scoped: remove the namespace`;
      const path = ["metadata", "namespace"];
      findings.push({ code: "V05", level: "error", type: "schema", manifest, path, text });
    }
    const namespace = namespaced ? (given ?? "default") : undefined;
    if (namespace !== undefined) await ensureNamespace(namespace);
    const isNamed = metadata.name || metadata.generateName || metadata.annotations?.[resourceName] === undefined;
    const name = isNamed ? {} : { generateName: "composed-" };
    return { object: { ...object, metadata: { ...metadata, ...name, ...(namespace && { namespace }) } }, findings };
  } catch (error) {
    if (!isNoMatch(error)) throw error;
    const closest = schemas.closest(object);
    const advice = closest === undefined ? "add its XRD, CRD or package to the paths" : `did you mean ${closest}?`;
    const text = `no schema for ${apiVersion} ${kind}: ${advice}`;
    return {
      findings: [{ code: "V01", level: "warning", type: "missingSchema", manifest, path: ["kind"], text }],
    };
  }
}

/** Server-side apply answers a value of the wrong type as an internal error. */
const isTyping = (error: unknown): boolean => textOf(error).startsWith("failed to create typed patch object");

interface Finder {
  of(error: unknown): Finding[];
  unknownField(field: string): Finding;
}

/** The schemas of an object, and of the composite resource of a claim. */
interface FinderSchemas {
  readonly own: Schema | undefined;
  readonly composite?: Schema | undefined;
}

/** Makes findings of the answers of a server about an object. */
function finder(manifest: Manifest, { own: schema, composite }: FinderSchemas): Finder {
  const rules = schema === undefined ? [] : ruleTexts(schema);
  return {
    of(error) {
      const code = findStatusError(error)?.status.code;
      if (code === undefined || (code >= 500 && !isTyping(error))) throw error;
      // What admission refuses depends on objects that only a real server has.
      if (code === 403 || code === 404) return [];
      return objectProblems(manifest, error).map(({ path, text }) => {
        const isRule = rules.some((rule) => text.includes(rule));
        const isMetadata = path[0] === "metadata";
        const [checked, type] = isRule ? (["V03", "cel"] as const) : ([isMetadata ? "V05" : "V01", "schema"] as const);
        return { code: checked, level: "error", type, manifest, path, text };
      });
    },
    unknownField(field) {
      const path = parseFieldPath(field.replace(/^\./, ""));
      if (composite !== undefined && lookUp(composite, path).isKnown) {
        const text = `${field}: only composite resources have this field: remove it from the claim`;
        return { code: "V13", level: "error", type: "unknownField", manifest, path, text };
      }
      const found = schema === undefined ? undefined : lookUp(schema, path);
      const closest = found?.isKnown === false ? found.closest : undefined;
      const advice = closest === undefined ? "check its name and indentation" : `did you mean ${closest}?`;
      const text = `${field}: unknown field: ${advice}`;
      return { code: "V02", level: "error", type: "unknownField", manifest, path, text };
    },
  };
}

/** What failed CEL rules of a schema are reported with. */
const ruleTexts = (schema: Schema): string[] =>
  rulesIn(schema).map(({ message, rule }) => message ?? `failed rule: ${rule}`);

/** How many rules of a schema compare an object with what it was before, and are not evaluated without that. */
export function transitionRules(schema: Schema | undefined): number {
  const rules = schema === undefined ? [] : rulesIn(schema);
  return rules.filter(({ rule, optionalOldSelf }) => /\boldSelf\b/.test(rule) && optionalOldSelf !== true).length;
}

function rulesIn(schema: Schema): NonNullable<Schema["x-kubernetes-validations"]>[number][] {
  const children = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.items === undefined ? [] : [schema.items]),
    ...(typeof schema.additionalProperties === "object" ? [schema.additionalProperties] : []),
  ];
  return [...(schema["x-kubernetes-validations"] ?? []), ...children.flatMap(rulesIn)];
}
