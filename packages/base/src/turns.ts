// SPDX-License-Identifier: Apache-2.0
// Long work gives the event loop back. All work of the process that is divided in this way shares the time of a turn, and waits in
// queues for a turn that has time: one for each flow, so that the many tasks of one user do not keep those of others waiting.
import { AsyncLocalStorage } from "node:async_hooks";
import { nextTick } from "node:process";

/** How long tasks may run in one turn of the event loop, all of them together, before other work runs. */
const maxMilliseconds = 10;

/** When the first task of this turn began to run. */
let turnStart: number | undefined;

/**
 * Whose work it is. Flows have turns one after the other, those of the system as many as those of all users together. Probes, which are
 * short, come first, one after each part of other work, so that a probe waits for one such part.
 */
export interface Flow {
  readonly level: "probes" | "system" | "users";
  readonly name: string;
}

const flows = new AsyncLocalStorage<Flow>();
const ownFlow: Flow = { level: "system", name: "" };

/** Runs a function, and all that it calls and that follows from that, as part of a flow. What runs in none is work of the process itself. */
export function inFlow<T>(flow: Flow, run: () => T): T {
  return flows.run(flow, run);
}

/** The function as part of the flow in which it is bound, no matter which work calls it: listeners are called by the work of others. */
export function inOwnFlow<Arguments extends readonly unknown[], T>(
  listener: (...given: Arguments) => T,
): (...given: Arguments) => T {
  return AsyncLocalStorage.bind(listener);
}

/** Tasks that wait for a turn with time for them: of each flow the oldest first, and of the flows the one that has waited longest. */
class Level {
  /** Flows with tasks, in the order in which their next task is woken. */
  readonly #flows = new Map<string, (() => void)[]>();

  add({ name }: Flow, wake: () => void): void {
    const tasks = this.#flows.get(name);
    if (tasks === undefined) this.#flows.set(name, [wake]);
    else tasks.push(wake);
  }

  take(): (() => void) | undefined {
    for (const [name, tasks] of this.#flows) {
      const wake = tasks.shift();
      this.#flows.delete(name);
      if (tasks.length > 0) this.#flows.set(name, tasks);
      return wake;
    }
    return undefined;
  }
}

const levels = { probes: new Level(), system: new Level(), users: new Level() };
let nextLevel: "system" | "users" = "system";
let wasProbe = false;

/** The levels have turns alternately, so that none waits for all tasks of another, and a flood of probes keeps no other work waiting. */
function takeWaiting(): (() => void) | undefined {
  const probe = wasProbe ? undefined : levels.probes.take();
  wasProbe = probe !== undefined;
  return probe ?? takeOther() ?? levels.probes.take();
}

function takeOther(): (() => void) | undefined {
  const first = levels[nextLevel];
  nextLevel = nextLevel === "system" ? "users" : "system";
  return first.take() ?? levels[nextLevel].take();
}

function startOfTurn(): number {
  if (turnStart === undefined) {
    turnStart = performance.now();
    setImmediate(endTurn);
  }
  return turnStart;
}

const isSpent = (): boolean => performance.now() - startOfTurn() >= maxMilliseconds;

/** A part that took so long has kept what the event loop has to do waiting: that comes before the next part. */
const longMilliseconds = 3 * maxMilliseconds;
let isPutOff = false;

function endTurn(): void {
  // Immediates run at the end of a turn that another event began: without this the next part would belong to the same turn.
  if (!isPutOff && turnStart !== undefined && performance.now() - turnStart >= longMilliseconds) {
    isPutOff = true;
    setImmediate(endTurn);
    return;
  }
  isPutOff = false;
  turnStart = undefined;
  wakeNext();
}

/** Wakes one task, and the next one when that has run its part and there is time left. */
function wakeNext(): void {
  const wake = takeWaiting();
  if (wake === undefined) return;
  startOfTurn();
  wake();
  // A tick that a microtask asks for comes when no microtask is left: the task has run as far as it can.
  queueMicrotask(() => nextTick(wakeIfTime));
}

function wakeIfTime(): void {
  if (!isSpent()) wakeNext();
}

/**
 * Splits long tasks so that they do not hold the event loop: `if (turns.isOver) await turns.next()` after each part. Tasks that run in the
 * same turn share its time; a task that waits for something else uses none. Costs a look at the clock for each part.
 */
export class Turns {
  constructor() {
    startOfTurn();
  }

  /** Whether this turn of the event loop has no time left for tasks. */
  get isOver(): boolean {
    return isSpent();
  }

