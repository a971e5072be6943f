// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { type Clock, type Log, silentLog, systemClock } from "@purlin/base";
import type { KubeWriter } from "@purlin/kube-client";
import { timestamp } from "@purlin/kube-objects/apply";
import {
  findStatusError,
  isNotFound,
  isServiceUnavailable,
  isTimeout,
  isTooManyRequests,
} from "@purlin/kube-objects/errors";
import type { JsonValue } from "@purlin/kube-objects/json";
import { type KubeObject, shortened } from "@purlin/kube-objects/object";
import {
  type Correlated,
  EventCorrelator,
  type EventMemory,
  type EventSubject,
  subjectOf,
} from "./event-correlator.ts";

/** An event about an object. */
export interface EventText {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** More annotations of the event, beside the one that names the controller. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** Emits events about objects. Never blocks and never fails its caller. */
export interface EventRecorder {
  event(object: KubeObject, event: EventText): void;
  /**
   * The same recorder under another name of the reporting component. Events name the controller in an annotation: the
   * component itself by default.
   */
  with(source: string, controller?: string): EventRecorder;
}

/** Records nothing. */
export const noEvents: EventRecorder = { event() {}, with: () => noEvents };

/** What {@link createEventRecorder} is given. */
interface EventRecorderOptions {
  readonly client: KubeWriter;
  /** The reporting component, unless {@link EventRecorder.with} names another. */
  readonly source: string;
  /** Emit nothing for cluster-scoped objects. */
  readonly namespacedOnly?: boolean | undefined;
  readonly clock?: Clock | undefined;
  readonly log?: Log | undefined;
  /** Waits before an event is tried again; injected so that tests need not. */
  readonly sleep?: ((milliseconds: number) => Promise<unknown>) | undefined;
}

/** A recorder that writes in the background until it is closed. */
export interface ClosableEventRecorder extends EventRecorder {
  /** Resolves when all events so far are written, or given up. */
  flush(): Promise<void>;
  /** Writes what is left, but not for longer than `patienceMs`. */
  close(patienceMs?: number): Promise<void>;
}

const mostWaiting = 10_000;
const mostTries = 12;
const retryMs = 10_000;
// In one process with its API server those that are written together are committed together, and a commit waits for the disk.
const writers = 16;

/** Makes the event recorder of one process. */
export function createEventRecorder(options: EventRecorderOptions): ClosableEventRecorder {
  const recorder = new BackgroundRecorder(options);
  return asRecorder(recorder, options.source, options.source);
}

function asRecorder(recorder: BackgroundRecorder, source: string, controller: string): ClosableEventRecorder {
  return {
    event(object, event) {
      recorder.add(subjectOf(object, { event: { ...event, message: shortened(event.message) }, source, controller }));
    },
    with: (component, name = component) => asRecorder(recorder, component, name),
    flush: () => recorder.flush(),
    close: (patienceMs) => recorder.close(patienceMs),
  };
}

class BackgroundRecorder {
  readonly #writer: EventWriter;
  readonly #correlator: EventCorrelator;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #namespacedOnly: boolean;
  readonly #sleep: (milliseconds: number) => Promise<unknown>;
  // By the event they are about, whose writes must stay in order; the one that waits longest first.
  readonly #waiting = new Map<EventMemory, EventWrite[]>();
  readonly #busy = new Set<EventMemory>();
  readonly #closing = new AbortController();
  #left = 0;
  #working = 0;
  #idle: PromiseWithResolvers<void> | undefined;
  #closed = false;

  constructor({ client, clock = systemClock, log = silentLog, sleep, namespacedOnly = false }: EventRecorderOptions) {
    this.#namespacedOnly = namespacedOnly;
    this.#clock = clock;
    this.#log = log;
    this.#sleep = sleep ?? ((ms) => delay(ms, undefined, { ref: false, signal: this.#closing.signal }).catch(() => {}));
    this.#correlator = new EventCorrelator(clock);
    this.#writer = new EventWriter(client, clock);
  }

