// SPDX-License-Identifier: Apache-2.0

import type { FunctionProcess } from "@purlin/function-process";
import { isNotFound } from "@purlin/kube-objects/errors";
import type { JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { quantityValue } from "@purlin/kube-objects/typed";
import type { Cluster } from "../cluster/cluster-client.ts";
import type { Io } from "../io.ts";
import { formatTable } from "../terminal/screen.ts";
import { UserError } from "../user-error.ts";

/** What a Pod of the control plane uses, or a process of one on this machine. */
export interface PodUsage {
  readonly type: string;
  readonly namespace: string;
  readonly name: string;
  /** Null where nothing was measured yet. */
  readonly milliCpus: number | null;
  readonly memoryBytes: number | null;
}

interface PodMetrics extends KubeObject {
  readonly containers?: readonly { readonly usage?: { readonly cpu?: string; readonly memory?: string } }[];
}

const podType = { apiVersion: "v1", kind: "Pod" };

/** The Pods of Crossplane or Purlin, of providers and of functions in a namespace, with what the metrics server measured. */
export async function podUsage({ client }: Cluster, namespace: string, io: Io): Promise<PodUsage[]> {
  const { items: pods } = await client.list(podType, { namespace, signal: io.signal });
  const metrics = await client
    .raw({ method: "GET", path: `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods`, signal: io.signal })
    .catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
      throw new UserError("the cluster has no metrics API: install the metrics server (metrics.k8s.io)", {
        cause: error,
      });
    });
  const { items = [] } = metrics as { readonly items?: readonly PodMetrics[] };
  const measured = new Map(items.map((item) => [item.metadata.name, item]));
  return pods.flatMap((pod) => {
    const type = typeOf(pod);
    const { name = "" } = pod.metadata;
    return type === undefined ? [] : [{ type, namespace, name, ...sumOf(measured.get(name)) }];
  });
}

function typeOf({ metadata }: KubeObject): string | undefined {
  const labels = metadata.labels ?? {};
  if (labels["pkg.crossplane.io/function"] !== undefined) return "function";
  if (labels["pkg.crossplane.io/provider"] !== undefined) return "provider";
  const partOf = labels["app.kubernetes.io/part-of"] ?? labels["app.kubernetes.io/name"];
  return partOf === "crossplane" || partOf === "purlin" ? partOf : undefined;
}

function sumOf(metrics: PodMetrics | undefined): { readonly milliCpus: number; readonly memoryBytes: number } {
  let [milliCpus, memoryBytes] = [0, 0];
  for (const { usage = {} } of metrics?.containers ?? []) {
    milliCpus += Math.ceil(numberOf(usage.cpu) * 1000);
    memoryBytes += numberOf(usage.memory);
  }
  return { milliCpus, memoryBytes };
}

function numberOf(text: string | undefined): number {
  return text === undefined ? 0 : (quantityValue(text) ?? 0);
}

/** The table of `crossplane cluster top`, with columns of ours after its own. */
export function podTable(
  pods: readonly PodUsage[],
  more: { readonly titles: readonly string[]; readonly cells: (index: number) => readonly string[] } = noMore,
): string {
  const rows = pods.map(({ type, namespace, name, milliCpus, memoryBytes }, index) => [
    type,
    namespace === "" ? "-" : namespace,
    name,
    milliCpus === null ? "-" : `${milliCpus}m`,
    memoryBytes === null ? "-" : mebibytes(memoryBytes),
    ...more.cells(index),
  ]);
  return formatTable([["TYPE", "NAMESPACE", "NAME", "CPU(cores)", "MEMORY", ...more.titles], ...rows]);
}

const noMore = { titles: [], cells: () => [] };

