// SPDX-License-Identifier: Apache-2.0
import type { EventStream, StreamResponse } from "../request/api-response.ts";
import type { Exchange, Outlet } from "./exchange.ts";
import { responseHeaders } from "./response-headers.ts";

export interface StreamOptions {
  readonly auditId: string;
  /** Told why a stream ended before its time. */
  readonly failed: (error: unknown) => void;
}

/** Sends events as they come, no faster than the client reads. An event that cannot be written ends the stream. */
export function writeStream(exchange: Exchange, response: StreamResponse, { auditId, failed }: StreamOptions): void {
  const outlet = exchange.begin(response.code, responseHeaders(response, response.contentType, auditId));
  const pump = new EventPump(response, outlet, failed);
  exchange.onGone(() => pump.close());
}

/** Moves events from a stream to a client. What the client does not take yet stays in the stream. */
class EventPump {
  readonly #outlet: Outlet;
  readonly #stream: EventStream;
  readonly #failed: (error: unknown) => void;
  #blocked = false;
  #ended = false;

  constructor(response: StreamResponse, outlet: Outlet, failed: (error: unknown) => void) {
    this.#outlet = outlet;
    this.#failed = failed;
    this.#stream = response.open(() => this.#pump());
    outlet.onDrain(() => {
      this.#blocked = false;
      this.#pump();
    });
    this.#pump();
  }

  close(): void {
    this.#ended = true;
    this.#stream.close();
  }

  /** Whoever calls, a timer or the store, knows nothing of this client and must not fail with it. */
  #pump(): void {
    try {
      this.#move();
    } catch (error) {
      this.close();
      this.#outlet.end();
      this.#failed(error);
    }
  }

  #move(): void {
    while (!this.#blocked && !this.#ended) {
      const events = this.#stream.take();
      if (events === undefined) {
        this.#ended = true;
        this.#outlet.end();
        return;
      }
      if (events.length === 0) {
        return;
      }
      this.#blocked = !this.#outlet.write(Buffer.concat(events.flatMap((event) => event.parts())));
    }
  }
}
