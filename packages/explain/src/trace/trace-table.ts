// SPDX-License-Identifier: Apache-2.0
// The table of `crossplane resource trace`: the same columns, widths and texts.
import { textOf } from "@purlin/kube-objects/errors";
import { ageOf, type Condition, humanDuration, type KubeObject, stringAt } from "@purlin/kube-objects/object";
import { condition, resourceName, timeToReadyMs } from "../inspect/facts.ts";
import { isPackage } from "../state/object-state.ts";
import { isRevisionObject, type TraceNode } from "./trace-tree.ts";

/** A column of the caller. */
export interface TraceColumn {
  readonly title: string;
  readonly value: (object: KubeObject) => string;
}

/** How to print. */
interface TableOptions {
  /** More columns, and messages in full. */
  readonly wide?: boolean;
  readonly now: number;
  /** These columns between NAME and STATUS instead of the usual ones. */
  readonly columns?: readonly TraceColumn[] | undefined;
  /** Makes text of objects safe to print. */
  readonly clean: (text: string) => string;
}

/** Trees as one table, or as two if there are packages and other objects. */
export function traceTable(nodes: readonly TraceNode[], options: TableOptions): string {
  const packages = nodes.filter(({ object }) => isPackage(object) || isRevisionObject(object));
  const others = nodes.filter((node) => !packages.includes(node));
  const tables = [
    { nodes: others, columns: options.columns ?? compositeColumns(options), end: [] },
    // Crossplane ends each line of a table of packages with an empty cell.
    { nodes: packages, columns: options.columns ?? packageColumns(options), end: [""] },
  ];
  return tables
    .filter((table) => table.nodes.length > 0)
    .map(({ nodes: shown, columns, end }) => {
      const lines = [header(columns), ...shown.flatMap((node) => rows(node, columns, options))];
      return format(lines.map((line) => [...line, ...end]));
    })
    .join("\n");
}

function header(columns: readonly TraceColumn[]): readonly string[] {
  return ["NAME", ...columns.map(({ title }) => title), "STATUS"];
}

interface Indent {
  readonly own: string;
  readonly below: string;
}

function rows(node: TraceNode, columns: readonly TraceColumn[], options: TableOptions): readonly (readonly string[])[] {
  const lines: string[][] = [];
  const visit = ({ object, error, children }: TraceNode, { own, below }: Indent): void => {
    const values = columns.map(({ value }) => options.clean(value(object)));
    lines.push([`${own}${options.clean(nameOf(object))}`, ...values, options.clean(statusOf(object, error, options))]);
    for (const [index, child] of children.entries()) {
      const isLast = index === children.length - 1;
      visit(child, { own: `${below}${isLast ? "└─ " : "├─ "}`, below: `${below}${isLast ? "   " : "│  "}` });
    }
  };
  visit(node, { own: "", below: "" });
  return lines;
}

function nameOf({ kind, metadata: { name = "", namespace } }: KubeObject): string {
  return `${kind}/${name}${namespace === undefined ? "" : ` (${namespace})`}`;
}

const state =
  (type: string): TraceColumn["value"] =>
  (object) =>
    condition(object, type)?.status ?? "-";

function compositeColumns({ wide = false, now }: TableOptions): readonly TraceColumn[] {
  const usual = [
    { title: "SYNCED", value: state("Synced") },
    { title: "READY", value: state("Ready") },
  ];
  if (!wide) return usual;
  const age = { title: "AGE", value: (object: KubeObject) => ageOf(object.metadata.creationTimestamp, now) };
  const resource = { title: "RESOURCE", value: (object: KubeObject) => resourceName(object) ?? "" };
  return [resource, ...usual, age, { title: "TIME-TO-READY", value: timeToReady }];
}

/** One of the columns of the tables, by its title; undefined where there is none such. */
export function usualColumn(title: string, now: number): TraceColumn | undefined {
  const options = { wide: true, now, clean: (text: string) => text };
  return [...compositeColumns(options), ...packageColumns(options)].find((column) => column.title === title);
}

function timeToReady(object: KubeObject): string {
  const ms = timeToReadyMs(object);
  return ms === undefined ? "-" : humanDuration(ms);
}

function packageColumns({ wide = false }: TableOptions): readonly TraceColumn[] {
  const image = (object: KubeObject): string =>
    stringAt(object, ["spec", "package"]) || stringAt(object, ["spec", "image"]);
  const usual = [
    { title: "VERSION", value: (object: KubeObject) => versionOf(image(object)) },
    {
      title: "INSTALLED",
      value: (object: KubeObject) => (isRevisionObject(object) ? "-" : state("Installed")(object)),
    },
    { title: "HEALTHY", value: (object: KubeObject) => healthOf(object)?.status ?? "-" },
    { title: "STATE", value: (object: KubeObject) => stringAt(object, ["spec", "desiredState"]) || "-" },
  ];
  return wide ? [{ title: "PACKAGE", value: image }, ...usual] : usual;
}

/** The tag of an image, or its digest. */
function versionOf(image: string): string {
  return /@(sha256:[0-9a-f]+)$/.exec(image)?.[1] ?? /:([^:/]+)$/.exec(image)?.[1] ?? "";
}

/** The first part of a package's health that is not True. */
function healthOf(object: KubeObject): Condition | undefined {
  const parts = ["Healthy", "RevisionHealthy", "RuntimeHealthy"].flatMap((type) => condition(object, type) ?? []);
  return parts.find(({ status }) => status !== "True") ?? parts[0];
}

const longest = 64;

function statusOf(object: KubeObject, error: unknown, { wide = false }: TableOptions): string {
  if (object.metadata.deletionTimestamp) return "Deleting";
  if (error !== undefined) return `Error: ${shortened(textOf(error), wide)}`;
  const [first, second] =
    isPackage(object) || isRevisionObject(object) ? packageStates(object) : compositeStates(object);
  const bad = [first, second].find((one) => one !== undefined && one.status !== "True");
  const shown = bad ?? second ?? first;
  if (shown === undefined) return "";
  const message = bad?.message ?? "";
  return message === "" ? shown.reason : `${shown.reason}: ${shortened(message, wide)}`;
}

function compositeStates(object: KubeObject): readonly [Condition | undefined, Condition | undefined] {
  return [condition(object, "Synced"), condition(object, "Ready")];
}

function packageStates(object: KubeObject): readonly [Condition | undefined, Condition | undefined] {
  return [isRevisionObject(object) ? undefined : condition(object, "Installed"), healthOf(object)];
}

function shortened(text: string, wide: boolean): string {
  return wide || text.length <= longest ? text : `...${text.slice(-longest)}`;
}

const minWidth = 6;
const padding = 3;

/** Columns as Go's tabwriter aligns them; the last one as it is. */
function format(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(minWidth, ...lines.map((line) => (line[column] ?? "").length + padding)),
  );
  return lines
    .map(
      (line) =>
        `${line.map((cell, column) => (column === line.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join("")}\n`,
    )
    .join("");
}
