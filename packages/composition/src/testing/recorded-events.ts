// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from "@purlin/kube-client";
import type { EventRecorder, EventText } from "@purlin/kube-controller";

/** An event, and whom it is about. */
export interface RecordedEvent {
  /** `Kind/name`. */
  readonly object: string;
  readonly source: string;
  readonly event: EventText;
}

/** Events kept in the order in which they came. */
export class RecordedEvents implements EventRecorder {
  readonly #recorded: RecordedEvent[];
  readonly #source: string;

  constructor(source = "", recorded: RecordedEvent[] = []) {
    this.#source = source;
    this.#recorded = recorded;
  }

  get all(): readonly RecordedEvent[] {
    return this.#recorded;
  }

  event(object: KubeObject, event: EventText): void {
    this.#recorded.push({ object: `${object.kind}/${object.metadata.name}`, source: this.#source, event });
  }

  with(source: string): EventRecorder {
    return new RecordedEvents(source, this.#recorded);
  }

  /** Each as `Type Reason: message`; forgets them. */
  take(): string[] {
    return this.#recorded.splice(0).map(({ event }) => `${event.type} ${event.reason}: ${event.message}`);
  }

  /** The same without forgetting. */
  texts(): string[] {
    return this.#recorded.map(({ event }) => `${event.type} ${event.reason}: ${event.message}`);
  }
}
