// SPDX-License-Identifier: Apache-2.0
import type { Readable } from "node:stream";
import type { BlobSource, ContentStore } from "./content-store.ts";
import { digestOf, isDigest } from "./digest.ts";
import { formatReference, type ImageReference, identifierOf, sourceOf } from "./image-reference.ts";
import { type Descriptor, type Manifest, maxManifestBytes, parseManifest } from "./manifest.ts";
import { acceptedManifests } from "./media-types.ts";
import { OciError } from "./oci-error.ts";
import { type AuthorizedSend, createAuthorizedSend, type RegistryScope } from "./registry-auth.ts";
import type { CredentialsFor } from "./registry-credentials.ts";
import { createRegistryHttp, type RegistryHttpOptions, type RegistryResponse, readBody } from "./registry-http.ts";
import { refusal } from "./registry-refusal.ts";
import { retrying, retryTransfer, type Sleep, sleep } from "./registry-retry.ts";
import { createSchemes } from "./registry-scheme.ts";

/** What a registry client is made of. */
export interface RegistryClientOptions extends RegistryHttpOptions {
  readonly credentials?: CredentialsFor | undefined;
  /** Registries that may be spoken to without TLS, beside those on loopback. */
  readonly insecureRegistries?: readonly string[] | undefined;
  readonly now?: (() => number) | undefined;
  readonly sleep?: Sleep | undefined;
}

/** A manifest as the registry sent it. */
export interface FetchedManifest {
  readonly descriptor: Descriptor;
  readonly bytes: Buffer;
  readonly manifest: Manifest;
}

/** What is asked of a call. */
export interface RegistryCall {
  readonly signal?: AbortSignal | undefined;
}

/** Talks to registries: reads, checks against digests, and writes. */
export interface RegistryClient {
  /** What a reference points to now. A digest is taken as it is. */
  resolve(reference: ImageReference, call?: RegistryCall): Promise<string>;
  manifest(reference: ImageReference, call?: RegistryCall): Promise<FetchedManifest>;
  /** Brings a blob into the store, unless it is there. */
  pullBlob(reference: ImageReference, descriptor: Descriptor, into: ContentStore, call?: RegistryCall): Promise<void>;
  tags(reference: ImageReference, call?: RegistryCall): Promise<string[]>;
  /** Uploads a blob, unless the registry has it. */
  pushBlob(reference: ImageReference, descriptor: Descriptor, open: () => Readable, call?: RegistryCall): Promise<void>;
  /** Uploads a manifest under the reference's tag, or its digest. */
  pushManifest(reference: ImageReference, bytes: Uint8Array, mediaType: string, call?: RegistryCall): Promise<string>;
}

const maxTagPages = 1_000;
const maxTagPageBytes = 16 * 1024 * 1024;