  /** Resolves in a later turn that has time. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      const flow = flows.getStore() ?? ownFlow;
      levels[flow.level].add(flow, resolve);
      startOfTurn();
    });
  }
}

/** Work that yields between its parts, and returns its result. */
export type Work<T> = Generator<void, T, void>;

/** Work that also waits: a part may yield a promise. {@link inTurns} does it, and {@link finish} only when it does not wait. */
export type AwaitingWork<T> = Generator<unknown, T, void>;

/** Small steps that are worth a look at the clock. */
const stepsOfPart = 256;
let steps = 0;

/**
 * Counts one small step of long work, and says whether that should yield now: `if (isPartDone()) yield` costs little for each member of a
 * large object.
 */
export function isPartDone(): boolean {
  steps = (steps + 1) % stepsOfPart;
  return steps === 0;
}

/** As many items as are sorted at once: some milliseconds where comparing takes long. */
const sortedAtOnce = 512;

/** `items.sort(compare)` in parts: equal items keep their order, and the given list stays as it is. */
export function* sorting<T>(items: readonly T[], compare: (a: T, b: T) => number): Work<T[]> {
  if (items.length <= sortedAtOnce) return items.toSorted(compare);
  let runs: T[][] = [];
  for (let start = 0; start < items.length; start += sortedAtOnce) {
    runs.push(items.slice(start, start + sortedAtOnce).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let i = 0; i < runs.length; i += 2) merged.push(yield* merging(runs[i] ?? [], runs[i + 1] ?? [], compare));
    runs = merged;
  }
  return runs[0] ?? [];
}

function* merging<T>(a: readonly T[], b: readonly T[], compare: (a: T, b: T) => number): Work<T[]> {
  const merged: T[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (isPartDone()) yield;
    merged.push(compare(a[i] as T, b[j] as T) <= 0 ? (a[i++] as T) : (b[j++] as T));
  }
  for (; i < a.length; i++) merged.push(a[i] as T);
  for (; j < b.length; j++) merged.push(b[j] as T);
  return merged;
}

/** A function as work that does not yield. */
export function inOnePart<Arguments extends readonly unknown[], T>(
  run: (...given: Arguments) => T,
): (...given: Arguments) => Work<T> {
  // biome-ignore lint/correctness/useYield: in one part
  return function* (...given) {
    return run(...given);
  };
}

/** Does the work at once. */
export function finish<T>(work: AwaitingWork<T>): T {
  for (;;) {
    const part = work.next();
    if (part.done) return part.value;
    if (part.value instanceof Promise) throw new Error("cannot finish work that waits at once");
  }
}

/**
 * Does the work, waits for the promises it yields, and lets other work run whenever the turn is over: before the first part, as hundreds of
 * tasks may go on when one wait ends, and after the last part, as more work may follow. The work can catch the error of a promise that it
 * yields.
 */
export async function inTurns<T>(work: AwaitingWork<T>): Promise<T> {
  const turns = new Turns();
  if (turns.isOver) await turns.next();
  let part = work.next();
  for (;;) {
    if (!part.done && part.value instanceof Promise) {
      // At once: a promise that fails while nothing waits for it ends the process.
      part = await resumed(work, part.value);
      continue;
    }
    if (turns.isOver) await turns.next();
    if (part.done) return part.value;
    part = work.next();
  }
}

/**
 * {@link inTurns}, but work of one part is done at once, also when the turn is over. For work that is rarely long, and only once in a task
 * that has waited for its turn, such as a request.
 */
export function soon<T>(work: Work<T>): T | Promise<T> {
  const part = work.next();
  return part.done ? part.value : inTurns(work);
}

async function resumed<T>(work: AwaitingWork<T>, promise: Promise<unknown>): Promise<IteratorResult<unknown, T>> {
  try {
    await promise;
  } catch (error) {
    return work.throw(error);
  }
  return work.next();
}

/** Work that waits for a promise, and returns its value. */
export function* awaited<T>(promise: Promise<T>): AwaitingWork<T> {
  let value: { readonly of: T } | undefined;
  yield promise.then((result) => {
    value = { of: result };
  });
  if (value === undefined) throw new Error("work was resumed before its promise was settled");
  return (value as { readonly of: T }).of;
}

/**
 * Does something for each item, at most `limit` at a time and begun in order, in parts that let other work run. After a failure
 * nothing more is begun; what runs is waited for, and of several failures the one of the earliest item is thrown.
 */
export async function forEachLimited<T>(
  items: readonly T[],
  limit: number,
  action: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const failures: { readonly index: number; readonly error: unknown }[] = [];
  const turns = new Turns();
  let next = 0;
  async function work(): Promise<void> {
    while (next < items.length && failures.length === 0) {
      const index = next++;
      await action(items[index] as T, index).catch((error: unknown) => failures.push({ index, error }));
      if (turns.isOver) await turns.next();
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, work));
  const [first] = failures.sort((a, b) => a.index - b.index);
  if (first !== undefined) throw first.error;
}
