// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { isNotFound } from "@purlin/kube-objects/errors";
import { queryOf, type RunSummary, runsPath } from "@purlin/run-store";
import { type Cluster, openCluster } from "../cluster/cluster-client.ts";
import { harmless } from "../harmless.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, parseDuration, textOption } from "../options/command-spec.ts";
import { formatTable } from "../terminal/screen.ts";
import { UserError } from "../user-error.ts";
import {
  type FunctionCalls,
  type PlaneUsage,
  type PodUsage,
  type ProcessUsage,
  podSummary,
  podTable,
  podUsage,
  processesPath,
  quantile,
  readFunctionCalls,
} from "./usage.ts";

/** What is known of one function. */
interface FunctionRow {
  readonly function: string;
  readonly calls: number;
  readonly callsPerSecond: number;
  readonly p50Seconds: number | null;
  readonly p95Seconds: number | null;
  readonly errors: number;
  readonly cpus: number | null;
  readonly memoryBytes: number | null;
}

interface TopOptions {
  readonly what: readonly string[];
  readonly intervalMs: number;
  readonly sinceMs: number;
  readonly isJson: boolean;
  readonly isSummed: boolean;
}

/** `purlin top [functions|xrs]` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const options = readOptions(input);
  await using cluster = await openCluster(input, io);
  const first = await sample(cluster, io);
  if (first === undefined) return await topOfPods(cluster, input, { io, options });
  let before: Sample = first;
  do {
    if (options.what.includes("functions")) await delay(options.intervalMs, undefined, { signal: io.signal });
    const now: Sample = (await sample(cluster, io)) ?? before;
    const functions = options.what.includes("functions") ? functionRows(before, now) : undefined;
    const plane = options.what.includes("functions") ? planeUsage(before, now) : undefined;
    const xrs = options.what.includes("xrs") ? await compositeRows(cluster, options, io) : undefined;
    print({ plane, functions, xrs }, options, io);
    before = now;
    if (isSet(input, "watch") && functions === undefined) {
      await delay(options.intervalMs, undefined, { signal: io.signal });
    }
  } while (isSet(input, "watch"));
}

function readOptions(input: CommandInput): TopOptions {
  const [what] = input.args;
  if (what !== undefined && what !== "functions" && what !== "xrs") {
    throw new UserError(`top ${what}: expected functions or xrs`, { exitCode: 2 });
  }
  const output = textOption(input, "output") ?? "table";
  if (output !== "table" && output !== "json") {
    throw new UserError(`--output ${output}: expected table or json`, { exitCode: 2 });
  }
  return {
    what: what === undefined ? ["functions", "xrs"] : [what],
    intervalMs: durationOf(input, "interval"),
    sinceMs: durationOf(input, "since"),
    isJson: output === "json",
    isSummed: isSet(input, "summary"),
  };
}

function durationOf(input: CommandInput, name: "interval" | "since"): number {
  const text = textOption(input, name) ?? (name === "interval" ? "1s" : "1h");
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0) return ms;
  throw new UserError(`--${name}: expected a duration such as 30s or 1m30s, not "${text}"`, { exitCode: 2 });
}

/** What the control plane has counted so far. */
interface Sample {
  readonly at: number;
  readonly calls: ReadonlyMap<string, FunctionCalls>;
  readonly processes: readonly ProcessUsage[];
  readonly plane: PlaneUsage;
}

