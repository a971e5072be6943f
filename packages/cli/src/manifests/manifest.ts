// SPDX-License-Identifier: Apache-2.0

import { dirname, resolve } from "node:path";
import { developmentAnnotations } from "@purlin/function-runner";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, withMember } from "@purlin/kube-objects/object";
import { withoutNulls } from "@purlin/kube-objects/patch";
import { type ReadObjectsOptions, readObjects } from "../files/read-objects.ts";
import type { PathSegment } from "../files/yaml-position.ts";
import type { Io } from "../io.ts";
import { harmlessLine } from "../terminal/harmless.ts";
import { type FindOptions, findManifests } from "./find-manifests.ts";

/** An object from a file, ready to be applied. */
export interface Manifest {
  readonly object: KubeObject;
  /** As the user would write it. */
  readonly file: string;
  /** `file:line:column` of a field of the object. */
  at(path?: readonly PathSegment[]): string;
}

/** How manifests are read. */
export interface ReadManifestsOptions extends FindOptions, Pick<ReadObjectsOptions, "ignore" | "nameless"> {
  /** Called once with the files of folders that hold no manifest, if there are any. */
  readonly onSkipped?: (files: readonly string[]) => void;
  /** Called with each file before it is read. */
  readonly onFile?: (file: string) => Promise<void>;
}

/** What a package is made of: not an object of an API server. */
const packageMetadata = "meta.pkg.crossplane.io/";

/**
 * All objects in files and folders. In a folder, YAML that is not a manifest is skipped: files without apiVersion and kind, such as
 * Compose files and Helm values, kustomizations, and the metadata of packages. Throws a UserError with file and line of a manifest
 * that is not an object, and of anything in a file that is named.
 */
export async function readManifests(
  paths: readonly string[],
  io: Io,
  options: ReadManifestsOptions = {},
): Promise<Manifest[]> {
  const manifests: Manifest[] = [];
  const skipped: string[] = [];
  for (const file of await findManifests(paths, io, options)) {
    await options.onFile?.(file);
    const isNamed = paths.includes(file);
    const onForeign = isNamed ? {} : { onForeign: (one: string) => void skipped.push(one) };
    const found = await readObjects(file, io, { ...options, ...onForeign });
    const objects = found.filter(({ object }) => isNamed || !String(object["apiVersion"]).startsWith(packageMetadata));
    const folder = dirname(resolve(io.cwd, file));
    manifests.push(...objects.map(({ object, at }) => ({ object: prepare(object, folder), file, at })));
  }
  if (skipped.length > 0) options.onSkipped?.(skipped);
  return manifests;
}

/** One line about files that were skipped. */
export function skippedLine(files: readonly string[]): string {
  return `skipped ${listed(files)}: not a Kubernetes manifest (no apiVersion and kind); list such files in .purlinignore`;
}

/** File names for a line of output: a few of many. */
export function listed(files: readonly string[]): string {
  const most = 8;
  const more = files.length - most;
  return files.slice(0, most).map(harmlessLine).join(", ") + (more > 0 ? ` and ${more} more` : "");
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
  const whole = prepared as KubeObject;
  if (typeof source !== "string") return whole;
  return withMember(whole, ["metadata", "annotations", developmentAnnotations.source], resolve(folder, source));
}
