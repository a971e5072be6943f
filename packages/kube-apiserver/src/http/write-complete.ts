// SPDX-License-Identifier: Apache-2.0
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type AwaitingWork, awaited, inTurns } from "@purlin/base";
import type { ApiResponse, CompleteResponse, Payload } from "../request/api-request.ts";
import type { Exchange, OutgoingHeaders } from "./exchange.ts";
import { byteLength, largeBytes } from "./write-body.ts";

/** Smaller answers are sent as they are: compressing costs more than it saves on a local network. */
const compressAbove = 128 * 1024;
/** Pieces of larger answers are sent as they are, which saves copying them. */
const joinUpTo = 64 * 1024;
const compress = promisify(gzip);

interface WriteOptions {
  readonly auditId: string;
  /** Waits until the user may have one more large response. Call what it gives when the client has that. */
  readonly beginLarge?: () => Promise<(() => void) | undefined>;
}

/** Sends an answer with a whole body. Resolves when the client has taken a large one. */
export async function writeComplete(
  exchange: Exchange,
  response: CompleteResponse,
  { auditId, beginLarge }: WriteOptions,
): Promise<void> {
  let end = (): void => {};
  const begin = async (): Promise<void> => {
    end = (await beginLarge?.()) ?? end;
  };
  try {
    const { headers, chunks } = await encoded(exchange, response, { auditId, begin });
    if (byteLength(chunks) <= largeBytes) end();
    await exchange.respond(response.code, headers, chunks);
  } finally {
    end();
  }
}

/** A response whose bytes are made in more parts than these may become large. */
const shortParts = 3;

/** The bytes of a payload. Those of a large one are made when its turn has come, as they stay in memory until the client has taken them. */
function* rendered(payload: Payload, begin: () => Promise<void>): AwaitingWork<readonly Uint8Array[]> {
  if (payload.rendering === undefined) return payload.chunks();
  const work = payload.rendering();
  for (let parts = 0; parts < shortParts; parts++) {
    const part = work.next();
    if (part.done) return part.value;
    yield;
  }
  yield* awaited(begin());
  return yield* work;
}

async function encoded(
  exchange: Exchange,
  response: CompleteResponse,
  { auditId, begin }: { readonly auditId: string; readonly begin: () => Promise<void> },
): Promise<{ readonly headers: OutgoingHeaders; readonly chunks: readonly Uint8Array[] }> {
  const { payload } = response;
  const headers = responseHeaders(response, payload?.contentType, auditId);
  let chunks = payload === undefined ? [] : await inTurns(rendered(payload, begin));
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
  return { headers, chunks: exchange.method === "HEAD" ? [] : chunks };
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

function acceptsGzip(header: string | undefined): boolean {
  return (header ?? "").split(",").some((clause) => {
    const [coding = "", weight = ""] = clause.split(";").map((part) => part.trim().toLowerCase());
    return coding === "gzip" && weight !== "q=0";
  });
}

/** All texts together; beyond it each is cut. */
const maxTotal = 4096;

const maxEach = 256;

/** What every answer says about itself. */
export function responseHeaders(
  response: ApiResponse,
  contentType: string | undefined,
  auditId: string,
): OutgoingHeaders {
  const headers: OutgoingHeaders = { "audit-id": auditId, "cache-control": "no-cache, private", ...response.headers };
  if (contentType !== undefined) headers["content-type"] = contentType;
  if (response.warnings !== undefined && response.warnings.length > 0) {
    headers["warning"] = warningHeaders(response.warnings);
  }
  return headers;
}

/**
 * The values of Warning headers (RFC 7234 §5.5): code 299, no agent, the text quoted. Duplicates and texts of several lines are
 * left out. When they become
 * too long together, each is cut, and no more are added once they are too long even so.
 */
export function warningHeaders(texts: readonly string[]): string[] {
  const distinct = [...new Set(texts.filter(isPlain))];
  return shown(distinct).map((text) => `299 - "${latin1(text.replace(/["\\]/g, "\\$&"))}"`);
}

/** Cutting begins with the first text that is too much, and begins again with all texts so far. */
function shown(texts: readonly string[]): readonly string[] {
  let total = 0;
  const fitting = texts.findIndex((text) => {
    total += lengthOf(text);
    return total > maxTotal;
  });
  if (fitting < 0) return texts;
  const kept = texts.slice(0, fitting + 1).map(cut);
  let written = kept.reduce((sum, text) => sum + lengthOf(text), 0);
  for (let at = fitting + 1; at < texts.length && written < maxTotal; at++) {
    const text = cut(texts[at] ?? "");
    kept.push(text);
    written += lengthOf(text);
  }
  return kept;
}

/** A character is at most two code units: more of a text of megabytes is not looked at. */
function cut(text: string): string {
  return [...text.slice(0, 2 * maxEach)].slice(0, maxEach).join("");
}

/** The number of characters; of a text that is too long for certain, more than all texts may have. */
function lengthOf(text: string): number {
  return text.length > 2 * maxTotal ? maxTotal + 1 : [...text].length;
}

// Line breaks and control characters would end the header: the reference leaves out what has them.
function isPlain(text: string): boolean {
  return !/\p{Cc}/u.test(text);
}

// A header is bytes; UTF-8 ones are what clients expect, and Node writes one byte for each character.
function latin1(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}
