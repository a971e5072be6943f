// SPDX-License-Identifier: Apache-2.0
// The thread that fuzzes one target: runs batches of inputs and keeps those that reach new code.
import { setImmediate as nextTurn } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { targets } from "../targets/index.ts";
import { allInputs } from "./corpus.ts";
import { type Coverage, startCoverage } from "./coverage.ts";
import { type CurrentInput, currentInput, type FuzzOrder, type FuzzReport, type Reached } from "./messages.ts";
import { minimize } from "./minimize.ts";
import { mutate } from "./mutate.ts";
import { createRandom, type Random } from "./random.ts";
import { requireCleanPrototypes, type Target } from "./target.ts";

/** Reading the coverage costs as much as many small inputs: batches grow until it is a small part of the time. */
const batchSizes = { least: 16, most: 1024 };
const maxBatchMs = 300;
const maxPool = 2_000;
/** Memory of native objects, such as SQL statements, is freed between turns of the event loop only. */
const inputsPerTurn = 64;

class Fuzzer {
  readonly #target: Target;
  readonly #current: CurrentInput;
  readonly #coverage: Coverage;
  readonly #random: Random;
  readonly #pool: Buffer[] = [];
  readonly #keep: number;
  /** What to report at the end, most blocks first. */
  #reached: readonly Reached[] = [];
  readonly #found = new Set<string>();
  #executions = 0;
  #end = Number.POSITIVE_INFINITY;
  #batchSize = batchSizes.least;

  constructor(target: Target, { current, seed, keep = 0 }: FuzzOrder) {
    this.#target = target;
    this.#keep = keep;
    this.#current = currentInput(current);
    this.#random = createRandom(seed);
    this.#coverage = startCoverage(target.covers);
  }

  async fuzz(inputs: readonly Buffer[], milliseconds: number): Promise<void> {
    for (const input of inputs) await this.#batch([input]);
    // The stored inputs stay in the pool whether or not they reach anything new.
    this.#pool.push(...inputs);
    this.#reached = [];
    const { dictionary, maxBytes = 4096 } = this.#target;
    this.#end = performance.now() + milliseconds;
    let reported = performance.now();
    while (performance.now() < this.#end) {
      const sources = { pool: this.#pool, dictionary, maxBytes };
      await this.#batch(Array.from({ length: this.#batchSize }, () => mutate(this.#random, sources)));
      if (performance.now() - reported > 1_000) {
        this.#report();
        reported = performance.now();
      }
    }
    this.#report();
    for (const one of this.#reached) send({ kind: "reached", ...one });
  }

  #report(): void {
    send({ kind: "progress", executions: this.#executions, blocks: this.#coverage.size, pool: this.#pool.length });
  }

  /** Runs some inputs, and finds out which of them reached new blocks. */
  async #batch(inputs: readonly Buffer[]): Promise<void> {
    const started = performance.now();
    for (const input of inputs) await this.#try(input);
    const ran = performance.now();
    const added = this.#coverage.keepNew(this.#coverage.take());
    const isCheap = (performance.now() - ran) * 8 < ran - started || ran - started > maxBatchMs;
    this.#batchSize = isCheap
      ? Math.max(batchSizes.least, this.#batchSize >> 1)
      : Math.min(batchSizes.most, this.#batchSize << 1);
    if (added.size > 0) await this.#attribute(inputs, added);
  }

  async #attribute(inputs: readonly Buffer[], blocks: ReadonlySet<string>): Promise<void> {
    const [first] = inputs;
    if (first === undefined || performance.now() > this.#end) return;
    if (inputs.length === 1) {
      if (this.#pool.length >= maxPool) this.#pool.splice(this.#random.below(maxPool), 1);
      this.#pool.push(first);
      this.#reached = [...this.#reached, { bytes: first, blocks: blocks.size }]
        .sort((a, b) => b.blocks - a.blocks)
        .slice(0, this.#keep);
      return;
    }
    const middle = inputs.length >> 1;
    for (const half of [inputs.slice(0, middle), inputs.slice(middle)]) {
      for (const input of half) await this.#try(input);
      const reached = this.#coverage.take().intersection(blocks);
      if (reached.size > 0) await this.#attribute(half, reached);
    }
  }

  async #try(input: Buffer): Promise<void> {
    this.#executions += 1;
    if (this.#executions % inputsPerTurn === 0) await nextTurn();
    const error = await this.#failureOf(input);
    if (error === undefined || this.#found.has(signatureOf(error))) return;
    const signature = signatureOf(error);
    this.#found.add(signature);
    const bytes = await minimize(input, async (candidate) => {
      const other = await this.#failureOf(candidate);
      return other !== undefined && signatureOf(other) === signature;
    });
    send({ kind: "finding", bytes, error: textOf(await this.#failureOf(bytes)) });
  }

  async #failureOf(input: Buffer): Promise<unknown> {
    this.#current.begin(input);
    try {
      // A copy: what a parser does to its input must not reach the pool.
      const running = this.#target.run(Buffer.from(input));
      if (running instanceof Promise) await running;
      requireCleanPrototypes();
      return undefined;
    } catch (error) {
      return error ?? new Error("undefined was thrown");
    } finally {
      this.#current.end();
    }
  }
}

const send = (report: FuzzReport): void => parentPort?.postMessage(report);

const textOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

/** Failures with the same name at the same place are one finding. */
function signatureOf(error: unknown): string {
  const [, ...frames] = textOf(error).split("\n    at ");
  const own = frames.find((frame) => frame.includes("/packages/")) ?? frames[0] ?? "";
  return `${error instanceof Error ? error.name : typeof error} ${own}`;
}

const order = workerData as FuzzOrder;
const target = await targets[order.target]?.();
if (target === undefined) throw new Error(`no fuzz target "${order.target}"`);
if (order.replay) {
  const current = currentInput(order.current);
  current.begin(order.replay);
  try {
    await target.run(Buffer.from(order.replay));
  } catch {
    // Only its time and its memory are asked for.
  }
  current.end();
} else {
  const inputs = allInputs(order.target, target).map(({ bytes }) => bytes);
  await new Fuzzer(target, order).fuzz(inputs, order.milliseconds);
}
await target.close?.();
process.exit(0);
