// SPDX-License-Identifier: Apache-2.0
// Plain HTTPS requests, as curl would send them: what is compared is what is on the wire.
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Agent, request as httpsRequest } from "node:https";
import { parseJson } from "@purlin/kube-objects/json";

/** The address of a server and the user. */
export interface Target {
  readonly server: string;
  readonly caPem: string;
  readonly certPem?: string | undefined;
  readonly keyPem?: string | undefined;
  readonly token?: string | undefined;
}

/** What to send. */
export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
}

/** What came back. */
export interface WireResponse {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON, or its text when it is not JSON. */
  readonly body: unknown;
}

const agent = new Agent({ keepAlive: true, maxSockets: 256 });

/** Nothing a case asks takes longer; a server that never answers must not stop the run. */
const patienceMs = 75_000;

/** Sends one request and reads the whole answer. */
export async function send(target: Target, request: WireRequest): Promise<WireResponse> {
  const incoming = await answerTo(target, request);
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  return { code: incoming.statusCode ?? 0, headers: incoming.headers, text, body: asJson(text) };
}

/** Sends one request and hands over the answer as soon as its headers are there. */
export function answerTo(target: Target, wireRequest: WireRequest): Promise<IncomingMessage> {
  const { method, path, headers = {}, body } = wireRequest;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { server, caPem: ca, certPem: cert, keyPem: key, token } = target;
  const more: Record<string, string> = {};
  if (token !== undefined) more["authorization"] = `Bearer ${token}`;
  // Node sends the body of a DELETE without its length, which no server can read.
  if (body !== undefined) more["content-length"] = String(Buffer.byteLength(body));
  const outgoing = httpsRequest(
    `${server}${path}`,
    { method, headers: { ...headers, ...more }, agent, ca, cert, key },
    resolve,
  );
  outgoing.setTimeout(patienceMs, () => outgoing.destroy(new Error(`${method} ${path}: silence for ${patienceMs} ms`)));
  outgoing.on("error", (error: NodeJS.ErrnoException) => {
    // The server closed an idle connection at the moment at which it was used again: it has not read the request.
    const isIdleEnd = outgoing.reusedSocket && error.code === "ECONNRESET";
    if (isIdleEnd) answerTo(target, wireRequest).then(resolve, reject);
    else reject(error);
  });
  outgoing.end(body);
  return promise;
}

/** JSON with all its digits, or the text when it is not JSON. */
export function asJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}
