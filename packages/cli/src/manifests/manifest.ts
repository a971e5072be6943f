// SPDX-License-Identifier: Apache-2.0
import { dirname, resolve } from "node:path";
import { developmentAnnotations } from "@purlin/function-runner";
import type { KubeObject } from "@purlin/kube-client";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects";
import { readObjects } from "../files/read-objects.ts";
import type { PathSegment } from "../files/yaml-position.ts";
import type { Io } from "../io.ts";
import { type FindOptions, findManifests } from "./find-manifests.ts";

/** An object that somebody wrote down, ready to be applied. */
export interface Manifest {
  readonly object: KubeObject;
  /** As the user would write it. */
  readonly file: string;
  /** `file:line:column` of a field of the object. */
  at(path?: readonly PathSegment[]): string;
}

/** What a package is made of: no object of any API server. */
const packageMetadata = "meta.pkg.crossplane.io/";

/** All objects in files and folders, but for the metadata of packages whose sources are in such a folder. Throws a UserError with file and line of what is no object. */
export async function readManifests(paths: readonly string[], io: Io, options: FindOptions = {}): Promise<Manifest[]> {
  const manifests: Manifest[] = [];
  for (const file of await findManifests(paths, io, options)) {
    for (const { object, at } of await readObjects(file, io)) {
      if (!paths.includes(file) && String((object as JsonObject)["apiVersion"]).startsWith(packageMetadata)) continue;
      const folder = dirname(resolve(io.cwd, file));
      manifests.push({ object: prepare(object as JsonObject, folder), file, at });
    }
  }
  return manifests;
}

/**
 * An object as it is sent. Members that are null are dropped, as kubectl's own apply does: `input:` with nothing but a
 * comment means no input. The source of a function is where it says, seen from the file that says so.
 */
export function prepare(object: JsonObject, folder: string): KubeObject {
  const prepared = withoutNulls(object) as JsonObject;
  const metadata = prepared["metadata"] as JsonObject;
  const { annotations } = metadata;
  const source = isJsonObject(annotations) ? annotations[developmentAnnotations.source] : undefined;
  if (!isJsonObject(annotations) || typeof source !== "string") return prepared as unknown as KubeObject;
  const absolute = { ...annotations, [developmentAnnotations.source]: resolve(folder, source) };
  return { ...prepared, metadata: { ...metadata, annotations: absolute } } as unknown as KubeObject;
}

function withoutNulls(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(kept.map(([name, member]) => [name, withoutNulls(member as JsonValue)]));
}
