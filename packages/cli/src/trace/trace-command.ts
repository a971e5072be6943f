// SPDX-License-Identifier: Apache-2.0

import {
  type LastRun,
  packageState,
  packageTypes,
  referencesOf,
  type TraceColumn,
  type TraceNode,
  type TraceOptions,
  traceDocument,
  traceDot,
  traceNames,
  traceTable,
  traceTree,
} from "@purlin/explain";
import { guardTransport, type KubeReader } from "@purlin/kube-client";
import { isForbidden, isNotFound } from "@purlin/kube-objects/errors";
import { printJson } from "@purlin/kube-objects/json";
import { createTemplatePrinter } from "@purlin/kube-objects/json-path";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { RunSummary } from "@purlin/run-store";
import { type Cluster, openCluster } from "../cluster/cluster-client.ts";
import { findResource, type Resource } from "../cluster/find-resource.ts";
import { printYaml } from "../files/yaml-file.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { harmlessJson, harmlessLine } from "../terminal/harmless.ts";
import { definitionType, isOffered, kindsOf } from "../tree/defined-kinds.ts";
import { textOf, UserError } from "../user-error.ts";
import { isFollowed, noControlPlane, printTree, watchTrace } from "./print-tree.ts";

const formats = ["table", "wide", "json", "yaml", "dot", "tree", "name"];

/** `purlin trace [TYPE [NAME]]` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const output = textOption(input, "output") ?? "table";
  if (!formats.includes(output)) {
    throw new UserError(`--output ${output}: expected ${formats.join(", ")}`, { exitCode: 2 });
  }
  if (output === "tree" && isSet(input, "watch")) {
    throw new UserError("--watch: not with --output tree: omit --output", { exitCode: 2 });
  }
  const packages = packageOptions(input);
  columnsOf(textOption(input, "columns"));
  await using cluster = await openCluster(input, io, { transport: guardTransport });
  const lastRun = output === "json" || output === "yaml" ? await lastRuns(cluster, io) : undefined;
  const print = printerOf(input, output, lastRun);
  const [type, name] = input.args;
  const resource = type === undefined ? undefined : await findResource(cluster.client, type, io.signal);
  const roots = (): Promise<readonly KubeObject[]> => readRoots(resource, name, { input, cluster, io });
  if (output === "tree") {
    const target = resource && { resource, objects: await roots(), isOne: name !== undefined };
    await printTree(target, cluster, io);
    return;
  }
  const trace = async (): Promise<readonly TraceNode[]> => {
    const connectionSecrets = isSet(input, "showConnectionSecrets");
    const options = { client: cluster.client, signal: io.signal, connectionSecrets, ...packages };
    return Promise.all((await roots()).map((root) => traceTree(root, options)));
  };
  if (isSet(input, "watch")) return await watchTrace({ trace, print, client: cluster.client, io });
  const nodes = await trace();
  if (nodes.length === 0) io.stderr.write("No resources found\n");
  if (nodes.length > 0 || output === "json" || output === "yaml") io.stdout.write(print(nodes, name !== undefined));
}

interface Reading {
  readonly input: CommandInput;
  readonly cluster: Cluster;
  readonly io: Io;
}

async function readRoots(
  resource: Resource | undefined,
  name: string | undefined,
  reading: Reading,
): Promise<readonly KubeObject[]> {
  const { cluster, io, input } = reading;
  if (resource === undefined) return allRoots(cluster.client, io.signal);
  if (name !== undefined) return [await readOne(resource, name, reading)];
  const namespace = resource.namespaced ? (textOption(input, "namespace") ?? cluster.namespace) : undefined;
  return (await cluster.client.list(resource, { namespace, signal: io.signal })).items;
}

async function readOne(resource: Resource, name: string, { input, cluster, io }: Reading): Promise<KubeObject> {
  const namespace = resource.namespaced ? (textOption(input, "namespace") ?? cluster.namespace) : undefined;
  return cluster.client.get(resource, { name, namespace }, { signal: io.signal }).catch((error: unknown) => {
    throw isNotFound(error) ? new UserError(`${textOf(error)}: check the name and --namespace`) : error;
  });
}

function packageOptions(
  input: CommandInput,
): Pick<TraceOptions, "packageRevisions" | "packageDependencies" | "packageRuntimeConfigs"> {
  return {
    packageRuntimeConfigs: isSet(input, "showPackageRuntimeConfigs"),
    packageRevisions: choice(input, "showPackageRevisions", ["active", "all", "none"] as const),
    packageDependencies: choice(input, "showPackageDependencies", ["unique", "all", "none"] as const),
  };
}

function choice<T extends string>(input: CommandInput, option: string, values: readonly T[]): T {
  const text = textOption(input, option) ?? values[0];
  const found = values.find((value) => value === text);
  if (found !== undefined) return found;
  const flag = option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new UserError(`--${flag} ${text ?? ""}: expected ${values.join(", ")}`, { exitCode: 2 });
}

type Printer = (nodes: readonly TraceNode[], isOne: boolean) => string;

/** The newest recorded run of each composite resource; none where the control plane serves no runs. */
async function lastRuns({ client }: Cluster, { signal }: Io): Promise<LastRun> {
  const { queryOf, runsPath } = await import("@purlin/run-store");
  const { createRunsAsker } = await import("../runs/ask-runs.ts");
  const answer = await createRunsAsker(client, { signal })(runsPath, queryOf({})).catch((error: unknown) => {
    signal.throwIfAborted();
    if (isNotFound(error) || isForbidden(error)) return { items: [] };
    throw error;
  });
  const { items } = answer as { readonly items: readonly RunSummary[] };
  const newest = new Map(items.toReversed().map(({ uid, id }) => [uid, id]));
  return ({ metadata }) => newest.get(metadata.uid ?? "");
}

