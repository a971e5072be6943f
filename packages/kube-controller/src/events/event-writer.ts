// SPDX-License-Identifier: Apache-2.0

import type { Clock } from "@purlin/base";
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
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Correlated, EventSubject } from "./event-correlator.ts";

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
