// SPDX-License-Identifier: Apache-2.0
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { answerTo, asJson, type Target, type WireRequest } from "./wire.ts";

/** A watch: one JSON value a line, as they come. */
export interface WireStream {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  /** The next event; undefined when the stream has ended. Fails when nothing comes in time. */
  next(withinMs?: number): Promise<unknown>;
  close(): void;
}

/** Opens a watch. */
export async function openStream(target: Target, request: WireRequest): Promise<WireStream> {
  const incoming = await answerTo(target, request);
  // A watch may be silent for as long as nothing happens.
  incoming.setTimeout(0);
  const next = linesOf(incoming, request.path);
  return { code: incoming.statusCode ?? 0, headers: incoming.headers, next, close: () => void incoming.destroy() };
}

function linesOf(incoming: IncomingMessage, path: string): WireStream["next"] {
  const lines: unknown[] = [];
  const waiting: ((line: unknown) => void)[] = [];
  let rest = "";
  let ended = false;
  const give = (text: string): void => {
    if (text.trim() === "") return;
    const taker = waiting.shift();
    if (taker) taker(asJson(text));
    else lines.push(asJson(text));
  };
  const end = (): void => {
    if (ended) return;
    ended = true;
    give(rest);
    for (const taker of waiting.splice(0)) taker(undefined);
  };
  incoming.setEncoding("utf8");
  incoming.on("data", (chunk: string) => {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) give(part);
  });
  for (const event of ["end", "close", "error"]) incoming.on(event, end);

  return async (withinMs = 60_000) => {
    if (lines.length > 0) return lines.shift();
    if (ended) return undefined;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    waiting.push(resolve);
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(resolve), 1);
      reject(new Error(`no event within ${withinMs} ms on ${path}`));
    }, withinMs);
    return promise.finally(() => clearTimeout(timer));
  };
}
