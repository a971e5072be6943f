// SPDX-License-Identifier: Apache-2.0
import type { Readable } from "node:stream";
import type { BlobSource, ContentStore } from "../content/content-store.ts";
import { formatReference, type ImageReference, identifierOf, sourceOf } from "../content/image-reference.ts";
import {
  acceptedManifests,
  type Descriptor,
  digestOf,
  isDigest,
  type Manifest,
  maxManifestBytes,
  parseManifest,
} from "../content/manifest.ts";
import { isOciError, OciError } from "../content/oci-error.ts";
import { type AuthorizedSend, type CredentialsFor, createAuthorizedSend } from "./registry-auth.ts";
import {
  createRegistryHttp,
  isTimeout,
  type RegistryHttpOptions,
  type RegistryRequest,
  type RegistryResponse,
  type RegistrySend,
  readBody,
  refusal,
} from "./registry-http.ts";
import {
  type Asked,
  listTags,
  openBlob,
  retrying,
  retryTransfer,
  type Sleep,
  sleep,
  unreachable,
  uploadBlob,
} from "./registry-transfer.ts";

/** Finds out how to reach a registry: its base URL. */
type RegistrySchemes = (registry: string, signal?: AbortSignal) => Promise<string>;

/** What a registry client is made of. */
export interface RegistryClientOptions extends RegistryHttpOptions {
  readonly credentials?: CredentialsFor | undefined;
  /** Registries that may be contacted without TLS, beside those on loopback. */
  readonly insecureRegistries?: readonly string[] | undefined;
  /** Why a registry must not be asked for anything; undefined where it may. */
  readonly refuses?: ((registry: string) => string | undefined) | undefined;
  readonly now?: (() => number) | undefined;
  readonly sleep?: Sleep | undefined;
}

/** A manifest as the registry sent it. */
export interface FetchedManifest {
  readonly descriptor: Descriptor;
  readonly bytes: Buffer;
  readonly manifest: Manifest;
}

/** The options of a call. */
export interface RegistryCall {
  readonly signal?: AbortSignal | undefined;
}

/** Talks to registries: reads, checks against digests, and writes. */
export interface RegistryClient {
  /** What a reference points to now. A digest is taken as it is. */
  resolve(reference: ImageReference, call?: RegistryCall): Promise<string>;
  manifest(reference: ImageReference, call?: RegistryCall): Promise<FetchedManifest>;
  /** Brings a blob into the store, unless it is there. */
  pullBlob(
    reference: ImageReference,
    blob: { readonly descriptor: Descriptor; readonly into: ContentStore },
    call?: RegistryCall,
  ): Promise<void>;
  tags(reference: ImageReference, call?: RegistryCall): Promise<string[]>;
  /** Uploads a blob, unless the registry has it. */
  pushBlob(
    reference: ImageReference,
    blob: { readonly descriptor: Descriptor; readonly open: () => Readable },
    call?: RegistryCall,
  ): Promise<void>;
  /** Uploads a manifest under the reference's tag, or its digest. */
  pushManifest(
    reference: ImageReference,
    manifest: { readonly bytes: Uint8Array; readonly mediaType: string },
    call?: RegistryCall,
  ): Promise<string>;
}

/** The number of repositories whose tokens are kept, and of registries whose scheme is known: objects may name any number of them. */
const mostSources = 1000;

