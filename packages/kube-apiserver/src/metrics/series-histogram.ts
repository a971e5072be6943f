// SPDX-License-Identifier: Apache-2.0

/** One series of a histogram. */
interface Series {
  readonly labels: string;
  readonly counts: number[];
  /** The last observations, in no order; empty unless quantiles are shown. */
  readonly recent: Float64Array;
  sum: number;
  total: number;
}

interface SeriesHistogramOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly buckets: readonly number[];
  /** The name under which the same observations are shown as a summary; none by default. */
  readonly summary?: string;
}

/** As many observations of a series as its quantiles are of. */
const recentCount = 1024;
const quantiles = [0.5, 0.9, 0.99];

/**
 * A histogram whose series are looked up once and then kept by those that observe: an observation costs a few additions. For what every
 * write observes several times; prom-client looks a series up by its labels each time.
 */
export class SeriesHistogram {
  readonly #options: SeriesHistogramOptions;
  readonly #series = new Map<string, Series>();

  constructor(options: SeriesHistogramOptions) {
    this.#options = options;
  }

  /** The function that observes a series. The series is shown once it has an observation. */
  series(...values: readonly string[]): (value: number) => void {
    const { labelNames, buckets, summary } = this.#options;
    const labels = labelNames.map((name, index) => `${name}="${escaped(values[index] ?? "")}"`).join(",");
    const series = this.#series.get(labels) ?? {
      labels,
      counts: buckets.map(() => 0),
      recent: new Float64Array(summary === undefined ? 0 : recentCount),
      sum: 0,
      total: 0,
    };
    this.#series.set(labels, series);
    const { counts, recent } = series;
    return (value) => {
      if (recent.length > 0) recent[series.total % recentCount] = value;
      series.sum += value;
      series.total += 1;
      const at = buckets.findIndex((bound) => value <= bound);
      if (at >= 0) counts[at] = (counts[at] ?? 0) + 1;
    };
  }

  /** The histogram, and its summary, as text for Prometheus. */
  text(): string {
    const { name, help, summary } = this.#options;
    const observed = [...this.#series.values()].filter(({ total }) => total > 0);
    const lines = [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} histogram`,
      ...observed.flatMap((one) => this.#lines(one)),
    ];
    if (summary !== undefined) {
      lines.push(`# HELP ${summary} ${help}`, `# TYPE ${summary} summary`);
      lines.push(...observed.flatMap((one) => summaryLines(summary, one)));
    }
    return [...lines, ""].join("\n");
  }

  #lines({ labels, counts, sum, total }: Series): string[] {
    const { name, buckets } = this.#options;
    let below = 0;
    const shown = buckets.map((bound, index) => {
      below += counts[index] ?? 0;
      return `${name}_bucket{${labels},le="${bound}"} ${below}`;
    });
    return [
      ...shown,
      `${name}_bucket{${labels},le="+Inf"} ${total}`,
      `${name}_sum{${labels}} ${sum}`,
      `${name}_count{${labels}} ${total}`,
    ];
  }
}

/** The quantiles are those of the last observations. */
function summaryLines(name: string, { labels, recent, sum, total }: Series): string[] {
  const values = recent.slice(0, total).sort();
  const shown = quantiles.map((quantile) => {
    const value = values[Math.ceil(quantile * values.length) - 1] ?? 0;
    return `${name}{${labels},quantile="${quantile}"} ${value}`;
  });
  return [...shown, `${name}_sum{${labels}} ${sum}`, `${name}_count{${labels}} ${total}`];
}

function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, (character) => (character === "\n" ? "\\n" : `\\${character}`));
}