/** What `crossplane cluster top -s` prints first. On a machine there are processes in place of Pods. */
export function podSummary(pods: readonly PodUsage[], noun: "Crossplane pods" | "processes"): string {
  const counts = [...Map.groupBy(pods, ({ type }) => type)].sort(([a], [b]) => (a < b ? -1 : 1));
  const sum = (field: "milliCpus" | "memoryBytes"): number => pods.reduce((total, pod) => total + (pod[field] ?? 0), 0);
  const lines = [
    `Nr of ${noun}: ${pods.length}`,
    ...counts.map(([type, own]) => `${type.charAt(0).toUpperCase()}${type.slice(1)}: ${own.length}`),
    `Memory: ${mebibytes(sum("memoryBytes"))}`,
    `CPU(cores): ${sum("milliCpus")}m`,
  ];
  return `${lines.join("\n")}\n\n`;
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)}Mi`;
}

/** What was counted of the calls of one function since the control plane started. */
export interface FunctionCalls {
  readonly calls: number;
  /** Calls that failed, and responses with a fatal result. */
  readonly errors: number;
  /** Calls by upper bound of their duration in seconds, cumulative, as in a Prometheus histogram. */
  readonly buckets: ReadonlyMap<number, number>;
}

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const prefix = "function_run_function_";

/** Reads calls by function from metrics in the text format of Prometheus. */
export function readFunctionCalls(metrics: string): ReadonlyMap<string, FunctionCalls> {
  const found = new Map<string, { calls: number; errors: number; buckets: Map<number, number> }>();
  for (const { name, labels, value } of samplesOf(metrics)) {
    const functionName = labels["function_name"] ?? "";
    const one = found.get(functionName) ?? { calls: 0, errors: 0, buckets: new Map<number, number>() };
    found.set(functionName, one);
    if (name === `${prefix}response_total`) {
      one.calls += value;
      if (labels["grpc_code"] !== "OK" || labels["result_severity"] === "Fatal") one.errors += value;
    } else {
      const bound = labels["le"] === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels["le"]);
      one.buckets.set(bound, (one.buckets.get(bound) ?? 0) + value);
    }
  }
  return found;
}

const wanted = new RegExp(`^(${prefix}response_total|${prefix}seconds_bucket)\\{(.*)\\} (\\S+)`);

function* samplesOf(metrics: string): Iterable<Sample> {
  for (const line of metrics.split("\n")) {
    const [, name, labels = "", value] = wanted.exec(line) ?? [];
    if (name === undefined) continue;
    yield { name, labels: labelsOf(labels), value: Number(value) };
  }
}

function labelsOf(text: string): Record<string, string> {
  const pairs = text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g);
  const unescaped = (value: string): string => value.replaceAll(/\\(.)/g, (_, sign) => (sign === "n" ? "\n" : sign));
  return Object.fromEntries([...pairs].map(([, name = "", value = ""]) => [name, unescaped(value)]));
}

/** A quantile of the durations in seconds, between the bounds of its bucket in proportion; undefined without calls. */
export function quantile({ buckets }: Pick<FunctionCalls, "buckets">, q: number): number | undefined {
  const bounds = [...buckets].sort(([a], [b]) => a - b);
  const total = bounds.at(-1)?.[1] ?? 0;
  if (total === 0) return undefined;
  const rank = q * total;
  let [below, countBelow] = [0, 0];
  for (const [bound, count] of bounds) {
    if (count >= rank) {
      // Nothing is known of what is longer than the last bound.
      if (bound === Number.POSITIVE_INFINITY) return below;
      return below + ((bound - below) * (rank - countBelow)) / Math.max(1, count - countBelow);
    }
    [below, countBelow] = [bound, count];
  }
  return below;
}

/** Where a control plane on this machine serves what the processes of its functions use. */
export const processesPath = "/purlin/v1/processes";

/** What the processes of one function use. */
export interface ProcessUsage {
  readonly name: string;
  readonly phase: string;
  /** Processors, on average since the measurement before. */
  readonly cpus?: number;
  readonly memoryBytes?: number;
  readonly processes?: number;
}

/** What the process of the control plane itself uses. */
export interface PlaneUsage {
  /** Since it started, in all of its threads. */
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
}

/** The processes of all functions, and that of the control plane itself; undefined for any other path. */
export function processesDocument(
  processes: readonly Pick<FunctionProcess, "name" | "state" | "usage">[],
  path: string,
): JsonValue | undefined {
  if (path !== processesPath) return undefined;
  const { user, system } = process.cpuUsage();
  const plane = { cpuSeconds: (user + system) / 1e6, memoryBytes: process.memoryUsage.rss() };
  return { items: processes.map(({ name, state, usage }) => ({ name, phase: state.phase, ...usage })), plane };
}
