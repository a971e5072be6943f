// SPDX-License-Identifier: Apache-2.0

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
  return Object.fromEntries([...pairs].map(([, name = "", value = ""]) => [name, value.replaceAll(/\\(.)/g, "$1")]));
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
