// SPDX-License-Identifier: Apache-2.0

import { type Status, StatusError } from "@purlin/kube-objects/errors";
import type { JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type Cluster, openCluster } from "../cluster/cluster-client.ts";
import {
  findTargets,
  namespaceFor,
  pathOf,
  refuseSelectedNames,
  type Target,
  typeText,
} from "../cluster/find-resource.ts";
import { harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { formatTable, growingTable } from "../terminal/screen.ts";
import { UserError } from "../user-error.ts";
import {
  type Fetched,
  fetchTarget,
  type OutputFormat,
  objectsOf,
  printList,
  printObject,
  queryOf,
  readFormat,
  type Selection,
  tableType,
} from "./selected-objects.ts";

/** A Table as API servers make it of objects. */
type Table = {
  readonly columnDefinitions?: readonly { readonly name: string; readonly priority?: number }[];
  readonly rows?: readonly {
    readonly cells: readonly unknown[];
    readonly object?: { readonly metadata?: { readonly namespace?: string } };
  }[];
};

/** What is shown of a Table. */
interface TableOptions {
  /** Also columns that are only for wide screens. */
  readonly isWide: boolean;
  readonly withNamespace: boolean;
  /** Put before each name where several types are shown: `configmap/`. */
  readonly prefix: string;
}

/** How a target is watched. */
interface WatchTargetOptions {
  readonly selection: Selection;
  readonly accept: string;
  /** Changes after this version. */
  readonly resourceVersion: string;
  readonly signal: AbortSignal;
}

interface Getting {
  readonly cluster: Cluster;
  readonly io: Io;
  readonly format: OutputFormat;
  readonly selection: Selection;
  readonly accept: string;
  readonly signal: AbortSignal;
  readonly hasTitles: boolean;
}

/** `purlin get TYPE [NAME…]` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const format = readFormat(textOption(input, "output") ?? "table");
  refuseSelectedNames(input.args, textOption(input, "selector"), textOption(input, "fieldSelector"));
  await using cluster = await openCluster(input, io);
  const targets = await findTargets(cluster.client, input.args, io.signal);
  const selection = {
    namespace: namespaceFor(targets, { isAll: isSet(input, "allNamespaces"), namespace: cluster.namespace }),
    labelSelector: textOption(input, "selector"),
    fieldSelector: textOption(input, "fieldSelector"),
  };
  const accept = format.kind === "table" ? tableType : "application/json";
  const hasTitles = input.options["headers"] !== false;
  const getting = { cluster, io, format, selection, accept, signal: io.signal, hasTitles };
  if (isSet(input, "watch")) await watch(getting, targets);
  else await show(getting, targets);
}

async function show(getting: Getting, targets: readonly Target[]): Promise<void> {
  const fetched: Fetched[] = [];
  const problems: unknown[] = [];
  for (const target of targets) {
    await fetchTarget(getting.cluster, target, getting).then(
      (one) => fetched.push(one),
      (error: unknown) => problems.push(error),
    );
  }
  const [problem, ...others] = problems;
  const text = problem === undefined || fetched.length > 0 ? print(getting, fetched) : "";
  if (text !== "") getting.io.stdout.write(text);
  else if (problem === undefined && fetched.every((one) => isEmpty(getting, one)))
    getting.io.stderr.write(nothingText(getting.selection, targets));
  // The others were found and shown.
  for (const error of others) getting.io.stderr.write(`error: ${harmlessLine((error as Error).message)}\n`);
  if (problem !== undefined) throw problem;
}

/** A template may print nothing of objects that exist. A Table without rows has no text. */
function isEmpty({ format }: Getting, fetched: Fetched): boolean {
  return format.kind === "table" || objectsOf(fetched).length === 0;
}

function print(getting: Getting, fetched: readonly Fetched[]): string {
  const { format } = getting;
  if (format.kind === "table") return printTables(getting, fetched);
  if (format.kind === "name") {
    return fetched.flatMap((one) => objectsOf(one).map((object) => printObject(object, format, one.target))).join("");
  }
  const [only, another] = fetched;
  if (only?.target.name !== undefined && another === undefined)
    return objectsOf(only)
      .map((object) => printObject(object, format, only.target))
      .join("");
  return printList(fetched.flatMap(objectsOf), format);
}

/** A table for each type, as kubectl prints them. */
function printTables(getting: Getting, fetched: readonly Fetched[]): string {
  const byType = Map.groupBy(fetched, ({ target }) => typeText(target.resource));
  const tables = [...byType].flatMap(([type, ofType]) => {
    const [first] = ofType;
    if (first === undefined) return [];
    const options = tableOptions(getting, first.target, byType.size > 1 ? `${type}/` : "");
    const columns = shownColumns(first.answer, options);
    const rows = ofType.flatMap(({ answer }) => rowCells(answer, columns, options));
    if (rows.length === 0) return [];
    const titles = getting.hasTitles ? [titleCells(first.answer, options) ?? []] : [];
    return [`${formatTable([...titles, ...rows])}\n`];
  });
  return tables.join("\n");
}

function tableOptions({ format, selection }: Getting, { resource }: Target, prefix: string): TableOptions {
  const isWide = format.kind === "table" && format.isWide;
  return { isWide, withNamespace: resource.namespaced && selection.namespace === undefined, prefix };
}

function nothingText({ namespace }: Selection, targets: readonly Target[]): string {
  const isNamespaced = targets.some(({ resource }) => resource.namespaced);
  return isNamespaced && namespace !== undefined
    ? `No resources found in ${namespace} namespace.\n`
    : "No resources found\n";
}

/** What there is, and then each change. */
async function watch(getting: Getting, targets: readonly Target[]): Promise<void> {
  const [target, another] = targets;
  if (target === undefined || another !== undefined) throw new UserError("you may only specify a single resource type");
  const { cluster, io } = getting;
  const first = await fetchTarget(cluster, target, getting);
  const printChange = changePrinter(getting, first);
  const resourceVersion = versionOf(first.answer);
  for await (const object of watchTarget(cluster, target, { ...getting, resourceVersion }))
    io.stdout.write(printChange(object));
}

/** Prints what there is, and returns how to print a change. */
function changePrinter(getting: Getting, first: Fetched): (change: JsonValue) => string {
  const { format, io, hasTitles } = getting;
  if (format.kind !== "table") {
    const one = (object: KubeObject): string =>
      `${format.kind === "yaml" ? "---\n" : ""}${printObject(object, format, first.target)}`;
    io.stdout.write(objectsOf(first).map(one).join(""));
    return (object) => one(object as KubeObject);
  }
  const options = tableOptions(getting, first.target, "");
  const columns = shownColumns(first.answer, options);
  const append = growingTable();
  const titles = hasTitles ? [titleCells(first.answer, options) ?? []] : [];
  const rows = rowCells(first.answer, columns, options);
  // Without a row the titles come with the first one.
  if (rows.length > 0) io.stdout.write(append([...titles, ...rows]));
  let pending = rows.length > 0 ? [] : titles;
  return (table) => {
    const text = append([...pending, ...rowCells(table, columns, options)]);
    pending = [];
    return text;
  };
}

/** Each change of a target from a version on, as an object or a Table with one row. Ends with the server's watch. */
async function* watchTarget(
  { client }: Cluster,
  { resource, name }: Target,
  { selection, accept, resourceVersion, signal }: WatchTargetOptions,
): AsyncGenerator<JsonValue, void, undefined> {
  const named = name === undefined ? {} : { fieldSelector: `metadata.name=${name}` };
  const query = { ...queryOf(selection), ...named, resourceVersion };
  const path = pathOf(resource, { namespace: selection.namespace });
  for await (const event of await client.rawWatch({ method: "GET", path, accept, query, signal })) {
    const { type, object } = event as { readonly type: string; readonly object: JsonValue };
    if (type === "ERROR") throw new StatusError(object as Status);
    if (type !== "BOOKMARK") yield object;
  }
}

/** The version of an answer, from which a watch continues. */
function versionOf(answer: JsonValue): string {
  const { metadata } = answer as Pick<KubeObject, "metadata">;
  return metadata.resourceVersion ?? "";
}

/** The titles of a Table's columns; undefined for a Table of a watch that leaves them out. */
function titleCells(answer: JsonValue, options: TableOptions): string[] | undefined {
  const { columnDefinitions = [] } = answer as Table;
  if (columnDefinitions.length === 0) return undefined;
  const titles = shownColumns(answer, options).map((index) =>
    harmlessLine(columnDefinitions[index]?.name.toUpperCase() ?? ""),
  );
  return [...(options.withNamespace ? ["NAMESPACE"] : []), ...titles];
}

/** Which columns of a Table are shown, by index. */
function shownColumns(answer: JsonValue, { isWide }: Pick<TableOptions, "isWide">): number[] {
  const { columnDefinitions = [] } = answer as Table;
  return columnDefinitions.flatMap(({ priority }, index) => (isWide || !priority ? [index] : []));
}

/** The rows of a Table, of the columns that are shown. */
function rowCells(answer: JsonValue, columns: readonly number[], options: TableOptions): string[][] {
  const { rows } = answer as Table;
  return (rows ?? []).map(({ cells, object }) => [
    ...(options.withNamespace ? [object?.metadata?.namespace ?? ""] : []),
    ...columns.map((index) => `${index === 0 ? options.prefix : ""}${cellText(cells[index])}`),
  ]);
}

function cellText(cell: unknown): string {
  return cell === null || cell === undefined ? "" : harmlessLine(String(cell));
}