/** Undefined where the API server is not that of a control plane on this machine. */
async function sample({ client }: Cluster, { signal }: Io): Promise<Sample | undefined> {
  try {
    const document: unknown = await client.raw({ method: "GET", path: processesPath, signal });
    const metrics = await client.raw({ method: "GET", path: "/metrics", signal });
    const { items, plane } = document as {
      readonly items: readonly ProcessUsage[];
      readonly plane: PlaneUsage;
    };
    return { at: performance.now(), calls: readFunctionCalls(String(metrics)), processes: items, plane };
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

function functionRows(before: Sample, now: Sample): FunctionRow[] {
  const names = new Set([...now.processes.map(({ name }) => functionOf(name, now)), ...now.calls.keys()]);
  const seconds = Math.max(0.001, (now.at - before.at) / 1000);
  return [...names].sort().map((name) => {
    const calls = now.calls.get(name) ?? { calls: 0, errors: 0, buckets: new Map<number, number>() };
    const own = now.processes.filter((process) => functionOf(process.name, now) === name);
    const measured = own.filter(({ memoryBytes }) => memoryBytes !== undefined);
    const total = (field: "cpus" | "memoryBytes"): number | null =>
      measured.length === 0 ? null : measured.reduce((sum, process) => sum + (process[field] ?? 0), 0);
    return {
      function: name,
      calls: calls.calls,
      callsPerSecond: (calls.calls - (before.calls.get(name)?.calls ?? 0)) / seconds,
      p50Seconds: quantile(calls, 0.5) ?? null,
      p95Seconds: quantile(calls, 0.95) ?? null,
      errors: calls.errors,
      cpus: total("cpus"),
      memoryBytes: total("memoryBytes"),
    };
  });
}

/** Processes of packages have the names of revisions: FUNCTION-HASH. */
function functionOf(process: string, { calls }: Sample): string {
  if (calls.has(process)) return process;
  return [...calls.keys()].find((name) => new RegExp(`^${RegExp.escape(name)}-[0-9a-f]{12}$`).test(process)) ?? process;
}

async function compositeRows(cluster: Cluster, { sinceMs }: TopOptions, { signal }: Io): Promise<CompositeRate[]> {
  const now = Date.now();
  const query = queryOf({ sinceMs: now - sinceMs });
  const answer: unknown = await cluster.client.raw({ method: "GET", path: runsPath, query, signal });
  const { items } = answer as { readonly items: readonly RunSummary[] };
  return compositeRates(items, { now, sinceMs });
}

/** What the control plane itself uses. */
interface PlaneRow {
  readonly cpus: number;
  readonly memoryBytes: number;
}

function planeUsage(before: Sample, { at, plane }: Sample): PlaneRow {
  const seconds = Math.max(0.001, (at - before.at) / 1000);
  return { cpus: (plane.cpuSeconds - before.plane.cpuSeconds) / seconds, memoryBytes: plane.memoryBytes };
}

interface Measured {
  readonly plane: PlaneRow | undefined;
  readonly functions: readonly FunctionRow[] | undefined;
  readonly xrs: readonly CompositeRate[] | undefined;
}

function print(measured: Measured, { isJson, isSummed }: TopOptions, io: Io): void {
  if (isJson) {
    io.stdout.write(`${JSON.stringify(measured, undefined, 2)}\n`);
    return;
  }
  const { plane, functions, xrs } = measured;
  const tables = [
    ...(plane === undefined || functions === undefined ? [] : [processTable(plane, functions, isSummed)]),
    ...(xrs === undefined ? [] : [compositeTable(xrs)]),
  ];
  io.stdout.write(`${harmless(tables.join("\n\n"))}\n`);
}

/** The columns of a cluster, then what a control plane on this machine counts. Its processes are in no namespace. */
function processTable(plane: PlaneRow, functions: readonly FunctionRow[], isSummed: boolean): string {
  const rows: readonly (readonly [type: string, name: string, PlaneRow | FunctionRow])[] = [
    ["purlin", "purlin", plane],
    ...functions.map((row) => ["function", row.function, row] as const),
  ];
  const usages = rows.map(([type, name, { cpus, memoryBytes }]): PodUsage => {
    const milliCpus = cpus === null ? null : Math.round(cpus * 1000);
    return { type, namespace: "", name, milliCpus, memoryBytes };
  });
  const titles = ["CALLS", "CALLS/S", "P50", "P95", "ERRORS"];
  const cells = (index: number): readonly string[] => {
    const row = functions[index - 1];
    return row === undefined ? titles.map(() => "-") : callCells(row);
  };
  const summary = isSummed ? podSummary(usages, "processes") : "";
  return `${summary}${podTable(usages, { titles, cells })}`;
}

function callCells({ calls, callsPerSecond, p50Seconds, p95Seconds, errors }: FunctionRow): readonly string[] {
  return [String(calls), callsPerSecond.toFixed(1), secondsText(p50Seconds), secondsText(p95Seconds), String(errors)];
}

function secondsText(seconds: number | null): string {
  if (seconds === null) return "-";
  return seconds < 1 ? `${Math.max(1, Math.round(seconds * 1000))}ms` : `${seconds.toFixed(1)}s`;
}

function compositeTable(rows: readonly CompositeRate[]): string {
  const title = ["COMPOSITE", "NAMESPACE", "RECONCILES", "PER MINUTE", "FAILED", "P95"];
  return formatTable([
    title,
    ...rows.map(({ composite, namespace, reconciles, perMinute, failed, p95Ms }) => [
      composite,
      namespace,
      String(reconciles),
      perMinute.toFixed(1),
      String(failed),
      `${Math.round(p95Ms)}ms`,
    ]),
  ]);
}

async function topOfPods(
  cluster: Cluster,
  input: CommandInput,
  { io, options }: { readonly io: Io; readonly options: TopOptions },
): Promise<undefined> {
  if (!options.what.includes("functions"))
    throw new UserError(
      "top xrs: only a control plane of purlin up counts reconciles; on a cluster use purlin runs ls",
    );
  const isWanted = ({ type }: PodUsage): boolean => options.what.includes("xrs") || type === "function";
  for (;;) {
    const all = await podUsage(cluster, textOption(input, "namespace") ?? "crossplane-system", io);
    const pods = all.filter(isWanted);
    const text = `${options.isSummed ? podSummary(pods, "Crossplane pods") : ""}${podTable(pods)}`;
    io.stdout.write(`${options.isJson ? JSON.stringify({ pods }, undefined, 2) : harmless(text)}\n`);
    if (!isSet(input, "watch")) return;
    await delay(options.intervalMs, undefined, { signal: io.signal });
  }
}

/** How often one composite resource is reconciled. */
export interface CompositeRate {
  readonly composite: string;
  readonly namespace: string;
  readonly reconciles: number;
  readonly failed: number;
  readonly perMinute: number;
  readonly p95Ms: number;
}

/** Reconciles by composite resource in the last `sinceMs`, most often first. Equal runs that were recorded once count as often as they ran. */
export function compositeRates(
  runs: readonly RunSummary[],
  { now, sinceMs }: { readonly now: number; readonly sinceMs: number },
): CompositeRate[] {
  const recent = runs.filter(({ last, began }) => Date.parse(last || began) >= now - sinceMs);
  const groups = Map.groupBy(recent, ({ xr }) => `${xr.kind}/${xr.name}\n${xr.namespace ?? ""}`);
  const rates = [...groups].map(([key, own]) => rateOf(key, own, { now, sinceMs }));
  return rates.sort((a, b) => b.reconciles - a.reconciles || (a.composite < b.composite ? -1 : 1));
}

function rateOf(
  key: string,
  runs: readonly RunSummary[],
  { now, sinceMs }: { readonly now: number; readonly sinceMs: number },
): CompositeRate {
  const [composite = "", namespace = ""] = key.split("\n");
  let reconciles = 0;
  let failed = 0;
  for (const run of runs) {
    const times = within(run, now - sinceMs);
    reconciles += times;
    if (run.outcome === "failed") failed += times;
  }
  const oldest = Math.min(...runs.map(({ began }) => Date.parse(began)));
  const minutes = Math.max(1, Math.min(sinceMs, now - oldest) / 60_000);
  const durations = runs.map(({ durationMs }) => durationMs).sort((a, b) => a - b);
  const p95Ms = durations[Math.ceil(durations.length * 0.95) - 1] ?? 0;
  return { composite, namespace, reconciles, failed, perMinute: reconciles / minutes, p95Ms };
}

/** How often a run and those equal to it ran since a time, as if they were evenly spread. */
function within({ began, last, repeats }: RunSummary, since: number): number {
  const [from, to] = [Date.parse(began), Date.parse(last || began)];
  if (from >= since || to <= from) return repeats + 1;
  return Math.max(1, Math.round((repeats * (to - since)) / (to - from)));
}