function printerOf(input: CommandInput, output: string, lastRun: LastRun | undefined): Printer {
  const documentOf = (nodes: readonly TraceNode[], isOne: boolean): object => {
    const [first] = nodes;
    if (isOne && first !== undefined) return traceDocument(first, lastRun);
    return { items: nodes.map((node) => traceDocument(node, lastRun)) };
  };
  const columns = columnsOf(textOption(input, "columns"));
  switch (output) {
    case "json":
      return (nodes, isOne) => `${harmlessJson(printJson(documentOf(nodes, isOne), { indent: 2 }))}\n`;
    case "yaml":
      return (nodes, isOne) => printYaml(documentOf(nodes, isOne));
    case "dot":
      return (nodes) => traceDot(nodes);
    case "name":
      return (nodes) =>
        traceNames(nodes)
          .map((line) => `${harmlessLine(line)}\n`)
          .join("");
    default:
      return (nodes) =>
        traceTable(nodes, { wide: output === "wide", now: Date.now(), columns, clean: (text) => harmlessLine(text) });
  }
}

/** The columns of `--columns TITLE=JSONPATH,…`. */
function columnsOf(text: string | undefined): readonly TraceColumn[] | undefined {
  if (text === undefined) return undefined;
  return text.split(",").map((column) => {
    const [, title, path] = /^([^=]+)=(.+)$/.exec(column) ?? [];
    if (title === undefined || path === undefined) {
      throw new UserError(`--columns ${column}: expected TITLE=JSONPATH, such as REGION=.spec.region`, { exitCode: 2 });
    }
    return { title, value: valueAt(path) };
  });
}

function valueAt(path: string): (object: KubeObject) => string {
  try {
    const print = createTemplatePrinter(path.startsWith("{") ? path : `{${path}}`);
    return (object) => {
      try {
        return print(object) || "-";
      } catch {
        return "-";
      }
    };
  } catch (error) {
    throw new UserError(`--columns ${path}: ${textOf(error)}`, { exitCode: 2, cause: error });
  }
}

/** The claims and composite resources that no other one refers to, and the packages that are not healthy. */
export async function allRoots(client: Pick<KubeReader, "list">, signal: AbortSignal): Promise<readonly KubeObject[]> {
  const definitions = await client.list(definitionType, { signal }).catch((error: unknown) => {
    throw noControlPlane(error);
  });
  const kinds = definitions.items.filter(isOffered).flatMap((definition) => kindsOf(definition) ?? []);
  const types = kinds.flatMap(({ claim, composite }) => (claim === undefined ? [composite] : [claim, composite]));
  const lists = await Promise.all([...types, ...packageTypes].map((type) => client.list(type, { signal })));
  const composites = lists.slice(0, types.length).flatMap(({ items }) => items);
  const packages = lists.slice(types.length).flatMap(({ items }) => items);
  const below = new Set(
    composites.flatMap(referencesOf).map(({ kind, name, namespace }) => referenceText(kind, name, namespace)),
  );
  const roots = composites.filter(
    ({ kind, metadata }) => !below.has(referenceText(kind, metadata.name ?? "", metadata.namespace)),
  );
  const unhealthy = packages.filter((object) => isFollowed(object) && packageState(object).health !== "ready");
  return [...roots.toSorted(byName), ...unhealthy.toSorted(byName)];
}

function referenceText(kind: string, name: string, namespace: string | undefined): string {
  return `${kind} ${namespace ?? ""}/${name}`;
}

function byName(a: KubeObject, b: KubeObject): number {
  const [one, other] = [a, b].map(({ kind, metadata }) => referenceText(kind, metadata.name ?? "", metadata.namespace));
  return (one ?? "") < (other ?? "") ? -1 : 1;
}