  add(subject: EventSubject): void {
    if (this.#closed || (this.#namespacedOnly && subject.involvedObject.namespace === undefined)) return;
    const correlated = this.#correlator.correlate(subject);
    if (correlated.do === "drop") return;
    if (this.#left >= mostWaiting) {
      this.#log.debug("dropped an event: too many wait to be written", { object: subject.text });
      return;
    }
    const { memory } = correlated;
    const waiting = this.#waiting.get(memory) ?? [];
    waiting.push({ subject, correlated, at: this.#clock.now() });
    this.#waiting.set(memory, waiting);
    this.#left++;
    this.#work();
  }

  flush(): Promise<void> {
    if (this.#left === 0 && this.#working === 0) return Promise.resolve();
    this.#idle ??= Promise.withResolvers<void>();
    return this.#idle.promise;
  }

  async close(patienceMs = 5000): Promise<void> {
    this.#closed = true;
    const cancel = this.#clock.schedule(patienceMs, () => this.#closing.abort(new Error("the recorder was closed")));
    await this.flush();
    cancel();
    this.#closing.abort(new Error("the recorder was closed"));
  }

  #work(): void {
    while (this.#working < writers) {
      const next = this.#next();
      if (next === undefined) return;
      this.#working++;
      this.#busy.add(next.correlated.memory);
      void this.#write(next).finally(() => {
        this.#working--;
        this.#busy.delete(next.correlated.memory);
        this.#work();
        if (this.#working > 0 || this.#left > 0) return;
        this.#idle?.resolve();
        this.#idle = undefined;
      });
    }
  }

  /** Passes over no more events than there are writers, however many wait. */
  #next(): EventWrite | undefined {
    for (const [memory, waiting] of this.#waiting) {
      if (this.#busy.has(memory)) continue;
      const next = waiting.shift();
      this.#waiting.delete(memory);
      if (waiting.length > 0) this.#waiting.set(memory, waiting);
      if (next !== undefined) this.#left--;
      return next;
    }
    return undefined;
  }

  async #write(write: EventWrite): Promise<void> {
    for (let tries = 1; tries <= mostTries && !this.#closing.signal.aborted; tries++) {
      try {
        await this.#writer.write(write, this.#closing.signal);
        return;
      } catch (error) {
        const text = error instanceof Error ? error.message : String(error);
        this.#log.debug("cannot write an event", { object: write.subject.text, error: text });
        if (tries < mostTries) await this.#sleep(retryMs);
      }
    }
  }
}

/** An event to be written. */
export interface EventWrite {
  readonly subject: EventSubject;
  readonly correlated: Exclude<Correlated, { readonly do: "drop" }>;
  readonly at: number;
}

/** Writes events as client-go's recorder does: core/v1, and again by patching count, message and time. */
export class EventWriter {
  readonly #client: KubeWriter;
  readonly #clock: Clock;
  #lastName = 0n;

  constructor(client: KubeWriter, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Rejects when the server is unreachable or too busy. An event that the server refuses is dropped: a retry would be refused too. */
  async write(write: EventWrite, signal: AbortSignal): Promise<void> {
    const { memory } = write.correlated;
    try {
      if (memory.count > 0 && (await this.#repeat(write, signal))) return;
      await this.#create(write, signal);
    } catch (error) {
      if (findStatusError(error) === undefined || isBusy(error)) throw error;
    }
  }

  /** False when the event has expired meanwhile. */
  async #repeat({ correlated: { memory, message }, at }: EventWrite, signal: AbortSignal): Promise<boolean> {
    const { name, namespace } = memory;
    const patch = { count: memory.count + 1, lastTimestamp: timestamp(new Date(at)), message };
    try {
      await this.#client.patch({ apiVersion: "v1", kind: "Event", name, namespace }, patch as JsonValue, {
        type: "strategic",
        signal,
      });
      memory.count++;
      return true;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      memory.count = 0;
      return false;
    }
  }

  async #create({ subject, correlated: { memory, message }, at }: EventWrite, signal: AbortSignal): Promise<void> {
    const time = timestamp(new Date(at));
    const name = `${subject.involvedObject.name}.${this.#nextName()}`;
    await this.#client.create(eventOf(subject, { name, message, time }), { signal });
    Object.assign(memory, { name, namespace: subject.namespace, count: 1, firstTimestamp: time });
  }

  /** Nanoseconds as the reference has them, made up below the millisecond so that no two are the same. */
  #nextName(): string {
    const now = BigInt(Math.floor(this.#clock.now())) * 1_000_000n;
    this.#lastName = now > this.#lastName ? now : this.#lastName + 1n;
    return this.#lastName.toString(16);
  }
}

const isBusy = (error: unknown): boolean => isTooManyRequests(error) || isServiceUnavailable(error) || isTimeout(error);

function eventOf(
  { event, source, controller, namespace, involvedObject }: EventSubject,
  { name, message, time }: { readonly name: string; readonly message: string; readonly time: string },
): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace, annotations: { ...event.annotations, controller } },
    involvedObject,
    type: event.type,
    reason: event.reason,
    message,
    source: { component: source },
    reportingComponent: source,
    reportingInstance: "",
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
}
