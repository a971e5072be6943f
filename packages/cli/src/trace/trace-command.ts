// SPDX-License-Identifier: Apache-2.0

import {
  type LastRun,
  type ObjectRef,
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
  usualColumn,
} from "@purlin/explain";
import { guardTransport, type KubeReader } from "@purlin/kube-client";
import { isForbidden, isNotFound } from "@purlin/kube-objects/errors";
import { printJson } from "@purlin/kube-objects/json";
import { createTemplatePrinter } from "@purlin/kube-objects/json-path";
import { groupOf, type KubeObject } from "@purlin/kube-objects/object";
import type { RunSummary } from "@purlin/run-store";
import { type Cluster, openCluster } from "../cluster/cluster-client.ts";
import { findResource, type Resource } from "../cluster/find-resource.ts";
import { printYaml } from "../files/yaml-file.ts";
import { harmlessJson, harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { definitionType, isOffered, kindsOf } from "../tree/defined-kinds.ts";
import { textOf, UserError } from "../user-error.ts";
import { isFollowed, noControlPlane, openTrees, type TreeTarget } from "./print-tree.ts";
import { type Look, typesIn, watchTrace } from "./watch-trace.ts";

const formats = ["table", "wide", "json", "yaml", "dot", "tree", "name"];

/** `purlin trace [TYPE [NAME]]` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const output = textOption(input, "output") ?? "table";
  if (!formats.includes(output)) {
    throw new UserError(`--output ${output}: expected ${formats.join(", ")}`, { exitCode: 2 });
  }
  const packages = packageOptions(input);
  const columns = columnsOf(textOption(input, "columns"));
  if (columns !== undefined && output !== "table" && output !== "wide") {
    throw new UserError(`--columns: only for tables: omit --output ${output}`, { exitCode: 2 });
  }
  await using cluster = await openCluster(input, io, { transport: guardTransport });
  const lastRun = output === "json" || output === "yaml" ? await lastRuns(cluster, io) : undefined;
  const print = printerOf(input, output, lastRun);
  const [type, name] = input.args;
  const resource = type === undefined ? undefined : await findResource(cluster.client, type, io.signal);
  const roots = (): Promise<readonly KubeObject[]> => readRoots(resource, name, { input, cluster, io });
  const watched = isSet(input, "watch");
  const { client } = cluster;
  if (output === "tree") {
    const target = async (): Promise<TreeTarget | undefined> =>
      resource && { resource, objects: await roots(), isOne: name !== undefined };
    return watched ? await watchTrees(target, client, io) : await printTrees(target, client, io);
  }
  const trace = async (): Promise<readonly TraceNode[]> => {
    const connectionSecrets = isSet(input, "showConnectionSecrets");
    const options = { client, signal: io.signal, connectionSecrets, ...packages };
    return Promise.all((await roots()).map((root) => traceTree(root, options)));
  };
  if (watched) {
    const redraws = output === "table" || output === "wide" || output === "name";
    const separator = redraws ? undefined : output === "yaml" ? "---\n" : "";
    const look = async (): Promise<Look | undefined> => {
      const nodes = await trace();
      return nodes.length === 0 ? undefined : { text: print(nodes, name !== undefined), types: typesIn(nodes) };
    };
    return await watchTrace({ look, separator, redraws, client, io });
  }
  const nodes = await trace();
  if (nodes.length === 0) io.stderr.write("No resources found\n");
  if (nodes.length > 0 || output === "json" || output === "yaml") io.stdout.write(print(nodes, name !== undefined));
}

/** Reads what to show. */
type Target = () => Promise<TreeTarget | undefined>;

async function printTrees(target: Target, client: KubeReader, io: Io): Promise<undefined> {
  const shown = await target();
  await using trees = await openTrees(client, io);
  const look = await trees.print(shown);
  if (look !== undefined) io.stdout.write(look.text);
  else io.stderr.write(shown === undefined ? "No claims or composite resources found.\n" : "No resources found\n");
}

async function watchTrees(target: Target, client: KubeReader, io: Io): Promise<undefined> {
  let changed = (): void => {};
  await using trees = await openTrees(client, io, () => changed());
  const look = async (onChange: () => void): Promise<Look | undefined> => {
    changed = onChange;
    return trees.print(await target());
  };
  return await watchTrace({ look, separator: "\n", redraws: true, client, io });
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
  const { createRunsAsker } = await import("../runs/runs-source.ts");
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
        traceTable(nodes, {
          wide: output === "wide",
          now: Date.now(),
          columns: columnsOf(textOption(input, "columns")),
          clean: (text) => harmlessLine(text),
        });
  }
}

/** The columns of `--columns READY,REGION=.spec.region`: those of the usual tables by name, and any field by its JSONPath. */
function columnsOf(text: string | undefined): readonly TraceColumn[] | undefined {
  return text === undefined ? undefined : splitColumns(text).map(columnOf);
}

function columnOf(column: string): TraceColumn {
  const [, title, path] = /^([^=]+)=(.+)$/s.exec(column) ?? [];
  if (title !== undefined && path !== undefined) return { title, value: valueAt(path) };
  const usual = usualColumn(column, Date.now());
  if (usual !== undefined) return usual;
  const expected = "expected TITLE=JSONPATH, such as REGION=.spec.region, or a column of trace -o wide, such as READY";
  throw new UserError(`--columns ${column}: ${expected}`, { exitCode: 2 });
}

/** Splits at commas that are not inside of brackets, braces or quotes: those belong to a JSONPath. */
function splitColumns(text: string): readonly string[] {
  const part = /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|./gs;
  const columns = [""];
  let depth = 0;
  for (const [token] of text.matchAll(part)) {
    if (token === "," && depth === 0) columns.push("");
    else columns.push(`${columns.pop() ?? ""}${token}`);
    if ("[{(".includes(token)) depth += 1;
    else if ("]})".includes(token)) depth = Math.max(0, depth - 1);
  }
  return columns;
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
  const below = new Set(composites.flatMap(referencesOf).map(referenceText));
  const roots = composites.filter((object) => !below.has(nameText(object)));
  const unhealthy = packages.filter((object) => isFollowed(object) && packageState(object).health !== "ready");
  return [...roots.toSorted(byName), ...unhealthy.toSorted(byName)];
}

/** Names an object among all, whatever version a reference names; in the order in which they are shown. */
function referenceText({ apiVersion, kind, name, namespace }: ObjectRef): string {
  return `${kind} ${namespace ?? ""}/${name} ${groupOf(apiVersion)}`;
}

function nameText({ apiVersion, kind, metadata: { name = "", namespace } }: KubeObject): string {
  return referenceText({ apiVersion, kind, name, ...(namespace !== undefined && { namespace }) });
}

function byName(a: KubeObject, b: KubeObject): number {
  return nameText(a) < nameText(b) ? -1 : 1;
}
