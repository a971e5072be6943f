// SPDX-License-Identifier: Apache-2.0

/** One series of a histogram. */
interface Series {
  readonly labels: string;
  readonly counts: number[];
  sum: number;
  total: number;
}

interface SeriesHistogramOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly buckets: readonly number[];
}

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
    const { labelNames, buckets } = this.#options;
    const labels = labelNames.map((name, index) => `${name}="${escaped(values[index] ?? "")}"`).join(",");
    const series = this.#series.get(labels) ?? { labels, counts: buckets.map(() => 0), sum: 0, total: 0 };
    this.#series.set(labels, series);
    const { counts } = series;
    return (value) => {
      series.sum += value;
      series.total += 1;
      const at = buckets.findIndex((bound) => value <= bound);
      if (at >= 0) counts[at] = (counts[at] ?? 0) + 1;
    };
  }

  /** The histogram as text for Prometheus. */
  text(): string {
    const { name, help } = this.#options;
    const lines = [...this.#series.values()].filter(({ total }) => total > 0).flatMap((one) => this.#lines(one));
    return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...lines, ""].join("\n");
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

function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, (character) => (character === "\n" ? "\\n" : `\\${character}`));
}
