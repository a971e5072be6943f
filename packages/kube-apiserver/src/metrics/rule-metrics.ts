// SPDX-License-Identifier: Apache-2.0
import type { Work } from "@purlin/base";
import { Histogram, type Registry } from "prom-client";

/** Times the rules of custom resources as the reference does, under the same names. */
export class RuleMetrics {
  readonly #compilations: Histogram;
  readonly #evaluations: Histogram;

  constructor(registry: Registry) {
    const histogram = (name: string, help: string): Histogram =>
      new Histogram({ name: `apiserver_cel_${name}_duration_seconds`, help, buckets, registers: [registry] });
    this.#compilations = histogram("compilation", "CEL compilation time in seconds.");
    this.#evaluations = histogram("evaluation", "CEL evaluation time in seconds.");
  }

  /** Observes the compilation of the rules of a schema. */
  compiling<T>(compile: () => T): T {
    const started = performance.now();
    const compiled = compile();
    this.#compilations.observe((performance.now() - started) / 1000);
    return compiled;
  }

  /** Observes the evaluation of the rules for an object, without what other requests do between its parts. */
  *evaluating<T>(work: Work<T>): Work<T> {
    let busy = 0;
    for (;;) {
      const started = performance.now();
      const step = work.next();
      busy += performance.now() - started;
      if (step.done) {
        this.#evaluations.observe(busy / 1000);
        return step.value;
      }
      yield step.value;
    }
  }
}

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
