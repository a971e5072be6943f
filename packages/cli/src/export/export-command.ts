// SPDX-License-Identifier: Apache-2.0
import { resolve } from "node:path";
import { isNoMatch, type KubeClient } from "@purlin/kube-client";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { groupOf, type KubeObject } from "@purlin/kube-objects/object";
import { type Cluster, openCluster } from "../cluster/cluster-client.ts";
import { allResources, findTargets, type Resource } from "../cluster/find-resource.ts";
import { replaceFile } from "../files/write-files.ts";
import { printYaml } from "../files/yaml-file.ts";
import { fetchTarget, objectsOf } from "../get/fetch-objects.ts";
import type { Io } from "../io.ts";
import { type CommandInput, textOption } from "../options/command-spec.ts";
import { definitionType } from "../tree/defined-kinds.ts";
import { textOf, UserError } from "../user-error.ts";
import { isExported, isExportedType, placeOf } from "./exported.ts";
import { portable } from "./portable-object.ts";

/** `purlin export [--kinds TYPE,…]` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  await using cluster = await openCluster(input, io);
  const composites = await compositeKinds(cluster.client, io.signal);
  const isComposite = (object: KubeObject): boolean => composites.has(`${groupOf(object.apiVersion)}/${object.kind}`);
  const found = (await fetchAll(cluster, input, io)).filter(isExported);
  const ordered = found
    .map((object) => ({ object, place: placeOf(object, isComposite(object)) }))
    .sort((a, b) => a.place - b.place);
  const documents = ordered.map(({ object }) => printYaml(portable(object, { isComposite: isComposite(object) })));
  const text = documents.map((document) => `---\n${document}`).join("");
  await write(text, textOption(input, "out"), { io, count: documents.length });
}

async function fetchAll(cluster: Cluster, input: CommandInput, io: Io): Promise<KubeObject[]> {
  const resources = await selectedResources(cluster.client, input, io.signal);
  const withSecrets = input.options["secrets"] !== false;
  const selection = { namespace: textOption(input, "namespace"), labelSelector: textOption(input, "selector") };
  const objects: KubeObject[] = [];
  for (const resource of resources) {
    if (selection.namespace !== undefined && !resource.namespaced) continue;
    if (!withSecrets && resource.kind === "Secret" && resource.apiVersion === "v1") continue;
    const options = { selection, accept: "application/json", signal: io.signal };
    objects.push(...objectsOf(await fetchTarget(cluster, { resource }, options)));
  }
  return objects;
}

async function selectedResources(
  client: KubeClient,
  input: CommandInput,
  signal: AbortSignal,
): Promise<readonly Resource[]> {
  const kinds = textOption(input, "kinds");
  if (kinds === undefined) return (await allResources(client, signal)).filter(isExportedType);
  const targets = await findTargets(client, [kinds], signal);
  return targets.map(({ resource }) => resource);
}

/** `group/Kind` of every composite resource and claim. */
async function compositeKinds(client: KubeClient, signal: AbortSignal): Promise<ReadonlySet<string>> {
  try {
    const { items } = await client.list(definitionType, { signal });
    return new Set(items.flatMap(kindsOf));
  } catch (error) {
    // A cluster without a control plane has no composite resources.
    if (isNoMatch(error)) return new Set();
    throw error;
  }
}

function kindsOf({ spec }: KubeObject & { readonly spec?: unknown }): string[] {
  if (!isJsonObject(spec)) return [];
  const names = [spec["names"], spec["claimNames"]].filter((one): one is JsonObject => isJsonObject(one));
  return names.map(({ kind }) => `${String(spec["group"])}/${String(kind)}`);
}

async function write(
  text: string,
  out: string | undefined,
  { io, count }: { readonly io: Io; readonly count: number },
): Promise<void> {
  if (count === 0) io.stderr.write("No resources found\n");
  if (out === undefined) {
    io.stdout.write(text);
    return;
  }
  try {
    await replaceFile(resolve(io.cwd, out), text);
  } catch (error) {
    throw new UserError(`cannot write ${out}: ${textOf(error)}`, { cause: error });
  }
  io.stdout.write(`${out}: ${count} ${count === 1 ? "object" : "objects"}\n`);
}
