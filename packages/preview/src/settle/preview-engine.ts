// SPDX-License-Identifier: Apache-2.0
import { AsyncLocalStorage } from "node:async_hooks";
import { forEachLimited } from "@purlin/base";
import type { CacheChange, RestMapper } from "@purlin/kube-client";
import type { ControllerEngine, ControllerSpec, WatchId, WatchSpec } from "@purlin/kube-controller";
import { isConflict, textOf } from "@purlin/kube-objects/errors";
import { type KubeObject, keyText, type ObjectKey, type TypeRef } from "@purlin/kube-objects/object";
import { kindIdentity } from "../overlay/live-reads.ts";
import { inVersion } from "../overlay/overlay.ts";
import type { Writer } from "../overlay/overlay-entry.ts";

interface Running {
  readonly spec: ControllerSpec;
  readonly watches: Map<string, WatchSpec>;
}

interface Item {
  readonly controller: string;
  readonly key: ObjectKey;
}

/** A key whose reconcile failed, or did not settle. */
export interface ReconcileFailure extends Item {
  readonly text: string;
  readonly error: unknown;
  readonly round: number;
  /** Every reconcile wakes it again. */
  readonly isUnsettled: boolean;
  /** What was changed in the last round before it was found not to settle. */
  readonly lastChanges?: readonly CacheChange[];
}

/** How an engine runs. */
interface PreviewEngineOptions {
  readonly mapper: () => RestMapper;
  /** Keys that are reconciled at the same time. */
  readonly parallel: number;
  /** A key that is reconciled more often than this in one step does not settle. */
  readonly maxRounds: number;
  /** The objects of a kind that this preview has written and that exist. */
  readonly written: (type: TypeRef) => readonly KubeObject[];
  /** Grows with every change of an object. */
  readonly version: () => number;
  /** Called before each reconcile; rejects to fail it. */
  readonly beforeReconcile?: ((item: Item) => Promise<void>) | undefined;
  /** Once it is aborted nothing more is reconciled: keys that are awake are not finished. */
  readonly deadline?: AbortSignal | undefined;
}

/** A longer delay is a poll of something that may change outside. */
const soonMs = 1000;

/**
 * Runs controllers by the wake-ups of their watches alone, without timers. A round reconciles every key that is awake; what it changes wakes
 * the keys of the next one. No controller sees the objects that existed before: the caller enqueues the keys that a preview is about.
 */
export class PreviewEngine implements ControllerEngine {
  readonly failures: Map<string, ReconcileFailure> = new Map();
  /** Every key that was reconciled, with the number of times. */
  readonly runs: Map<string, number> = new Map();
  /** How often each key was reconciled since the last step began. */
  readonly #inStep = new Map<string, number>();
  /** Keys that the deadline left unfinished. */
  readonly unfinished: Set<string> = new Set();
  readonly #options: PreviewEngineOptions;
  readonly #running = new Map<string, Running>();
  readonly #writers = new AsyncLocalStorage<Writer>();
  /** The call that each key waits for, in words. */
  readonly #calls = new Map<string, string>();
  #queue = new Map<string, Item>();
  #changes: { readonly round: number; readonly byItem: Map<string, CacheChange[]> } = { round: 0, byItem: new Map() };
  #round = 0;

  constructor(options: PreviewEngineOptions) {
    this.#options = options;
  }

  /** The round that runs, or ran last. */
  get round(): number {
    return this.#round;
  }

  /** The current writer. */
  writer(): Writer {
    return this.#writers.getStore() ?? { controller: "", key: "", round: this.#round };
  }

