// SPDX-License-Identifier: Apache-2.0
import { setTimeout } from "node:timers/promises";
import { isNoMatch, resourcePath } from "@purlin/kube-client";
import { ignoreNotFound, isNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, type ObjectKey, objectsAt, parseApiVersion, type TypeRef } from "@purlin/kube-objects/object";
import { type Cluster, openCluster } from "../cluster/cluster-client.ts";
import { findTargets, pathOf, refuseSelectedNames } from "../cluster/find-resource.ts";
import { fetchTarget, objectsOf } from "../get/selected-objects.ts";
import { harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { type Manifest, readManifests } from "../manifests/manifest.ts";
import { type CommandInput, isSet, listOption, readTimeout, textOption } from "../options/command-spec.ts";
import { actionReport, printData, readOutput } from "../options/data-output.ts";
import { textOf, UserError } from "../user-error.ts";

const pollMs = 50;

/** The kinds by which a composition orders deletions. */
const usageKinds: ReadonlySet<string> = new Set([
  "protection.crossplane.io Usage",
  "protection.crossplane.io ClusterUsage",
  "apiextensions.crossplane.io Usage",
]);

/** An object to delete. */
interface Doomed {
  /** Such as `App shop`. */
  readonly title: string;
  readonly object: Pick<KubeObject, "apiVersion" | "kind" | "metadata">;
  readonly path: string;
  readonly isNamespaced: boolean;
}

/** `purlin delete TYPE NAME…`, `purlin delete TYPE -l SELECTOR`, `purlin delete -f FILE…` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const output = readOutput(input, ["text", "json", "yaml"]);
  const waitMs = readTimeout(textOption(input, "timeout") ?? "30s");
  const ignoresMissing = isSet(input, "ignoreNotFound");
  const files = listOption(input, "filename");
  checkWords(input, files);
  // Mistakes in files are reported before anything else.
  const manifests = files.length > 0 ? await readManifests(files, io, { stdin: true }) : [];
  await using cluster = await openCluster(input, io);
  const doomed = files.length > 0 ? await ofFiles(cluster, manifests, io) : await ofWords(cluster, input, io);
  const waiting: Doomed[] = [];
  for (const one of doomed) {
    if (await requestDeletion(cluster, one, { ignoresMissing, io })) waiting.push(one);
  }
  const limit = performance.now() + waitMs;
  for (const one of waiting) {
    await untilGone(cluster, one, { limit, io });
    if (output === "text") io.stdout.write(`${harmlessLine(one.title)} deleted\n`);
  }
  const actions = waiting.map(({ object }) => ({ object, action: "deleted" as const }));
  if (output !== "text") printData(actionReport(actions), output, io);
}

function checkWords(input: CommandInput, files: readonly string[]): void {
  refuseSelectedNames(input.args, textOption(input, "selector"));
  const isNamed = input.args.length > 1 || input.args.some((word) => word.includes("/"));
  const isSelected = input.args.length === 1 && textOption(input, "selector") !== undefined;
  if (files.length > 0 && input.args.length > 0)
    throw new UserError("specify objects or files, not both", { exitCode: 2 });
  if (files.length === 0 && !isNamed && !isSelected) {
    throw new UserError("specify what to delete: TYPE NAME, TYPE -l SELECTOR, or -f FILE", { exitCode: 2 });
  }
}

/** A reference to an object of a type. */
function placed({ apiVersion, kind }: TypeRef, { name, namespace }: ObjectKey): Doomed["object"] {
  return { apiVersion, kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }) } };
}

/** What comes last in files was applied last, and leans on what comes first. */
async function ofFiles(cluster: Cluster, manifests: readonly Manifest[], io: Io): Promise<Doomed[]> {
  const doomed: Doomed[] = [];
  for (const { object } of manifests.toReversed()) {
    const found = await manifestPath(cluster, object, io.signal);
    // A kind that is not served has no objects.
    if (found !== undefined)
      doomed.push({ title: `${object.kind} ${object.metadata.name}`, object: placed(object, found.key), ...found });
  }
  return doomed;
}

