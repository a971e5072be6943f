// SPDX-License-Identifier: Apache-2.0
// A TCP connection to a port of a Pod, through its API server: over a WebSocket (RFC 6455) with the subprotocol v4.channel.k8s.io.
import { Buffer } from "node:buffer";
import { createHash, randomBytes } from "node:crypto";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { addAbortSignal, Duplex } from "node:stream";
import { isUnauthorized } from "@purlin/kube-objects/errors";
import type { ClusterAccess, Credentials } from "./cluster-access.ts";
import { headersOf, statusErrorOf, tlsOptionsOf } from "./https-transport.ts";
import { type Frame, FrameReader, frameOf, maxFrameBytes, opcodes } from "./websocket-frames.ts";

/** The port of a Pod to connect to. */
export interface PortForwardTarget {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
  /** Ends the connection, also after it was opened. */
  readonly signal?: AbortSignal | undefined;
}

const subprotocol = "v4.channel.k8s.io";
/** From RFC 6455: proves that the server read the handshake. */
const handshakeId = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const handshakeMs = 30_000;
const maxErrorBytes = 64 * 1024;
/** What a line can hold. */
const maxProblemLength = 500;
const maxSentBytes = 32 * 1024;
const keepAliveMs = 30_000;

const normalClosure = Buffer.of(0x03, 0xe8);
const channels = { data: 0, error: 1 } as const;

