// SPDX-License-Identifier: Apache-2.0
// Metrics in the text form of Prometheus.

/** Values of labels, in the order of their names. */
export type LabelValues = readonly string[];

/** Metrics of one name. */
export interface MetricFamily {
  readonly name: string;
  /** Lines with help, type and samples; empty when there is nothing to tell. */
  lines(): readonly string[];
}

interface FamilyOptions {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** Numbers by labels: counters, which only grow, and gauges. */
export class NumberFamily implements MetricFamily {
  readonly name: string;
  readonly #type: "counter" | "gauge";
  readonly #options: FamilyOptions;
  readonly #samples = new Map<string, number>();

  constructor(type: "counter" | "gauge", options: FamilyOptions) {
    this.name = options.name;
    this.#type = type;
    this.#options = options;
  }

  add(values: LabelValues, amount: number): void {
    const key = labelText(this.#options.labels, values);
    this.#samples.set(key, (this.#samples.get(key) ?? 0) + amount);
  }

  lines(): readonly string[] {
    const samples = [...this.#samples].map(([labels, value]) => `${this.name}${braced(labels)} ${value}`);
    return samples.length === 0 ? [] : [...head(this.#options, this.#type), ...samples.sort()];
  }
}

/** How often values were found at or below each bound. */
export class HistogramFamily implements MetricFamily {
  readonly name: string;
  readonly #options: FamilyOptions;
  readonly #bounds: readonly number[];
  readonly #samples = new Map<string, { readonly counts: number[]; sum: number }>();

  constructor(options: FamilyOptions & { readonly bounds: readonly number[] }) {
    this.name = options.name;
    this.#options = options;
    this.#bounds = options.bounds;
  }

  observe(values: LabelValues, value: number): void {
    const key = labelText(this.#options.labels, values);
    let sample = this.#samples.get(key);
    if (sample === undefined) {
      sample = { counts: new Array<number>(this.#bounds.length + 1).fill(0), sum: 0 };
      this.#samples.set(key, sample);
    }
    const found = this.#bounds.findIndex((bound) => value <= bound);
    const at = found === -1 ? this.#bounds.length : found;
    sample.counts[at] = (sample.counts[at] ?? 0) + 1;
    sample.sum += value;
  }

  lines(): readonly string[] {
    const sorted = [...this.#samples].sort(([a], [b]) => (a < b ? -1 : 1));
    const samples = sorted.flatMap(([labels, sample]) => this.#sampleLines(labels, sample));
    return samples.length === 0 ? [] : [...head(this.#options, "histogram"), ...samples];
  }

  #sampleLines(
    labels: string,
    { counts, sum }: { readonly counts: readonly number[]; readonly sum: number },
  ): string[] {
    let total = 0;
    const buckets = counts.map((count, index) => {
      total += count;
      const bound = this.#bounds[index];
      const le = `le="${bound === undefined ? "+Inf" : boundText(bound)}"`;
      return `${this.name}_bucket${braced(labels === "" ? le : `${labels},${le}`)} ${total}`;
    });
    return [...buckets, `${this.name}_sum${braced(labels)} ${sum}`, `${this.name}_count${braced(labels)} ${total}`];
  }
}

/** Samples that are computed on each scrape. */
export function computedFamily(
  options: FamilyOptions & { readonly type?: "counter" | "gauge" },
  samples: () => Iterable<readonly [LabelValues, number]>,
): MetricFamily {
  return {
    name: options.name,
    lines: () => {
      const lines = [...samples()].map(
        ([values, value]) => `${options.name}${braced(labelText(options.labels, values))} ${value}`,
      );
      return lines.length === 0 ? [] : [...head(options, options.type ?? "gauge"), ...lines.sort()];
    },
  };
}

/** All families as one text, by name. */
export function metricsText(families: readonly MetricFamily[]): string {
  const sorted = families.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return sorted.flatMap((family) => family.lines().map((line) => `${line}\n`)).join("");
}

function head({ name, help }: FamilyOptions, type: string): readonly string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function labelText(names: readonly string[], values: LabelValues): string {
  return names.map((name, index) => `${name}="${escaped(values[index] ?? "")}"`).join(",");
}

function escaped(value: string): string {
  return /[\\"\n]/.test(value) ? value.replaceAll(/[\\"]/g, "\\$&").replaceAll("\n", "\\n") : value;
}

function braced(labels: string): string {
  return labels === "" ? "" : `{${labels}}`;
}

/** Large bounds are written as Go writes them. */
function boundText(bound: number): string {
  return bound >= 1e6 ? bound.toExponential().replace(/e\+(\d)$/, "e+0$1") : String(bound);
}
