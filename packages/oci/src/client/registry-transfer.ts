// SPDX-License-Identifier: Apache-2.0
import type { Readable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { formatReference, type ImageReference, sourceOf } from "../content/image-reference.ts";
import type { Descriptor } from "../content/manifest.ts";
import { isOciError, OciError } from "../content/oci-error.ts";
import type { RegistryScope } from "./registry-auth.ts";
import { type RegistryRequest, type RegistryResponse, type RegistrySend, readBody, refusal } from "./registry-http.ts";

/** A request to a registry. */
export interface Asked {
  readonly method: "GET" | "HEAD" | "POST" | "PUT";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | (() => Readable);
  readonly actions?: RegistryScope["actions"];
  readonly signal?: AbortSignal | undefined;
}

/** Asks the registry of a reference for a path below its repository, or for a whole URL. */
export type Ask = (reference: ImageReference, path: string, request: Asked) => Promise<RegistryResponse>;

const maxTagPages = 1_000;
/** Of all pages together: some registries send hundreds of thousands of tags at once. */
const maxTagBytes = 64 * 1024 * 1024;

/** Opens a blob from an offset on, or from its beginning where the registry cannot do that. */
export async function openBlob(
  ask: Ask,
  reference: ImageReference,
  { descriptor, offset, signal }: { descriptor: Descriptor; offset: number; signal: AbortSignal | undefined },
): Promise<{ bytes: Readable; offset: number }> {
  const headers = offset > 0 && offset < descriptor.size ? { range: `bytes=${offset}-` } : {};
  const response = await ask(reference, `blobs/${descriptor.digest}`, { method: "GET", headers, signal });
  if (response.status === 206) return { bytes: response.body, offset };
  if (response.status === 200) return { bytes: response.body, offset: 0 };
  throw await refusal(response, `${formatReference(reference)}: blob ${descriptor.digest}`, "read");
}

/** All tags of a repository, however many pages they come in. */
export async function listTags(
  ask: Ask,
  reference: ImageReference,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const pages: string[][] = [];
  let bytesLeft = maxTagBytes;
  let next: string | undefined = "tags/list";
  for (let page = 0; next !== undefined; page++) {
    if (page === maxTagPages)
      throw new OciError("TOO_LARGE", `${sourceOf(reference)} has more than ${maxTagPages} pages of tags`);
    const response: RegistryResponse = await ask(reference, next, { method: "GET", signal });
    if (response.status !== 200) throw await refusal(response, sourceOf(reference), "read");
    const body = await readBody(response.body, bytesLeft);
    bytesLeft -= body.length;
    pages.push(tagsOf(body, sourceOf(reference)));
    const link = /<([^<>]+)>\s*;\s*rel="?next"?/.exec(String(response.headers["link"] ?? ""))?.[1];
    next = link === undefined ? undefined : nextPage(link, response.url);
  }
  return pages.flat();
}

function tagsOf(body: Buffer, source: string): string[] {
  try {
    const { tags } = JSON.parse(body.toString("utf8")) as { tags?: unknown };
    return Array.isArray(tags) ? tags.filter((tag): tag is string => typeof tag === "string") : [];
  } catch (cause) {
    throw new OciError("REFUSED", `the tag list of ${source} is not valid JSON`, { cause });
  }
}

/** The URL of the next page. It must be on the same host, so that credentials are not sent to another. */
function nextPage(link: string, from: URL): string {
  const next = new URL(link, from);
  if (next.origin === from.origin) return next.href;
  throw new OciError("REFUSED", `${from.host} continues its list of tags at another host, ${next.host}`);
}

/** What to upload. */
interface Upload {
  readonly descriptor: Descriptor;
  readonly open: () => Readable;
  readonly signal: AbortSignal | undefined;
}

/** Uploads a blob in one piece, unless the registry has it. */
export async function uploadBlob(ask: Ask, reference: ImageReference, upload: Upload): Promise<void> {
  const { descriptor, open, signal } = upload;
  const name = `${formatReference(reference)}: blob ${descriptor.digest}`;
  const actions = "pull,push";
  const there = await ask(reference, `blobs/${descriptor.digest}`, { method: "HEAD", actions, signal });
  there.body.destroy();
  if (there.status === 200) return;
  const target = await startUpload(ask, reference, { name, signal });
  target.searchParams.set("digest", descriptor.digest);
  const done = await ask(reference, target.href, {
    method: "PUT",
    headers: { "content-type": "application/octet-stream", "content-length": String(descriptor.size) },
    body: open,
    actions,
    signal,
  });
  if (isPassing(done.status)) {
    done.body.destroy();
    throw new OciError("UNREACHABLE", `cannot write ${name}: ${target.host} answers ${done.status}`);
  }
  if (done.status !== 201) throw await refusal(done, name, "write");
  done.body.resume();
}

async function startUpload(
  ask: Ask,
  reference: ImageReference,
  { name, signal }: { readonly name: string; readonly signal: AbortSignal | undefined },
): Promise<URL> {
  const headers = { "content-length": "0" };
  const started = await ask(reference, "blobs/uploads/", { method: "POST", headers, actions: "pull,push", signal });
  const { location } = started.headers;
  if (started.status !== 202 || location === undefined) throw await refusal(started, name, "write");
  started.body.resume();
  const target = new URL(location, started.url);
  // As with redirects: what is secret on one way is secret on the other.
  if (started.url.protocol !== "https:" || target.protocol === "https:") return target;
  throw new OciError(
    "REFUSED",
    `${started.url.host} takes uploads at ${target.protocol}//${target.host}, not by HTTPS`,
  );
}

/** Waits, unless the signal says otherwise. */
export type Sleep = (ms: number, signal: AbortSignal | undefined) => Promise<void>;

/** Waits on the machine's clock. */
export const sleep: Sleep = async (ms, signal) => wait(ms, undefined, signal && { signal });

const attempts = 4;
/** No retries after this time: a reconcile has a minute in all and must report what it waited for. */
const tryingMs = 25_000;
const firstPauseMs = 250;
const maxPauseMs = 30_000;
const passing = new Set([408, 425, 429, 500, 502, 503, 504]);

/** Whether a response status is transient, so that a retry may help. */
export function isPassing(status: number): boolean {
  return passing.has(status);
}

/** Retries requests that failed for a transient reason, except uploads: how much of one arrived is unknown. */
export function retrying(send: RegistrySend, pause: Sleep, now: () => number = Date.now): RegistrySend {
  return async (request) => {
    const begun = now();
    for (let attempt = 1; ; attempt++) {
      const outcome = await attemptOnce(send, request);
      const isLast = attempt === attempts || now() - begun >= tryingMs || typeof request.body === "function";
      if (outcome.response !== undefined && (isLast || !isPassing(outcome.response.status))) return outcome.response;
      if (outcome.response === undefined && (isLast || request.signal?.aborted)) throw outcome.error;
      outcome.response?.body.destroy();
      await pause(pauseAfter(attempt, outcome.response), request.signal);
    }
  };
}

interface Outcome {
  readonly response?: RegistryResponse;
  readonly error?: unknown;
}

async function attemptOnce(send: RegistrySend, request: RegistryRequest): Promise<Outcome> {
  try {
    return { response: await send(request) };
  } catch (cause) {
    if (isOciError(cause) || request.signal?.aborted) throw cause;
    return { error: unreachable(request, cause) };
  }
}

/** Errors of requests that were already retried here, so that callers do not retry them. */
const final = new WeakSet<object>();

/** The error of a request without a response: host, cause, request and advice. */
export function unreachable({ method, url, body }: RegistryRequest, cause: unknown): OciError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const why = `${message || code || "unknown error"} (${method} ${url.pathname})`;
  const advice = "check the registry's name, that it is running, and the network";
  const error = new OciError("UNREACHABLE", `cannot reach ${url.host}: ${why}; ${advice}`, { cause });
  // An upload is sent once: only its caller can restart it.
  if (typeof body !== "function") final.add(error);
  return error;
}

