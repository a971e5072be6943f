// SPDX-License-Identifier: Apache-2.0
import type { EventStream, StreamResponse } from "../request/api-response.ts";
import type { Exchange, Outlet } from "./exchange.ts";
import { responseHeaders } from "./response-headers.ts";

/** Sends events as they come, no faster than the client reads. */
export function writeStream(exchange: Exchange, response: StreamResponse, auditId: string): void {
  const outlet = exchange.begin(response.code, responseHeaders(response, response.contentType, auditId));
  const pump = new EventPump(response, outlet);
  exchange.onGone(() => pump.close());
}

/** Moves events from a stream to a client. What the client does not take yet stays in the stream. */
class EventPump {
  readonly #outlet: Outlet;
  readonly #stream: EventStream;
  #blocked = false;
  #ended = false;

  constructor(response: StreamResponse, outlet: Outlet) {
    this.#outlet = outlet;
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

  #pump(): void {
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
