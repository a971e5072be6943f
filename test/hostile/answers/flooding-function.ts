// SPDX-License-Identifier: Apache-2.0
// A function that floods its connection with HTTP/2 frames, written by hand on a socket: no HTTP/2 server sends these.
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { decode, RunFunctionRequest } from "@purlin/function-protocol";
import { isJsonObject } from "@purlin/kube-objects/json";

const types = { data: 0, headers: 1, settings: 4, push: 5, ping: 6, windowUpdate: 8, altsvc: 10, origin: 12 } as const;
const endStream = 1;
const ack = 1;
const endHeaders = 4;
const prefaceBytes = 24;

interface Frame {
  readonly type: number;
  readonly flags?: number;
  readonly stream?: number;
  readonly payload?: Uint8Array;
}

function encoded({ type, flags = 0, stream = 0, payload = new Uint8Array() }: Frame): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const many = (frame: Frame, count: number): Buffer => Buffer.concat(new Array<Buffer>(count).fill(encoded(frame)));

/** ":status: 200", and a content type that is not indexed. */
const responseHeaders = Buffer.concat([
  Buffer.from([0x88, 0x10, 12]),
  Buffer.from("content-type"),
  Buffer.from([16]),
  Buffer.from("application/grpc"),
]);
/** The start of a message that never ends. */
const messageHead = Buffer.from([0, 3, 0, 0, 0]);

/** What goes over the wire for one call: once, and then over and over. `turn` counts the repetitions. */
interface Flood {
  readonly first?: (stream: number) => Buffer;
  readonly again: (stream: number, turn: number) => Buffer;
  /** Bytes of each repetition that flow control counts. Default 0. */
  readonly window?: number;
}

const response = (stream: number): Buffer =>
  Buffer.concat([
    encoded({ type: types.headers, flags: endHeaders, stream, payload: responseHeaders }),
    encoded({ type: types.data, stream, payload: messageHead }),
  ]);

function pushes(stream: number, turn: number): Buffer {
  const frames = Array.from({ length: 200 }, (_, i) => {
    const promised = Buffer.alloc(4);
    promised.writeUInt32BE(2 + 2 * (turn * 200 + i));
    const payload = Buffer.concat([promised, Buffer.from([0x82, 0x87, 0x84, 0x41, 1, 0x61])]);
    return encoded({ type: types.push, flags: endHeaders, stream, payload });
  });
  return Buffer.concat(frames);
}

const padded = Buffer.concat([Buffer.from([255, 1]), Buffer.alloc(255)]);

/** By the name of the composite resource. */
export const floods: Readonly<Record<string, Flood>> = {
  "data-of-one-byte": {
    first: response,
    again: (stream) => many({ type: types.data, stream, payload: Buffer.alloc(1) }, 1_000),
    window: 1_000,
  },
  "data-of-one-byte-padded": {
    first: response,
    again: (stream) => many({ type: types.data, flags: 8, stream, payload: padded }, 60),
    window: 60 * 257,
  },
  "empty-data": { first: response, again: (stream) => many({ type: types.data, stream }, 3_000) },
  pushes: { again: pushes },
  "informational-headers": {
    again: (stream) =>
      many({ type: types.headers, flags: endHeaders, stream, payload: Buffer.from("\u0008\u0003103") }, 3_000),
  },
  "window-updates": {
    again: (stream) => many({ type: types.windowUpdate, stream, payload: Buffer.from([0, 0, 0, 1]) }, 3_000),
  },
  origins: { again: () => many({ type: types.origin, payload: Buffer.from("\u0000\u0009https://a") }, 3_000) },
  "alternative-services": {
    again: () => many({ type: types.altsvc, payload: Buffer.from('\u0000\u0001ah2=":1"') }, 3_000),
  },
};

/** A function that runs. */
interface FloodingFunction extends AsyncDisposable {
  /** Where it listens. */
  readonly address: string;
}

/** Starts a function on a free port. It never acknowledges settings, which keeps the client from enforcing some of them. */
export async function startFloodingFunction(): Promise<FloodingFunction> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay().on("error", () => {});
    new Connection(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

class Connection {
  readonly #socket: Socket;
  #unread: Buffer = Buffer.alloc(0);
  #toSkip = prefaceBytes;
  readonly #requests = new Map<number, Buffer>();
  /** What may be sent on the connection, and on a stream. */
  readonly #windows = { connection: 65_535 - 100, stream: 65_535 - 100 };
  #grown = (): void => {};

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.write(encoded({ type: types.settings }));
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  #read(chunk: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, chunk]);
    if (this.#toSkip > this.#unread.length) return;
    this.#unread = this.#unread.subarray(this.#toSkip);
    this.#toSkip = 0;
    for (;;) {
      const end = 9 + (this.#unread.length < 9 ? 0 : this.#unread.readUIntBE(0, 3));
      if (this.#unread.length < end) return;
      this.#take(this.#unread.subarray(0, end));
      this.#unread = this.#unread.subarray(end);
    }
  }

  #take(frame: Buffer): void {
    const [type, flags, stream, payload] = [frame[3], frame[4] ?? 0, frame.readUInt32BE(5), frame.subarray(9)];
    if (type === types.ping && (flags & ack) === 0) {
      this.#socket.write(encoded({ type: types.ping, flags: ack, payload }));
    }
    if (type === types.windowUpdate) this.#grow(stream, payload.readUInt32BE(0));
    if (type !== types.data) return;
    const request = Buffer.concat([this.#requests.get(stream) ?? Buffer.alloc(0), payload]);
    this.#requests.set(stream, request);
    if ((flags & endStream) !== 0) void this.#flood(stream, request).catch(() => {});
  }

  #grow(stream: number, bytes: number): void {
    this.#windows[stream === 0 ? "connection" : "stream"] += bytes;
    this.#grown();
  }

  async #takeWindow(bytes: number): Promise<void> {
    while (Math.min(this.#windows.connection, this.#windows.stream) < bytes) {
      await new Promise<void>((resolve) => {
        this.#grown = resolve;
      });
    }
    this.#windows.connection -= bytes;
    this.#windows.stream -= bytes;
  }

  async #flood(stream: number, request: Buffer): Promise<void> {
    const { observed } = decode(RunFunctionRequest, request.subarray(5));
    const spec = observed?.composite?.resource?.value["spec"];
    const flood = floods[String(isJsonObject(spec) ? spec["case"] : "")];
    if (flood === undefined) return;
    const { first, again, window = 0 } = flood;
    if (first !== undefined) this.#socket.write(first(stream));
    for (let turn = 0; !this.#socket.destroyed; turn++) {
      await this.#takeWindow(window);
      if (!this.#socket.write(again(stream, turn))) await once(this.#socket, "drain");
    }
  }
}
