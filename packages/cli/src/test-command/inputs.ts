// SPDX-License-Identifier: Apache-2.0
import { dirname, resolve } from "node:path";
import { type CrossplaneLine, crossplaneLines } from "@purlin/function-runner";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, printJson } from "@purlin/kube-objects/json";
import { type KubeObject, parseApiVersion, type TypeRef, textAt } from "@purlin/kube-objects/object";
import { applyJsonPatch, applyMergePatch } from "@purlin/kube-objects/patch";
import { readText } from "../files/read-text.ts";
import { parseYaml } from "../files/yaml-file.ts";
import type { Io } from "../io.ts";
import { type Manifest, prepare, readManifests } from "../manifests/manifest.ts";
import { isCrd, isDefinition } from "../tree/defined-kinds.ts";
import { textOf, UserError } from "../user-error.ts";
import type { CaseOutputs } from "./case-outputs.ts";
import { operationFor } from "./case-record.ts";
import type { TestCase } from "./test-file.ts";

/** The objects of a case. */
export interface CaseInputs {
  /** The composite resource, claim or Operation. */
  readonly root: KubeObject;
  readonly definitions: readonly KubeObject[];
  readonly crds: readonly KubeObject[];
  readonly compositions: readonly KubeObject[];
  readonly functions: readonly KubeObject[];
  /** Composed resources that exist already. */
  readonly observed: readonly KubeObject[];
  /** Other objects that exist: what functions require, and Secrets with credentials. */
  readonly others: readonly KubeObject[];
  /** What the first step finds in the context. */
  readonly context: JsonObject;
  /** The release line of Crossplane to imitate. */
  readonly asCrossplane: CrossplaneLine | undefined;
}

/** Reads what inputs name. Files are read once. */
export class InputReader {
  readonly #io: Io;
  readonly #outputs: CaseOutputs;
  readonly #files = new Map<string, Promise<readonly KubeObject[]>>();
  /** Test files whose packages were named. */
  readonly #noted = new Set<string>();

  constructor(io: Io, outputs: CaseOutputs) {
    this.#io = io;
    this.#outputs = outputs;
  }