  /** Runs a call of the key that is reconciled now. A call that the deadline ends stays known: the key is not finished because of it. */
  async calling<T>(what: string, call: () => Promise<T>): Promise<T> {
    const { controller, key } = this.writer();
    const id = `${controller} ${key}`;
    this.#calls.set(id, what);
    try {
      return await call();
    } finally {
      if (!this.#isOver()) this.#calls.delete(id);
    }
  }

  /** The calls that unfinished keys wait for, each once. */
  waitsFor(): readonly string[] {
    return [...new Set([...this.unfinished].flatMap((id) => this.#calls.get(id) ?? []))].sort();
  }

  start(spec: ControllerSpec): void {
    if (!this.#running.has(spec.name)) this.#running.set(spec.name, { spec, watches: new Map() });
  }

  async stop(name: string): Promise<void> {
    this.#running.delete(name);
  }

  isRunning(name: string): boolean {
    return this.#running.has(name);
  }

  /** A delay is a timer, and a preview has none. */
  enqueue(controller: string, key: ObjectKey, afterMs = 0): void {
    if (this.#running.has(controller) && afterMs === 0)
      this.#queue.set(itemId({ controller, key }), { controller, key });
  }

  async startWatches(name: string, watches: readonly WatchSpec[], signal?: AbortSignal): Promise<void> {
    for (const watch of watches) {
      await this.#options.mapper().mapping(watch.object, signal);
      const watches = this.#running.get(name)?.watches;
      if (watches === undefined) return;
      const isNew = !watches.has(watchKey(watch));
      watches.set(watchKey(watch), watch);
      // A watch begins with what exists. What a reconcile wrote before it began to watch wakes it as well.
      if (isNew)
        for (const object of this.#options.written(watch.object)) this.#wake(name, watch, { type: "added", object });
    }
  }

  async stopWatches(name: string, watches: readonly WatchId[]): Promise<void> {
    for (const watch of watches) this.#running.get(name)?.watches.delete(watchKey(watch));
  }

  watchesOf(name: string): readonly WatchId[] {
    return [...(this.#running.get(name)?.watches.values() ?? [])];
  }

  async close(): Promise<void> {
    this.#running.clear();
  }

  /** Wakes the keys that a change concerns. */
  changed(change: CacheChange): void {
    this.#note(change);
    const kind = kindIdentity(change.object);
    for (const [controller, { watches }] of this.#running) {
      for (const watch of watches.values()) {
        if (kindIdentity(watch.object) === kind) this.#wake(controller, watch, change);
      }
    }
  }

  #wake(controller: string, watch: WatchSpec, change: CacheChange): void {
    for (const key of watch.keys(seenAs(change, watch))) if (key !== undefined) this.enqueue(controller, key);
  }

  #note(change: CacheChange): void {
    const { controller, key } = this.writer();
    if (this.#changes.round !== this.#round) this.#changes = { round: this.#round, byItem: new Map() };
    const { byItem } = this.#changes;
    const id = `${controller} ${key}`;
    const changes = byItem.get(id);
    if (changes === undefined) byItem.set(id, [change]);
    else changes.push(change);
  }

  /** What a key changed in the last round with changes; what others did where it changed nothing itself. */
  #lastChangesOf(id: string): readonly CacheChange[] {
    const { byItem } = this.#changes;
    return byItem.get(id) ?? [...byItem.values()].flat();
  }

  /** Reconciles until no key is awake, or none but those that are held back: they stay awake. */
  async settle(signal: AbortSignal, isHeld: (id: string) => boolean = () => false): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const awake = [...this.#queue.entries()].filter(([id]) => !isHeld(id)).sort(([a], [b]) => (a < b ? -1 : 1));
      if (awake.length === 0) return;
      if (!this.#isOver()) this.#round += 1;
      for (const [id] of awake) this.#queue.delete(id);
      await forEachLimited(awake, this.#options.parallel, ([, item]) => this.#reconcile(item, signal));
    }
  }

  /** Begins a step: what was reconciled before does not count as not settled. */
  beginStep(): void {
    this.#inStep.clear();
  }

  /** Reconciles one key now, awake or not. */
  async reconcile(controller: string, key: ObjectKey, signal: AbortSignal): Promise<void> {
    this.#round += 1;
    this.#queue.delete(itemId({ controller, key }));
    await this.#reconcile({ controller, key }, signal);
  }

  /** Whether a key is awake. */
  isAwake(controller: string, key: ObjectKey): boolean {
    return this.#queue.has(itemId({ controller, key }));
  }

  async #reconcile(item: Item, signal: AbortSignal): Promise<void> {
    const id = itemId(item);
    const running = this.#running.get(item.controller);
    if (running === undefined) return;
    if (this.#isOver()) {
      this.#giveUp(item);
      return;
    }
    this.runs.set(id, (this.runs.get(id) ?? 0) + 1);
    const inStep = (this.#inStep.get(id) ?? 0) + 1;
    this.#inStep.set(id, inStep);
    if (inStep > this.#options.maxRounds) {
      const text = `did not settle after ${this.#options.maxRounds} rounds`;
      const lastChanges = this.#lastChangesOf(id);
      this.failures.set(id, { ...item, text, error: undefined, round: this.#round, isUnsettled: true, lastChanges });
      return;
    }
    const writer = { controller: item.controller, key: keyText(item.key), round: this.#round };
    try {
      await this.#options.beforeReconcile?.(item);
      const { version } = this.#options;
      const before = version();
      const result = await this.#writers.run(writer, () => running.spec.reconcile(item.key, this.#until(signal)));
      // What asks to be looked at again soon waits for something that another controller writes.
      const isSoon = result.requeue === true || (result.requeueAfterMs ?? Number.POSITIVE_INFINITY) <= soonMs;
      if (isSoon && version() > before) this.enqueue(item.controller, item.key);
      this.failures.delete(id);
    } catch (error) {
      signal.throwIfAborted();
      if (this.#isOver()) this.#giveUp(item);
      else if (isConflict(error)) this.enqueue(item.controller, item.key);
      else this.failures.set(id, { ...item, text: textOf(error), error, round: this.#round, isUnsettled: false });
    }
  }

  #isOver(): boolean {
    return this.#options.deadline?.aborted === true;
  }

  #until(signal: AbortSignal): AbortSignal {
    const { deadline } = this.#options;
    return deadline === undefined ? signal : AbortSignal.any([signal, deadline]);
  }

  #giveUp(item: Item): void {
    const id = itemId(item);
    this.runs.set(id, this.runs.get(id) ?? 0);
    this.unfinished.add(id);
    const call = this.#calls.get(id);
    const text = call === undefined ? notFinished : `${notFinished} while ${call}`;
    this.failures.set(id, { ...item, text, error: undefined, round: this.#round, isUnsettled: false });
  }
}

const notFinished = "not finished: the timeout passed";

/** A key of a controller. */
export function itemId({ controller, key }: Item): string {
  return `${controller} ${keyText(key)}`;
}

function watchKey({ type, object }: WatchId): string {
  return `${type} ${object.apiVersion}/${object.kind}`;
}

/** A change as a watch of another version of the kind sees it. */
function seenAs(change: CacheChange, { object: type }: WatchSpec): CacheChange {
  const shown = (object: KubeObject): KubeObject => inVersion(object, type);
  if (change.type === "updated") return { ...change, object: shown(change.object), previous: shown(change.previous) };
  return { ...change, object: shown(change.object) };
}
