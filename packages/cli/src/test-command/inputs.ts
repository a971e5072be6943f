// SPDX-License-Identifier: Apache-2.0
import { dirname, resolve } from "node:path";
import { type CrossplaneLine, crossplaneLines } from "@purlin/function-runner";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { applyJsonPatch, applyMergePatch } from "@purlin/kube-objects/patch";
import type { Io } from "../io.ts";
import { type Manifest, prepare, readManifests } from "../manifests/manifest.ts";
import { isCrd, isDefinition } from "../tree/defined-kinds.ts";
import { textOf, UserError } from "../user-error.ts";
import { operationFor } from "./operation-case.ts";
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
  readonly #files = new Map<string, Promise<readonly KubeObject[]>>();

  constructor(io: Io) {
    this.#io = io;
  }

  async read(test: TestCase): Promise<CaseInputs> {
    const objects = async (name: string): Promise<readonly KubeObject[]> =>
      (await this.objects(test.inputs[name], test, name)).map(asNew);
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
    return {
      root: test.patches.reduce<KubeObject>((object, patch) => patched(object, patch, test), root),
      definitions: unique([...(await objects("xrd")), ...schemas.filter(isDefinition)]),
      crds: unique([...(await objects("crds")), ...schemas.filter(isCrd)]),
      compositions: await objects("composition"),
      functions: await objects("functions"),
      observed: await objects("observed"),
      // `secrets` lists what values of a recorded run were replaced with: fixtures have the replacements already.
      others: [...(await objects("required")), ...(await objects("credentials")), ...(watched ? [watched] : [])],
      context: context === undefined ? {} : requireObject(context, test, "inputs.context"),
      asCrossplane: lineOf(test),
    };
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
    if (typeof value === "string") return await this.#file(value, test);
    if (isJsonArray(value)) return (await Promise.all(value.map((one) => this.objects(one, test, what)))).flat();
    const { metadata = {} } = requireObject(value, test, what);
    return [prepare({ ...(value as JsonObject), metadata }, this.#folderOf(test))];
  }

  #file(name: string, test: TestCase): Promise<readonly KubeObject[]> {
    const folder = this.#folderOf(test);
    const path = resolve(folder, name);
    const known = this.#files.get(path) ?? this.#readFile(name, folder, test);
    this.#files.set(path, known);
    return known;
  }

  async #readFile(name: string, folder: string, test: TestCase): Promise<readonly KubeObject[]> {
    try {
      const found: Manifest[] = await readManifests([name], { ...this.#io, cwd: folder }, { nameless: true });
      return found.map(({ object }) => object);
    } catch (error) {
      throw wrong(test, textOf(error));
    }
  }

  #folderOf({ file }: TestCase): string {
    return dirname(resolve(this.#io.cwd, file));
  }
}

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
    `inputs.asCrossplane: expected one of ${crossplaneLines.join(", ")}, not ${JSON.stringify(asCrossplane)}`,
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

function requireObject(value: JsonValue, test: TestCase, what: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw wrong(test, `${what}: expected a file, a folder, an object or a list of these`);
}

const wrong = ({ at, name }: TestCase, text: string): UserError =>
  new UserError(`${at}: case "${name}": ${text}`, { exitCode: 2 });

/** An object with a JSON merge patch, or a list of JSON patch operations, applied. */
export function patched(object: KubeObject, patch: JsonValue, test: TestCase): KubeObject {
  if (!isJsonArray(patch))
    return applyMergePatch(object as JsonObject, requireObject(patch, test, "patch")) as KubeObject;
  try {
    return applyJsonPatch(object as JsonValue, patch as never) as KubeObject;
  } catch (error) {
    throw wrong(test, `patch: ${textOf(error)}`);
  }
}