  async read(test: TestCase): Promise<CaseInputs> {
    const objects = async (name: string): Promise<readonly KubeObject[]> =>
      (await this.objects(test.inputs[name], test, `inputs.${name}`)).map(asNew);
    const one = async (name: string): Promise<KubeObject> => {
      const [first, second] = await objects(name);
      if (first !== undefined && second === undefined) return first;
      throw wrong(test, `inputs.${name}: expected one object`);
    };
    const { context } = test.inputs;
    const watched = test.inputs["watched"] === undefined ? undefined : await one("watched");
    const written = await one(rootInput(test));
    const root = test.kind === "OperationTest" ? this.#operation(written, watched, test) : written;
    const schemas = await objects("schemas");
    this.#notePackages(schemas, test);
    return {
      root: test.patches.reduce<KubeObject>((object, patch) => patched(object, patch, test), root),
      definitions: unique([...(await objects("xrd")), ...schemas.filter(isDefinition)]),
      crds: unique([...(await objects("crds")), ...schemas.filter(isCrd)]),
      compositions: await objects("composition"),
      functions: await objects("functions"),
      observed: await objects("observed"),
      // `secrets` lists what values of a recorded run were replaced with: fixtures have the replacements already.
      others: [...(await objects("required")), ...(await objects("credentials")), ...(watched ? [watched] : [])],
      context: {
        ...(context === undefined ? {} : requireObject(context, test, "inputs.context: expected an object")),
        ...(await this.#contextOf(test)),
      },
      asCrossplane: lineOf(test),
    };
  }

  /** Values of the context that are in files of their own. */
  async #contextOf(test: TestCase): Promise<JsonObject> {
    const context: Record<string, JsonValue> = {};
    for (const [key, name] of Object.entries(test.xprin?.contextFiles ?? {})) {
      const file = resolve(this.#folderOf(test), String(name));
      try {
        const [document] = parseYaml(await readText(file, this.#io, { what: "context file" }), file);
        context[key] = (document?.value ?? null) as JsonValue;
      } catch (error) {
        throw wrong(test, textOf(error));
      }
    }
    return context;
  }

  /** Tests need no network: what a package would bring is not there to validate with. */
  #notePackages(schemas: readonly KubeObject[], { file }: TestCase): void {
    const names = schemas
      .filter(({ apiVersion }) => apiVersion.startsWith("meta.pkg.crossplane.io/"))
      .map(({ kind, metadata }) => `${kind} ${metadata.name ?? ""}`);
    if (names.length === 0 || this.#noted.has(file)) return;
    this.#noted.add(file);
    const what = "schemas of packages are not fetched, and resources of their kinds are not validated";
    this.#io.stderr.write(`note: ${file}: ${what}: ${[...new Set(names)].join(", ")}\n`);
  }

  #operation(written: KubeObject, watched: KubeObject | undefined, test: TestCase): KubeObject {
    try {
      return operationFor(written, { watched, scheduledTime: test.inputs["scheduledTime"] });
    } catch (error) {
      throw wrong(test, `inputs: ${textOf(error)}`);
    }
  }

  /** The objects that a value names: a file, a folder, an object, or a list of these. */
  async objects(value: JsonValue | undefined, test: TestCase, what: string): Promise<readonly KubeObject[]> {
    if (value === undefined) return [];
    const output = typeof value === "string" ? test.xprin?.outputOf(value) : undefined;
    if (output !== undefined) return await this.#outputs.get(test, output);
    const keepsNulls = test.xprin !== undefined && rendered.has(what);
    if (typeof value === "string") return await this.#file(value, test, keepsNulls);
    if (isJsonArray(value)) return (await Promise.all(value.map((one) => this.objects(one, test, what)))).flat();
    const { metadata = {} } = requireObject(
      value,
      test,
      `${what}: expected a file, a folder, an object or a list of these`,
    );
    return [prepare({ ...(value as JsonObject), metadata }, this.#folderOf(test))];
  }

  #file(name: string, test: TestCase, keepsNulls: boolean): Promise<readonly KubeObject[]> {
    const key = `${resolve(this.#folderOf(test), name)}\n${keepsNulls}`;
    const known = this.#files.get(key) ?? this.#readFile(name, test, keepsNulls);
    this.#files.set(key, known);
    return known;
  }

  async #readFile(name: string, test: TestCase, keepsNulls: boolean): Promise<readonly KubeObject[]> {
    try {
      const io = { ...this.#io, cwd: this.#folderOf(test) };
      const found: Manifest[] = await readManifests([name], io, { nameless: true, keepsNulls });
      return found.map(({ object }) => object);
    } catch (error) {
      throw wrong(test, textOf(error));
    }
  }

  #folderOf({ file }: TestCase): string {
    return dirname(resolve(this.#io.cwd, file));
  }
}

/** Files that xprin renders as they are; others are applied, and what is null there means nothing. */
const rendered: ReadonlySet<string> = new Set(["inputs.xr", "inputs.claim", "inputs.observed"]);

/** The input that names what a case is about. */
function rootInput(test: TestCase): string {
  const { xr, claim, operation } = test.inputs;
  if (test.kind === "OperationTest") {
    if (operation === undefined) throw wrong(test, "inputs: name the operation");
    return "operation";
  }
  if ((xr === undefined) === (claim === undefined)) throw wrong(test, "inputs: name either xr or claim");
  return xr === undefined ? "claim" : "xr";
}

function lineOf(test: TestCase): CrossplaneLine | undefined {
  const { asCrossplane } = test.inputs;
  if (asCrossplane === undefined) return undefined;
  const line = crossplaneLines.find((one) => one === asCrossplane);
  if (line !== undefined) return line;
  throw wrong(
    test,
    `inputs.asCrossplane: expected one of ${crossplaneLines.join(", ")}, not ${printJson(asCrossplane)}`,
  );
}

/** Each object once: a suite of xprin may name a file twice. */
function unique(objects: readonly KubeObject[]): readonly KubeObject[] {
  return [...new Map(objects.map((object) => [object.metadata.name, object])).values()];
}

/** Without what only a server sets, for an object that was read from one. */
function asNew(object: KubeObject): KubeObject {
  const kept = Object.entries(object.metadata).filter(([name]) => !serverFields.has(name));
  return { ...object, metadata: Object.fromEntries(kept) };
}

const serverFields = new Set(["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"]);

function requireObject(value: JsonValue, test: TestCase, problem: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw wrong(test, problem);
}

const wrong = ({ at, name }: TestCase, text: string): UserError =>
  new UserError(`${at}: case "${name}": ${text}`, { exitCode: 2 });

/** An object with a JSON merge patch, or a list of JSON patch operations, applied. */
export function patched(object: KubeObject, patch: JsonValue, test: TestCase): KubeObject {
  if (!isJsonArray(patch))
    return applyMergePatch(
      object as JsonObject,
      requireObject(patch, test, "patch: expected an object or a list of JSON patch operations"),
    ) as KubeObject;
  try {
    return applyJsonPatch(object as JsonValue, patch as never) as KubeObject;
  } catch (error) {
    throw wrong(test, `patch: ${textOf(error)}`);
  }
}

// Kinds that a test needs and no file defines: any field is accepted.

const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/** A CRD of a kind without a schema. */
export function permissiveCrd({ apiVersion, kind }: TypeRef, namespaced: boolean): KubeObject {
  const { group, version } = parseApiVersion(apiVersion);
  const plural = `${kind.toLowerCase()}s`;
  const schema = {
    openAPIV3Schema: {
      type: "object",
      "x-kubernetes-preserve-unknown-fields": true,
      properties: { spec: anything, status: anything },
    },
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: namespaced ? "Namespaced" : "Cluster",
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: version, served: true, storage: true, schema, subresources: { status: {} } }],
    },
  };
}

/** An XRD for a composite resource that has none: namespaced if it has a namespace. */
export function permissiveDefinition(xr: KubeObject): KubeObject {
  const { group, version } = parseApiVersion(xr.apiVersion);
  const plural = `${xr.kind.toLowerCase()}s`;
  const isModern = (xr["spec"] as { readonly crossplane?: unknown } | undefined)?.crossplane !== undefined;
  const cluster = isModern ? "Cluster" : "LegacyCluster";
  const scope = xr.metadata.namespace === undefined ? cluster : "Namespaced";
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: anything, status: anything } } };
  return {
    // Only v1 has legacy composite resources.
    apiVersion: `apiextensions.crossplane.io/${scope === "LegacyCluster" ? "v1" : "v2"}`,
    kind: "CompositeResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { kind: xr.kind, plural },
      versions: [{ name: version, served: true, referenceable: true, schema }],
    },
  };
}

/** An XRD for a claim that has none. */
export function permissiveClaimDefinition(claim: KubeObject, kind: string): KubeObject {
  const { namespace: _, ...metadata } = claim.metadata;
  const composite = permissiveDefinition({ apiVersion: claim.apiVersion, kind, metadata });
  const claimNames = { kind: claim.kind, plural: `${claim.kind.toLowerCase()}s` };
  return { ...composite, spec: { ...(composite["spec"] as object), claimNames } };
}

/** Whether a definition is of a kind, as composite resource or claim. */
export function defines(definition: KubeObject, { apiVersion, kind }: TypeRef): boolean {
  const kinds = ["names", "claimNames"].map((member) => textAt(definition, ["spec", member, "kind"]));
  return textAt(definition, ["spec", "group"]) === parseApiVersion(apiVersion).group && kinds.includes(kind);
}
