// SPDX-License-Identifier: Apache-2.0
import { processorTime } from "../measure/process-usage.ts";
import type { CreateEffort } from "./creates.ts";

/** Something to measure in every round. */
interface Subject {
  readonly name: string;
  /** The processes whose processor time counts. */
  readonly pids: readonly number[];
  /** Creates objects; the first number is how many seconds that took. */
  readonly run: (prefix: string, count: number) => Promise<readonly number[]>;
}

interface Measured {
  /** Microseconds of processor time a create. */
  readonly cost: number[];
  /** Seconds a create. */
  readonly seconds: number[];
}

/**
 * Measures several subjects in turn, in many short rounds. Each round begins with another subject, so that what changes with time, the
 * growth of a store or the load of the machine, changes all of them alike.
 */
export class Rounds {
  readonly #subjects: readonly Subject[];
  readonly #measured = new Map<string, Measured>();

  constructor(subjects: readonly Subject[]) {
    this.#subjects = subjects;
    for (const { name } of subjects) this.#measured.set(name, { cost: [], seconds: [] });
  }

  async measure({ rounds, count, warmUp }: CreateEffort): Promise<void> {
    for (const subject of this.#subjects) await subject.run(`warm-up-${slug(subject.name)}`, warmUp);
    for (let round = 0; round < rounds; round++) {
      const first = round % this.#subjects.length;
      const order = [...this.#subjects.slice(first), ...this.#subjects.slice(0, first)];
      for (const subject of order) await this.#measure(subject, round, count);
    }
  }

  /** What was measured of a subject, round by round. */
  of(what: keyof Measured, name: string): readonly number[] {
    return this.#measured.get(name)?.[what] ?? [];
  }

  async #measure({ name, pids, run }: Subject, round: number, count: number): Promise<void> {
    const used = (): number => pids.reduce((sum, pid) => sum + processorTime(pid), 0);
    const before = used();
    const [seconds = 0] = await run(`r${round}-${slug(name)}`, count);
    const { cost, seconds: times } = this.#measured.get(name) ?? { cost: [], seconds: [] };
    cost.push(((used() - before) / count) * 1e6);
    times.push(seconds / count);
  }
}

const slug = (name: string): string => name.replaceAll(/[^a-z0-9]+/g, "-");
