// SPDX-License-Identifier: Apache-2.0

import type { EventRecorder, EventText } from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";

/** An event, and whom it is about. */
interface RecordedEvent {
  /** `Kind/name`. */
  readonly object: string;
  readonly source: string;
  /** The controller that reports, when it is another than the source. */
  readonly controller: string | undefined;
  readonly event: EventText;
}

/** Events kept in the order in which they came. */
export class RecordedEvents implements EventRecorder {
  readonly #recorded: RecordedEvent[];
  readonly #source: string;
  readonly #controller: string | undefined;

  constructor(source = "", controller?: string, recorded: RecordedEvent[] = []) {
    this.#source = source;
    this.#controller = controller;
    this.#recorded = recorded;
  }

  get all(): readonly RecordedEvent[] {
    return this.#recorded;
  }

  event(object: KubeObject, event: EventText): void {
    const about = `${object.kind}/${object.metadata.name}`;
    this.#recorded.push({ object: about, source: this.#source, controller: this.#controller, event });
  }

  with(source: string, controller?: string): EventRecorder {
    return new RecordedEvents(source, controller, this.#recorded);
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
