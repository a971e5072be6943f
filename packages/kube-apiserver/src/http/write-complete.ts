// SPDX-License-Identifier: Apache-2.0
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { inTurns } from "@purlin/base";
import type { CompleteResponse } from "../request/api-request.ts";
import type { Exchange } from "./exchange.ts";
import { responseHeaders } from "./response-headers.ts";

/** Smaller answers are sent as they are: compressing costs more than it saves on a local network. */
const compressAbove = 128 * 1024;
/** Pieces of larger answers are sent as they are, which saves copying them. */
const joinUpTo = 64 * 1024;
const compress = promisify(gzip);

/** Sends an answer in one piece. */
export async function writeComplete(exchange: Exchange, response: CompleteResponse, auditId: string): Promise<void> {
  const headers = responseHeaders(response, response.payload?.contentType, auditId);
  const { payload } = response;
  let chunks = (payload?.rendering === undefined ? payload?.chunks() : await inTurns(payload.rendering())) ?? [];
  let size = byteLength(chunks);
  if (size > compressAbove && acceptsGzip(exchange.headers["accept-encoding"])) {
    chunks = [await compressed(chunks)];
    size = byteLength(chunks);
    headers["content-encoding"] = "gzip";
    headers["vary"] = varyWith(String(headers["vary"] ?? ""));
  }
  if (chunks.length > 1 && size <= joinUpTo) {
    // One frame instead of several: for small answers frames cost more than copying.
    chunks = [Buffer.concat(chunks)];
  }
  if (response.code !== 304) headers["content-length"] = String(size);
  exchange.respond(response.code, headers, exchange.method === "HEAD" ? [] : chunks);
}

/** Documents that are kept, as those of OpenAPI are, are compressed once, however many ask for them at the same time. */
const known = new WeakMap<Uint8Array, Promise<Uint8Array>>();

function compressed(chunks: readonly Uint8Array[]): Promise<Uint8Array> {
  const [first] = chunks;
  if (chunks.length > 1 || first === undefined) return compress(Buffer.concat(chunks), { level: 1 });
  const made = known.get(first) ?? compress(first, { level: 1 });
  known.set(first, made);
  // What failed once may work the next time.
  made.catch(() => known.delete(first));
  return made;
}

/** What the answer depends on already, and the encoding. */
function varyWith(names: string): string {
  return names.includes("Accept-Encoding") ? names : ["Accept-Encoding", names].filter(Boolean).join(", ");
}

function byteLength(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((sum, chunk) => sum + chunk.length, 0);
}

function acceptsGzip(header: string | undefined): boolean {
  return (header ?? "").split(",").some((clause) => {
    const [coding = "", weight = ""] = clause.split(";").map((part) => part.trim().toLowerCase());
    return coding === "gzip" && weight !== "q=0";
  });
}