function pauseAfter(attempt: number, response: RegistryResponse | undefined): number {
  const asked = Number(response?.headers["retry-after"]);
  if (Number.isFinite(asked) && asked > 0) return Math.min(asked * 1000, maxPauseMs);
  return firstPauseMs * 2 ** (attempt - 1) * (0.5 + Math.random());
}

/** How a transfer is retried. */
interface TransferOptions {
  /** Where it comes from or goes to, for the message. */
  readonly registry: string;
  readonly pause: Sleep;
  readonly signal?: AbortSignal | undefined;
  /** The bytes transferred so far: while they grow, the number of retries is not limited. */
  readonly progress?: (() => number) | undefined;
  readonly now?: (() => number) | undefined;
}

/** Retries a transfer whose connection was lost. A connection that is lost repeatedly counts as an unreachable registry. */
export async function retryTransfer<T>(run: () => Promise<T>, options: TransferOptions): Promise<T> {
  const { registry, pause, signal, progress = () => 0, now = Date.now } = options;
  let reached = progress();
  let stuckSince: number | undefined;
  for (let attempt = 1; ; attempt++) {
    if (progress() > reached) {
      attempt = 1;
      stuckSince = undefined;
    }
    reached = progress();
    try {
      return await run();
    } catch (cause) {
      if (signal?.aborted || final.has(cause as object)) throw cause;
      // Not since the start: progress is known only when it continues.
      stuckSince ??= now();
      const error = isBrokenLine(cause)
        ? new OciError("UNREACHABLE", `connection to ${registry} lost: ${cause.message}`, { cause })
        : cause;
      const isLast = attempt === attempts || now() - stuckSince >= tryingMs;
      if (!isOciError(error, "UNREACHABLE") || isLast) throw error;
      await pause(pauseAfter(attempt, undefined), signal);
    }
  }
}

const brokenLines = new Set([
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ECONNABORTED",
  "ENOTCONN",
  "ERR_STREAM_PREMATURE_CLOSE",
]);

/** Errors of sockets; errors of files are not retried. */
function isBrokenLine(error: unknown): error is Error {
  const { code } = (error ?? {}) as NodeJS.ErrnoException;
  return error instanceof Error && code !== undefined && brokenLines.has(code);
}
