// SPDX-License-Identifier: Apache-2.0
import { Readable } from "node:stream";
import { readBody } from "../client/registry-http.ts";
import { digestOf, isDigest } from "../content/digest.ts";
import { type Manifest, maxManifestBytes, parseManifest } from "../content/manifest.ts";
import { isManifestType } from "../content/media-types.ts";
import { isOciError } from "../content/oci-error.ts";
import type { Exchange } from "./registry-handler.ts";
import { RegistryError, reply } from "./registry-reply.ts";

interface ManifestPath {
  readonly repository: string;
  readonly reference: string;
}

/** Reads, writes and removes manifests. */
export async function manifestRoutes(exchange: Exchange, path: ManifestPath): Promise<void> {
  const { method } = exchange.request;
  if (method === "GET" || method === "HEAD") return readManifest(exchange, path);
  if (method === "PUT") return writeManifest(exchange, path);
  if (method === "DELETE") return removeManifest(exchange, path);
  throw new RegistryError("UNSUPPORTED", `method ${method} not allowed for manifests`);
}

async function readManifest({ state, request, response }: Exchange, path: ManifestPath): Promise<void> {
  const { repository, reference } = path;
  const digest = isDigest(reference) ? reference : await state.index.tag(repository, reference);
  const mediaType = digest && (await state.index.mediaType(repository, digest));
  if (digest === undefined || !mediaType) throw unknownManifest(path);
  // A client that names it by its digest may pull it next, or push an index of it.
  if (digest === reference) await state.index.use(repository, digest);
  const bytes = await state.store.read({ digest });
  response.writeHead(200, {
    "content-type": mediaType,
    "content-length": String(bytes.length),
    "docker-content-digest": digest,
    etag: `"${digest}"`,
  });
  response.end(request.method === "HEAD" ? undefined : bytes);
}

async function writeManifest({ state, request, response }: Exchange, path: ManifestPath): Promise<void> {
  const { repository, reference } = path;
  // Refused before it is read: who is cut off in the middle hears nothing of the reason.
  if (Number(request.headers["content-length"] ?? 0) > maxManifestBytes) {
    throw new RegistryError("SIZE_INVALID", `a manifest may have ${maxManifestBytes} bytes at most`);
  }
  const bytes = await readBody(request, maxManifestBytes).catch((error: unknown) => {
    if (isOciError(error, "too-large")) throw new RegistryError("SIZE_INVALID", error.message);
    throw error;
  });
  const digest = digestOf(bytes);
  if (reference.includes(":") && reference !== digest) {
    throw new RegistryError("DIGEST_INVALID", `digest mismatch: want ${reference}, got ${digest}`);
  }
  const manifest = parsed(bytes, request.headers["content-type"] ?? "");
  const { mediaType } = manifest.kind === "image" ? manifest.image : manifest.index;
  if (!isManifestType(mediaType))
    throw new RegistryError("MANIFEST_INVALID", `unsupported manifest media type ${mediaType}`);
  await requireParts(state.store, manifest);
  // Parts that were pushed long ago are not collected before the index that names them is there.
  for (const part of manifest.kind === "index" ? manifest.index.manifests : []) {
    await state.index.use(repository, part.digest);
  }
  await state.store.ingest({ digest, size: bytes.length }, async () => ({ bytes: Readable.from([bytes]), offset: 0 }));
  await state.index.put(repository, digest, mediaType);
  if (!isDigest(reference)) {
    await state.index.setTag(repository, reference, digest);
    state.onTag?.(repository, reference, digest);
  }
  reply(response, 201, { location: `/v2/${repository}/manifests/${digest}`, "docker-content-digest": digest });
}

function parsed(bytes: Uint8Array, contentType: string): Manifest {
  try {
    return parseManifest(bytes, contentType, "the manifest");
  } catch (error) {
    throw new RegistryError("MANIFEST_INVALID", error instanceof Error ? error.message : String(error));
  }
}

async function requireParts(store: Exchange["state"]["store"], manifest: Manifest): Promise<void> {
  const parts =
    manifest.kind === "index" ? manifest.index.manifests : [manifest.image.config, ...manifest.image.layers];
  for (const { digest } of parts) {
    if (await store.has(digest)) continue;
    throw new RegistryError("MANIFEST_BLOB_UNKNOWN", `the manifest names ${digest}, which was not pushed`);
  }
}

async function removeManifest({ state, response }: Exchange, path: ManifestPath): Promise<void> {
  const { repository, reference } = path;
  const what = isDigest(reference) ? { digest: reference } : { tag: reference };
  if (!(await state.index.remove(repository, what))) throw unknownManifest(path);
  reply(response, 202);
}

function unknownManifest({ repository, reference }: ManifestPath): RegistryError {
  return new RegistryError("MANIFEST_UNKNOWN", `manifest ${reference} not found in ${repository}`);
}