/** Makes a client. */
export function createRegistryClient(options: RegistryClientOptions = {}): RegistryClient {
  const { credentials, insecureRegistries = [], now = Date.now } = options;
  const pause = options.sleep ?? sleep;
  const send = retrying(createRegistryHttp(options), pause);
  const schemes = createSchemes(createRegistryHttp({ ...options, idleTimeoutMs: 10_000 }), insecureRegistries);
  const senders = new Map<string, AuthorizedSend>();

  function senderOf(source: string): AuthorizedSend {
    const known = senders.get(source);
    if (known !== undefined) return known;
    const made = createAuthorizedSend(send, credentials?.(source), now);
    senders.set(source, made);
    return made;
  }

  async function ask(reference: ImageReference, path: string, request: Asked): Promise<RegistryResponse> {
    const base = await schemes(reference.registry, request.signal);
    const url = path.startsWith("http") ? new URL(path) : new URL(`/v2/${reference.repository}/${path}`, base);
    const { actions = "pull", ...rest } = request;
    return senderOf(sourceOf(reference))({ ...rest, url }, { repository: reference.repository, actions });
  }

  async function manifest(reference: ImageReference, { signal }: RegistryCall = {}): Promise<FetchedManifest> {
    const name = formatReference(reference);
    const response = await ask(reference, `manifests/${identifierOf(reference)}`, {
      method: "GET",
      headers: { accept: acceptedManifests },
      signal,
    });
    if (response.status !== 200) throw await refusal(response, name, "read");
    const bytes = await readBody(response.body, maxManifestBytes);
    const digest = digestOf(bytes);
    if (reference.digest !== undefined && digest !== reference.digest) {
      throw new OciError("digest-mismatch", `${name}: what came has the digest ${digest}`);
    }
    const parsed = parseManifest(bytes, response.headers["content-type"] ?? "", name);
    const { mediaType } = parsed.kind === "image" ? parsed.image : parsed.index;
    return { descriptor: { mediaType, digest, size: bytes.length }, bytes, manifest: parsed };
  }

  return {
    manifest,
    async resolve(reference, call = {}) {
      if (reference.digest !== undefined) return reference.digest;
      const response = await ask(reference, `manifests/${identifierOf(reference)}`, {
        method: "HEAD",
        headers: { accept: acceptedManifests },
        signal: call.signal,
      });
      response.body.destroy();
      const digest = response.headers["docker-content-digest"];
      if (response.status === 200 && typeof digest === "string" && isDigest(digest)) return digest;
      // Not every registry answers HEAD, or with a digest; what it refuses it refuses again, with a reason.
      return (await manifest(reference, call)).descriptor.digest;
    },
    pullBlob(reference, descriptor, into, { signal } = {}) {
      const source: BlobSource = (offset) => openBlob(ask, reference, { descriptor, offset, signal });
      return retryTransfer(() => into.ingest(descriptor, source), pause, signal);
    },
    tags: (reference, call = {}) => listTags(ask, reference, call.signal),
    pushBlob: (reference, descriptor, open, call = {}) =>
      uploadBlob(ask, reference, { descriptor, open, signal: call.signal }),
    async pushManifest(reference, bytes, mediaType, { signal } = {}) {
      const digest = digestOf(bytes);
      const response = await ask(reference, `manifests/${reference.tag ?? digest}`, {
        method: "PUT",
        headers: { "content-type": mediaType, "content-length": String(bytes.length) },
        body: bytes,
        actions: "pull,push",
        signal,
      });
      if (response.status !== 201) throw await refusal(response, formatReference(reference), "write");
      response.body.resume();
      return digest;
    },
  };
}

interface Asked {
  readonly method: "GET" | "HEAD" | "POST" | "PUT";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | (() => Readable);
  readonly actions?: RegistryScope["actions"];
  readonly signal?: AbortSignal | undefined;
}

type Ask = (reference: ImageReference, path: string, request: Asked) => Promise<RegistryResponse>;

async function openBlob(
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

async function listTags(ask: Ask, reference: ImageReference, signal: AbortSignal | undefined): Promise<string[]> {
  const tags: string[] = [];
  let next: string | undefined = "tags/list";
  for (let page = 0; next !== undefined; page++) {
    if (page === maxTagPages)
      throw new OciError("too-large", `${sourceOf(reference)} has more than ${maxTagPages} pages of tags`);
    const response: RegistryResponse = await ask(reference, next, { method: "GET", signal });
    if (response.status !== 200) throw await refusal(response, sourceOf(reference), "read");
    const body = JSON.parse((await readBody(response.body, maxTagPageBytes)).toString("utf8")) as { tags?: unknown };
    if (Array.isArray(body.tags)) tags.push(...body.tags.filter((tag): tag is string => typeof tag === "string"));
    const link = /<([^>]+)>\s*;\s*rel="?next"?/.exec(String(response.headers["link"] ?? ""))?.[1];
    next = link === undefined ? undefined : new URL(link, response.url).href;
  }
  return tags;
}

async function uploadBlob(
  ask: Ask,
  reference: ImageReference,
  { descriptor, open, signal }: { descriptor: Descriptor; open: () => Readable; signal: AbortSignal | undefined },
): Promise<void> {
  const name = `${formatReference(reference)}: blob ${descriptor.digest}`;
  const actions = "pull,push";
  const there = await ask(reference, `blobs/${descriptor.digest}`, { method: "HEAD", actions, signal });
  there.body.destroy();
  if (there.status === 200) return;
  const started = await ask(reference, "blobs/uploads/", {
    method: "POST",
    headers: { "content-length": "0" },
    actions,
    signal,
  });
  const { location } = started.headers;
  if (started.status !== 202 || location === undefined) throw await refusal(started, name, "write");
  started.body.resume();
  const target = new URL(location, started.url);
  target.searchParams.set("digest", descriptor.digest);
  const done = await ask(reference, target.href, {
    method: "PUT",
    headers: { "content-type": "application/octet-stream", "content-length": String(descriptor.size) },
    body: open,
    actions,
    signal,
  });
  if (done.status !== 201) throw await refusal(done, name, "write");
  done.body.resume();
}
