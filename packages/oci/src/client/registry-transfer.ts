// SPDX-License-Identifier: Apache-2.0
import type { Readable } from "node:stream";
import { formatReference, type ImageReference, sourceOf } from "../content/image-reference.ts";
import type { Descriptor } from "../content/manifest.ts";
import { OciError } from "../content/oci-error.ts";
import type { RegistryScope } from "./registry-auth.ts";
import { type RegistryResponse, readBody, refusal } from "./registry-http.ts";
import { isPassing } from "./registry-retry.ts";

/** What a registry is asked. */
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
      throw new OciError("too-large", `${sourceOf(reference)} has more than ${maxTagPages} pages of tags`);
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
    throw new OciError("refused", `the tag list of ${source} is not valid JSON`, { cause });
  }
}

/** The URL of the next page. It must be on the same host, so that credentials are not sent to another. */
function nextPage(link: string, from: URL): string {
  const next = new URL(link, from);
  if (next.origin === from.origin) return next.href;
  throw new OciError("refused", `${from.host} continues its list of tags at another host, ${next.host}`);
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
    throw new OciError("unreachable", `cannot write ${name}: ${target.host} answers ${done.status}`);
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
    "refused",
    `${started.url.host} takes uploads at ${target.protocol}//${target.host}, not by HTTPS`,
  );
}