/** Where the API server serves the port-forwards of a Pod. */
export function portForwardPath({ namespace, pod }: Pick<PortForwardTarget, "namespace" | "pod">): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/portforward`;
}

/**
 * Connects to a port of a Pod. A server that refuses is a StatusError. What goes wrong later, such as a port on which nothing listens,
 * destroys the stream with an error that has the text of the server. The connection cannot be half closed: the end of one side ends both.
 */
export async function openPortForward(access: ClusterAccess, target: PortForwardTarget): Promise<Duplex> {
  try {
    return await connect(access, await access.credentials.current(), target);
  } catch (error) {
    // As for other requests: a refused token may have expired on the way.
    if (!isUnauthorized(error) || access.credentials.refused === undefined) throw error;
    access.credentials.refused();
    return connect(access, await access.credentials.current(), target);
  }
}

function connect(access: ClusterAccess, credentials: Credentials, target: PortForwardTarget): Promise<Duplex> {
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  const server = new URL(access.server);
  const key = randomBytes(16).toString("base64");
  const options = {
    agent: false as const,
    host: server.hostname.replace(/^\[|\]$/g, ""),
    port: server.port || undefined,
    path: `${server.pathname.replace(/\/$/, "")}${portForwardPath(target)}?ports=${target.port}`,
    headers: {
      ...headersOf({}, credentials, "purlin"),
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-key": key,
      "sec-websocket-version": "13",
      "sec-websocket-protocol": subprotocol,
    },
    signal: target.signal,
  };
  const outgoing =
    server.protocol === "http:"
      ? httpRequest(options)
      : httpsRequest({ ...options, ...tlsOptionsOf(access, credentials) });
  const late = setTimeout(() => {
    outgoing.destroy(new Error(`the server did not open the port-forward within ${handshakeMs / 1000} s`));
  }, handshakeMs);
  outgoing.once("close", () => clearTimeout(late));
  outgoing.once("error", reject);
  outgoing.once("response", (response) => void readRefusal(response).then(reject, reject));
  outgoing.once("upgrade", ({ headers }, socket, head) => {
    clearTimeout(late);
    const accept = createHash("sha1").update(`${key}${handshakeId}`).digest("base64");
    if (headers["sec-websocket-accept"] === accept && headers["sec-websocket-protocol"] === subprotocol) {
      const stream = new ForwardedPort(socket, target.port, head);
      return resolve(target.signal === undefined ? stream : addAbortSignal(target.signal, stream));
    }
    socket.destroy();
    reject(new Error(`the server did not agree to a port-forward over ${subprotocol}`));
  });
  outgoing.end();
  return promise;
}

async function readRefusal(response: IncomingMessage): Promise<Error> {
  const code = response.statusCode ?? 0;
  let body = Buffer.alloc(0);
  for await (const chunk of response as AsyncIterable<Buffer>) {
    body = Buffer.concat([body, chunk]);
    if (body.length > maxErrorBytes) break;
  }
  if (code < 300) return new Error(`the server answered ${code} and did not open a port-forward`);
  return statusErrorOf(code, body.toString("utf8"));
}

/** The data of one port. Reading and writing wait for the other side. */
class ForwardedPort extends Duplex {
  readonly #socket: Duplex;
  readonly #port: number;
  readonly #frames = new FrameReader();
  /** Each channel begins with the number of the port. */
  readonly #prefixes = [Buffer.alloc(0), Buffer.alloc(0)];
  /** Whether the next frame has to continue the message of the last one, and the channel of that message once it is known. */
  #isInMessage = false;
  #channel: number | undefined;
  #problem = "";
  #isOver = false;

  constructor(socket: Duplex, port: number, head: Buffer) {
    super({ allowHalfOpen: false });
    this.#socket = socket;
    this.#port = port;
    // It may fail before its owner can listen; what went wrong stays in `errored`.
    this.on("error", () => {});
    if ("setKeepAlive" in socket && typeof socket.setKeepAlive === "function") socket.setKeepAlive(true, keepAliveMs);
    socket.on("data", (chunk: Buffer) => this.#received(chunk));
    socket.on("error", (error) => this.destroy(error));
    socket.on("end", () => this.#cut());
    socket.on("close", () => this.#cut());
    if (head.length > 0) this.#received(head);
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    let at = 0;
    for (; at + maxSentBytes < chunk.length; at += maxSentBytes) this.#sendData(chunk.subarray(at, at + maxSentBytes));
    this.#sendData(chunk.subarray(at), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.#socket.writable) this.#socket.end(frameOf(opcodes.close, normalClosure), () => done());
    else done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  #sendData(bytes: Buffer, done?: (error?: Error | null) => void): void {
    this.#socket.write(frameOf(opcodes.binary, Buffer.concat([Buffer.of(channels.data), bytes])), done);
  }

  #received(chunk: Buffer): void {
    try {
      // What a server sends after it has closed is neither read nor kept.
      if (this.#isOver || this.destroyed) return;
      for (const frame of this.#frames.read(chunk)) {
        this.#handle(frame);
        if (this.#isOver || this.destroyed) return;
      }
    } catch (error) {
      this.destroy(new Error(`the server sent an invalid port-forward: ${(error as Error).message}`, { cause: error }));
    }
  }

  #handle({ opcode, isLast, payload }: Frame): void {
    if (opcode >= opcodes.close && (!isLast || payload.length > 125)) throw new Error("a control frame is too large");
    switch (opcode) {
      case opcodes.continuation:
      case opcodes.binary:
        this.#handleMessage(opcode, isLast, payload);
        return;
      case opcodes.close:
        this.#handleClose(payload);
        return;
      case opcodes.ping:
        // A server that asks and does not read gets no more answers.
        if (this.#socket.writableLength < maxFrameBytes) this.#socket.write(frameOf(opcodes.pong, payload));
        return;
      case opcodes.pong:
        return;
      default:
        throw new Error(`a frame has the unexpected opcode ${opcode}`);
    }
  }

  #handleMessage(opcode: number, isLast: boolean, payload: Buffer): void {
    if (this.#isInMessage !== (opcode === opcodes.continuation)) throw new Error("a message is fragmented wrongly");
    if (!this.#isInMessage) this.#channel = undefined;
    this.#isInMessage = !isLast;
    if (payload.length > 0) this.#take(payload);
    const problem = this.#problem.trim();
    if (isLast && problem !== "") this.destroy(new Error(problem.slice(0, maxProblemLength)));
  }

  #take(payload: Buffer): void {
    const channel = this.#channel ?? payload.readUInt8(0);
    const data = this.#withoutPort(channel, this.#channel === undefined ? payload.subarray(1) : payload);
    this.#channel = channel;
    if (channel === channels.error)
      this.#problem += data.toString("utf8").slice(0, maxProblemLength - this.#problem.length);
    else if (data.length > 0 && !this.push(data)) this.#socket.pause();
  }

  #withoutPort(channel: number, data: Buffer): Buffer {
    const known = this.#prefixes[channel];
    if (known === undefined) throw new Error(`a message is for the unknown channel ${channel}`);
    if (known.length === 2) return data;
    const prefix = Buffer.concat([known, data.subarray(0, 2 - known.length)]);
    this.#prefixes[channel] = prefix;
    if (prefix.length === 2 && prefix.readUInt16LE(0) !== this.#port)
      throw new Error(`it is for port ${prefix.readUInt16LE(0)}, not for port ${this.#port}`);
    return data.subarray(2 - known.length);
  }

  #handleClose(payload: Buffer): void {
    const code = payload.length >= 2 ? payload.readUInt16BE(0) : 1000;
    const reason = payload.subarray(2).toString("utf8").trim();
    if (code === 1000 || code === 1001) this.#ended();
    else this.destroy(new Error(`the server closed the port-forward: ${reason || `code ${code}`}`));
  }

  /** Some proxies end the connection without a word. */
  #cut(): void {
    if (!this.#isOver && this.#frames.isInFrame) this.destroy(new Error("the port-forward was cut off within a frame"));
    else this.#ended();
  }

  #ended(): void {
    if (this.#isOver || this.destroyed) return;
    this.#isOver = true;
    this.push(null);
  }
}