async function ofWords(cluster: Cluster, input: CommandInput, io: Io): Promise<Doomed[]> {
  const doomed: Doomed[] = [];
  const selection = { namespace: cluster.namespace, labelSelector: textOption(input, "selector") };
  for (const target of await findTargets(cluster.client, input.args, io.signal)) {
    const { resource } = target;
    const add = (name: string): void => {
      const path = pathOf(resource, { namespace: cluster.namespace, name });
      const object = placed(resource, { name, namespace: resource.namespaced ? cluster.namespace : undefined });
      doomed.push({ title: `${resource.kind} ${name}`, object, path, isNamespaced: resource.namespaced });
    };
    if (target.name !== undefined) add(target.name);
    else {
      const fetched = await fetchTarget(cluster, target, { selection, accept: "application/json", signal: io.signal });
      for (const { metadata } of objectsOf(fetched)) add(metadata.name ?? "");
    }
  }
  if (doomed.length === 0) io.stderr.write("No resources found\n");
  return doomed;
}

async function requestDeletion(
  { client }: Cluster,
  { path, isNamespaced }: Doomed,
  { ignoresMissing, io }: { readonly ignoresMissing: boolean; readonly io: Io },
): Promise<boolean> {
  try {
    const isOrdered = await composesUsage(client, path, io.signal);
    const body = { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Foreground" };
    await client.raw({ method: "DELETE", path, signal: io.signal, ...(isOrdered && { body }) });
    return true;
  } catch (error) {
    if (isNotFound(error) && ignoresMissing) return false;
    const hint = isNotFound(error) && isNamespaced ? ": check the name and --namespace" : "";
    throw new UserError(`${textOf(error)}${hint}`, { cause: error });
  }
}

/**
 * Whether an object is a composite resource with a Usage among its resources. It must outlive them: otherwise the garbage collector deletes all
 * of them at once, in no order.
 */
async function composesUsage(client: Cluster["client"], path: string, signal: AbortSignal): Promise<boolean> {
  const object = (await ignoreNotFound(client.raw({ method: "GET", path, signal }))) as JsonObject | undefined;
  if (object === undefined) return false;
  const refs = [
    ...objectsAt(object, ["spec", "crossplane", "resourceRefs"]),
    ...objectsAt(object, ["spec", "resourceRefs"]),
  ];
  return refs.some(({ apiVersion, kind }) => usageKinds.has(`${String(apiVersion).split("/")[0]} ${String(kind)}`));
}

async function untilGone(
  { client }: Cluster,
  { title, path }: Doomed,
  { limit, io }: { readonly limit: number; readonly io: Io },
): Promise<void> {
  for (;;) {
    const object = await ignoreNotFound(client.raw({ method: "GET", path, signal: io.signal }));
    if (object === undefined) return;
    if (performance.now() > limit) {
      throw new UserError(`${title} is being deleted but still exists: ${adviceFor(object as KubeObject)}`);
    }
    await setTimeout(pollMs, undefined, { signal: io.signal });
  }
}

/** Where to look when an object is not gone in time. */
function adviceFor({ apiVersion, kind, metadata: { finalizers = [], namespace, name } }: KubeObject): string {
  if (!finalizers?.includes("foregroundDeletion")) return "check its metadata.finalizers";
  const { group } = parseApiVersion(apiVersion);
  const type = group === "" ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`;
  const where = namespace === undefined ? "" : ` -n ${namespace}`;
  return `it waits for its dependents, one of which may be in use: see purlin explain ${type}/${name}${where}`;
}

/** Where the object of a manifest is on the API server; undefined where its kind is not served. */
async function manifestPath(
  { client, namespace }: Cluster,
  object: KubeObject,
  signal: AbortSignal,
): Promise<{ readonly path: string; readonly isNamespaced: boolean; readonly key: ObjectKey } | undefined> {
  try {
    const mapping = await client.mapper.mapping(object, signal);
    const { name = "", namespace: own } = object.metadata;
    const key = mapping.namespaced ? { name, namespace: own || namespace } : { name };
    return { path: resourcePath(mapping, key), isNamespaced: mapping.namespaced, key };
  } catch (error) {
    if (isNoMatch(error)) return undefined;
    throw error;
  }
}
