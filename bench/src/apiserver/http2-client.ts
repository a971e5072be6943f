// SPDX-License-Identifier: Apache-2.0
import { type ClientHttp2Session, connect, constants } from "node:http2";
import type { Access } from "./access.ts";

/** The response: its status and number of bytes. The body is discarded. */
export interface Answer {
  readonly code: number;
  readonly bytes: number;
}

/** One client on one connection, as Go clients are. It looks at nothing it need not look at, because it shares the processor. */
export class Http2Client {
  readonly #session: ClientHttp2Session;

  constructor({ server, caPem, certPem, keyPem }: Access) {
    this.#session = connect(server, {
      ca: caPem,
      cert: certPem,
      key: keyPem,
      settings: { initialWindowSize: 4 * 1024 * 1024 },
    });
    // Every request under way reports it.
    this.#session.on("error", () => {});
    this.#session.once("connect", () => this.#session.setLocalWindowSize(16 * 1024 * 1024));
  }

  request(method: string, path: string, body?: Uint8Array): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const stream = this.#session.request(
        { ":method": method, ":path": path, "content-type": "application/json", accept: "application/json" },
        { endStream: body === undefined },
      );
      let code = 0;
      let bytes = 0;
      stream.on("response", (headers) => {
        code = Number(headers[constants.HTTP2_HEADER_STATUS]);
      });
      stream.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
      });
      stream.on("error", reject);
      stream.on("end", () => resolve({ code, bytes }));
      if (body !== undefined) stream.end(body);
    });
  }

  /** Opens a watch. `onLine` gets each event as text, without its line break; resolves when the server has begun to answer. */
  watch(path: string, onLine: (line: string) => void): Promise<{ close(): void }> {
    const stream = this.#session.request({ ":method": "GET", ":path": path, accept: "application/json" });
    let rest = "";
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) onLine(line);
    });
    return new Promise((resolve, reject) => {
      stream.once("error", reject);
      stream.once("response", () => resolve({ close: () => stream.close() }));
    });
  }

  close(): void {
    this.#session.destroy();
  }
}
