// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { request as requestHttp1 } from "node:https";
import type { KeyPair } from "@purlin/certificates";

type Protocol = "h2" | "http/1.1";

export interface ClientOptions {
  readonly protocol: Protocol;
  readonly port: number;
  readonly authorityPem: string;
  readonly pair?: KeyPair | undefined;
}

interface Reply {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
  readonly text: string;
}

interface Outgoing {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
}

/** A client of one protocol over one connection, with the whole response. */
export interface TestClient extends AsyncDisposable {
  send(path: string, outgoing?: Outgoing): Promise<Reply>;
  /** Opens a stream and gives its chunks as they come; ends when the server or the caller ends it. */
  stream(path: string): Promise<{ readonly code: number; readonly chunks: AsyncIterable<Buffer>; close(): void }>;
}

export async function connectClient(options: ClientOptions): Promise<TestClient> {
  return options.protocol === "h2" ? connectHttp2(options) : http1Client(options);
}

async function connectHttp2({ port, authorityPem, pair }: ClientOptions): Promise<TestClient> {
  const credentials = pair === undefined ? {} : { cert: pair.certPem, key: pair.keyPem };
  const session = connect(`https://localhost:${port}`, { ca: authorityPem, ...credentials });
  session.on("error", () => {});
  await once(session, "connect");
  const open = async (path: string, { method = "GET", headers = {}, body }: Outgoing): Promise<Opened> => {
    const stream = session.request({ ":method": method, ":path": path, ...headers }, { endStream: body === undefined });
    stream.on("error", () => {});
    if (body !== undefined) stream.end(body);
    const incoming = await responseOf(stream);
    return { code: Number(incoming[":status"]), headers: incoming, chunks: stream, close: () => stream.close() };
  };
  return client(open, () => closeSession(session));
}

/** The headers of an answer; fails when the stream ends without one. */
function responseOf(stream: ClientHttp2Stream): Promise<Record<string, string>> {
  return new Promise((resolve, reject) => {
    stream.once("response", (headers) => resolve(headers as Record<string, string>));
    stream.once("error", reject);
    stream.once("close", () => reject(new Error("the stream was closed without an answer")));
  });
}

async function closeSession(session: ClientHttp2Session): Promise<void> {
  // With an error, so that streams under way fail instead of never being answered.
  session.destroy(new Error("the client leaves"));
}

function http1Client({ port, authorityPem, pair }: ClientOptions): TestClient {
  const credentials = pair === undefined ? {} : { cert: pair.certPem, key: pair.keyPem };
  const open = async (path: string, { method = "GET", headers = {}, body }: Outgoing): Promise<Opened> => {
    const outgoing = requestHttp1({
      host: "localhost",
      port,
      path,
      method,
      headers,
      ca: authorityPem,
      agent: false,
      ...credentials,
    });
    outgoing.end(body);
    const [incoming] = (await once(outgoing, "response")) as [import("node:http").IncomingMessage];
    const { statusCode = 0, headers: received } = incoming;
    return {
      code: statusCode,
      headers: received as Opened["headers"],
      chunks: incoming,
      close: () => incoming.destroy(),
    };
  };
  return client(open, async () => {});
}

interface Opened {
  readonly code: number;
  readonly headers: Record<string, string>;
  readonly chunks: AsyncIterable<Buffer>;
  close(): void;
}

function client(open: (path: string, outgoing: Outgoing) => Promise<Opened>, dispose: () => Promise<void>): TestClient {
  return {
    send: async (path, outgoing = {}) => {
      const { code, headers, chunks } = await open(path, outgoing);
      const received: Buffer[] = [];
      for await (const chunk of chunks) {
        received.push(chunk);
      }
      const bytes = Buffer.concat(received);
      return { code, headers, bytes, text: bytes.toString() };
    },
    stream: (path) => open(path, {}),
    [Symbol.asyncDispose]: dispose,
  };
}