/** Makes a client. */
export function createRegistryClient(options: RegistryClientOptions = {}): RegistryClient {
  const { credentials, insecureRegistries = [], refuses, now = Date.now } = options;
  const pause = options.sleep ?? sleep;
  const send = retrying(createRegistryHttp(options), pause, now);
  const schemes = createSchemes(createRegistryHttp({ idleTimeoutMs: 10_000, ...options }), insecureRegistries);
  const senders = new Map<string, AuthorizedSend>();

  function senderOf(source: string): AuthorizedSend {
    const known = senders.get(source);
    if (known !== undefined) return known;
    const made = createAuthorizedSend(send, () => credentials?.(source), now);
    senders.set(source, made);
    dropOldest(senders);
    return made;
  }

  async function ask(reference: ImageReference, path: string, request: Asked): Promise<RegistryResponse> {
    const reason = refuses?.(reference.registry);
    if (reason !== undefined) throw new OciError("REFUSED", reason);
    const base = await schemes(reference.registry, request.signal);
    const url = path.startsWith("http") ? new URL(path) : new URL(`/v2/${reference.repository}/${path}`, base);
    const { actions = "pull", ...rest } = request;
    return senderOf(sourceOf(reference))({ ...rest, url }, { repository: reference.repository, actions });
  }

  function transfer<T>({ registry }: ImageReference, run: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return retryTransfer(run, { registry, pause, signal, now });
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
      throw new OciError("DIGEST_MISMATCH", `${name}: digest mismatch: got ${digest}`);
    }
    const parsed = parseManifest(bytes, response.headers["content-type"] ?? "", name);
    const { mediaType } = parsed.kind === "image" ? parsed.image : parsed.index;
    return { descriptor: { mediaType, digest, size: bytes.length }, bytes, manifest: parsed };
  }

  return {
    manifest: (reference, call = {}) => transfer(reference, () => manifest(reference, call), call.signal),
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
      const { descriptor } = await transfer(reference, () => manifest(reference, call), call.signal);
      return descriptor.digest;
    },
    pullBlob(reference, { descriptor, into }, { signal } = {}) {
      let reached = 0;
      const source: BlobSource = (offset) => {
        reached = offset;
        return openBlob(ask, reference, { descriptor, offset, signal });
      };
      const { registry } = reference;
      const progress = (): number => reached;
      return retryTransfer(() => into.ingest(descriptor, source), { registry, pause, signal, progress, now });
    },
    tags: (reference, { signal } = {}) => transfer(reference, () => listTags(ask, reference, signal), signal),
    pushBlob(reference, { descriptor, open }, { signal } = {}) {
      // A broken upload is not resumed, because the registry does not say how much of it arrived: each attempt starts again.
      return transfer(reference, () => uploadBlob(ask, reference, { descriptor, open, signal }), signal);
    },
    async pushManifest(reference, { bytes, mediaType }, { signal } = {}) {
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

/**
 * HTTPS everywhere. A registry on loopback, or one the user calls insecure, may use plain HTTP: it is probed once with TLS, and used over
 * plain HTTP when it is not a TLS server.
 */
export function createSchemes(send: RegistrySend, insecure: readonly string[]): RegistrySchemes {
  const known = new Map<string, Promise<string>>();

  async function probe(registry: string, signal: AbortSignal | undefined): Promise<string> {
    const request: RegistryRequest = { method: "GET", url: new URL(`https://${registry}/v2/`), signal };
    try {
      const { body } = await send(request);
      body.destroy();
      return `https://${registry}`;
    } catch (error) {
      // A plain HTTP server rejects TLS at once; one that hangs would hang over plain HTTP too.
      if (isTimeout(error)) throw unreachable(request, error);
      if (!isNotTls(error)) throw error;
      return `http://${registry}`;
    }
  }

  return async (registry, signal) => {
    if (!insecure.includes(registry) && !isLoopback(registry)) return `https://${registry}`;
    const asked = known.get(registry) ?? probe(registry, signal);
    known.set(registry, asked);
    dropOldest(known);
    return asked.catch((error: unknown) => {
      // An unreachable registry is probed again.
      known.delete(registry);
      if (isOciError(error, "UNREACHABLE")) throw error;
      return `http://${registry}`;
    });
  };
}

function dropOldest(kept: Map<string, unknown>): void {
  const [oldest] = kept.keys();
  if (kept.size > mostSources && oldest !== undefined) kept.delete(oldest);
}

/** A server without TLS sends invalid records, or closes the connection. */
function isNotTls(error: unknown): boolean {
  const { code = "" } = error as NodeJS.ErrnoException;
  return code === "EPROTO" || code === "ECONNRESET" || code.startsWith("ERR_SSL");
}

/** Whether a registry's host can only be this machine. */
export function isLoopback(registry: string): boolean {
  const host = registry.replace(/:[0-9]+$/, "");
  return (
    host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127(?:\.[0-9]{1,3}){3}$/.test(host)
  );
}
