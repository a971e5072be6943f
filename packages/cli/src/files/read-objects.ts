// SPDX-License-Identifier: Apache-2.0

import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isJsonObject, type JsonObject } from "@purlin/function-protocol";
import { printJson } from "@purlin/kube-objects/json";
import type { Io } from "../io.ts";
import { UserError } from "../user-error.ts";
import { explain, readText, requireInside } from "./read-text.ts";
import { parseYamlStream, type YamlDocument } from "./yaml-file.ts";
import type { PathSegment } from "./yaml-position.ts";

/** A Kubernetes object and where it was written. */
export interface AuthoredObject {
  readonly object: JsonObject;
  /** `file:line:column` of a field of the object. */
  at(path?: readonly PathSegment[]): string;
}

const extensions = [".yaml", ".yml", ".json"];

/** The files a path stands for: itself, or those in the folder whose names end in one of the endings, by name. */
export async function listFiles(path: string, io: Io, endings: readonly string[] = extensions): Promise<string[]> {
  if (path === "-") return [path];
  const absolute = resolve(io.cwd, path);
  try {
    if (!(await stat(absolute)).isDirectory()) return [path];
    const entries = await readdir(absolute, { withFileTypes: true });
    const wanted = entries.filter(({ name }) => endings.some((ending) => name.endsWith(ending)));
    for (const entry of wanted) if (entry.isSymbolicLink()) await requireInside(path, join(path, entry.name), { io });
    const names = wanted.map(({ name }) => name).sort();
    if (names.length > 0) return names.map((name) => join(path, name));
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`cannot read ${path}: ${explain(error)}`, { cause: error });
  }
  throw new UserError(`${path}: no files ending in ${endings.join(", ")} found: check the path`);
}

/** Which documents are read, and what they must have. */
export interface ReadObjectsOptions {
  /** Documents to leave out. */
  readonly ignore?: (value: JsonObject) => boolean;
  /** Called with a file that holds YAML of another program; without it such a file is an error. */
  readonly onForeign?: (file: string) => void;
  /** Whether objects may lack a metadata.name. */
  readonly nameless?: boolean;
}

/** Every Kubernetes object in a file or folder of YAML or JSON. Lists are opened. */
export async function readObjects(
  path: string,
  io: Io,
  { ignore, onForeign, nameless = false }: ReadObjectsOptions = {},
): Promise<AuthoredObject[]> {
  const objects: AuthoredObject[] = [];
  for (const file of await listFiles(path, io)) {
    const text = await readText(file, io, { what: "file" });
    const documents = await parseYamlStream(text, file === "-" ? "stdin" : file);
    if (onForeign !== undefined && documents.length > 0 && documents.every(isForeign)) {
      onForeign(file);
      continue;
    }
    const wanted = documents.filter(({ value }) => ignore === undefined || !isJsonObject(value) || !ignore(value));
    objects.push(...wanted.flatMap((document) => objectsOf(document, nameless)));
  }
  return objects;
}

const kustomization = "kustomize.config.k8s.io/";

/** A document that says neither its apiVersion nor its kind was not written for an API server; nor was a kustomization. */
function isForeign({ value }: YamlDocument): boolean {
  if (!isJsonObject(value)) return true;
  const { apiVersion, kind } = value;
  return (apiVersion === undefined && kind === undefined) || String(apiVersion).startsWith(kustomization);
}

function objectsOf(document: YamlDocument, nameless: boolean): AuthoredObject[] {
  const { value } = document;
  if (!isJsonObject(value))
    throw new UserError(`${document.at()}: expected a Kubernetes object with apiVersion and kind`);
  const items = value["items"];
  if (typeof value["kind"] === "string" && value["kind"].endsWith("List") && Array.isArray(items)) {
    return items.map((item, index) => checked(located(document, item, ["items", index]), nameless));
  }
  return [checked(located(document, value, []), nameless)];
}

function located(document: YamlDocument, value: unknown, base: readonly PathSegment[]): AuthoredObject {
  const at = (path: readonly PathSegment[] = []): string => document.at([...base, ...path]);
  if (!isJsonObject(value)) throw new UserError(`${at()}: expected a Kubernetes object with apiVersion and kind`);
  return { object: value, at };
}

/** Checks only what every reader relies on: the object's type and, unless it may lack one, its name. */
function checked({ object, at }: AuthoredObject, nameless: boolean): AuthoredObject {
  requireText(object["apiVersion"], () => at(["apiVersion"]), "apiVersion");
  requireText(object["kind"], () => at(["kind"]), "kind");
  const { metadata } = object;
  if (nameless && (metadata === undefined || metadata === null)) return { object: { ...object, metadata: {} }, at };
  if (!isJsonObject(metadata)) {
    throw invalidField(at(["metadata"]), "metadata", { expected: "an object with a name", value: metadata });
  }
  if (!nameless || metadata["name"] !== undefined)
    requireText(metadata["name"], () => at(["metadata", "name"]), "metadata.name");
  return { object, at };
}

function requireText(value: unknown, where: () => string, field: string): void {
  if (typeof value !== "string" || value === "") throw invalidField(where(), field, { expected: "a string", value });
}

/** Says what a required field lacks: the field itself, or its type. */
export function invalidField(where: string, field: string, { expected, value }: FieldMismatch): UserError {
  const problem =
    value === undefined
      ? `required field is missing: add ${expected}`
      : `must be ${expected}, not ${printJson(value).slice(0, 100)}`;
  return new UserError(`${where}: ${field}: ${problem}`);
}

interface FieldMismatch {
  /** With its article, such as `a string`. */
  readonly expected: string;
  readonly value: unknown;
}
