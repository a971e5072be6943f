// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import type { Clock } from "@purlin/base";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { EventText } from "./event-recorder.ts";

/** What to do about something that happened. */
export type Correlated =
  | { readonly do: "create"; readonly message: string; readonly memory: EventMemory }
  /** It has happened before: the count of its event is increased. */
  | { readonly do: "repeat"; readonly message: string; readonly memory: EventMemory }
  | { readonly do: "drop" };

/** An event that was written, or is about to be. */
export interface EventMemory {
  name: string;
  namespace: string;
  count: number;
  firstTimestamp: string;
}

/** How much is remembered, and how much is too much. */
const mostMemories = 4096;
const mostDifferent = 10;
const differentWithinMs = 600_000;
const burst = 25;
const refillMs = 300_000;
const longestRemembered = 128;
const combined = "(combined from similar events): ";

/** A map that forgets what was not used for longest. */
class Recent<T> {
  readonly #entries = new Map<string, T>();

  get(key: string): T | undefined {
    const found = this.#entries.get(key);
    if (found !== undefined) this.set(key, found);
    return found;
  }

  set(key: string, value: T): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= mostMemories) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}

/**
 * Decides how events are written: the same event again raises a count; many different ones of one kind about one object
 * become one; and the events of one object are limited.
 */
export class EventCorrelator {
  readonly #clock: Clock;
  readonly #memories = new Recent<EventMemory>();
  readonly #similar = new Recent<{ messages: Set<string>; at: number }>();
  readonly #budgets = new Recent<{ tokens: number; at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  correlate(subject: EventSubject): Correlated {
    const { message, key } = this.#aggregate(subject);
    const known = this.#memories.get(key);
    if (!this.#mayWrite(subject)) return { do: "drop" };
    if (known !== undefined) return { do: "repeat", message, memory: known };
    const memory = { name: "", namespace: subject.namespace, count: 0, firstTimestamp: "" };
    this.#memories.set(key, memory);
    return { do: "create", message, memory };
  }

  #aggregate(subject: EventSubject): { readonly message: string; readonly key: string } {
    const { message } = subject.event;
    const group = groupOf(subject);
    const now = this.#clock.now();
    const known = this.#similar.get(group);
    const similar =
      known === undefined || now - known.at > differentWithinMs ? { messages: new Set<string>(), at: now } : known;
    similar.at = now;
    const id = shortOf(message);
    similar.messages.add(id);
    this.#similar.set(group, similar);
    if (similar.messages.size < mostDifferent) return { message, key: `${group}\n${id}` };
    // One of them is enough to know that there are many.
    const [first] = similar.messages;
    if (first !== undefined) similar.messages.delete(first);
    return { message: combined + message, key: group };
  }

  #mayWrite(subject: EventSubject): boolean {
    const key = `${subject.source}\n${subject.text}\n${subject.event.type}`;
    const now = this.#clock.now();
    const budget = this.#budgets.get(key) ?? { tokens: burst, at: now };
    budget.tokens = Math.min(burst, budget.tokens + (now - budget.at) / refillMs);
    budget.at = now;
    this.#budgets.set(key, budget);
    if (budget.tokens < 1) return false;
    budget.tokens -= 1;
    return true;
  }
}

/** Identifies a message: messages may be long, and many are stored. */
function shortOf(message: string): string {
  return message.length <= longestRemembered ? message : createHash("sha256").update(message).digest("base64");
}

function groupOf({ source, text, event: { type, reason } }: EventSubject): string {
  return [source, text, type, reason].join("\n");
}

/** Something that happened to an object, with all an event says about it. */
export interface EventSubject {
  readonly event: EventText;
  /** The component that emits it. */
  readonly source: string;
  /** The controller that emits it, for the event's annotation. */
  readonly controller: string;
  /** Where the event is kept: events of cluster-scoped objects are in `default`. */
  readonly namespace: string;
  readonly involvedObject: InvolvedObject;
  /** The identity of the object as one string. */
  readonly text: string;
}

type InvolvedObject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
};

export function subjectOf(
  { apiVersion, kind, metadata }: KubeObject,
  { event, source, controller }: Pick<EventSubject, "event" | "source" | "controller">,
): EventSubject {
  const { name = "", namespace, uid, resourceVersion } = metadata;
  const involvedObject = {
    apiVersion,
    kind,
    name,
    ...(namespace && { namespace }),
    ...(uid && { uid }),
    ...(resourceVersion && { resourceVersion }),
  };
  const text = [apiVersion, kind, namespace ?? "", name, uid ?? ""].join("/");
  return { event, source, controller, namespace: namespace || "default", involvedObject, text };
}
