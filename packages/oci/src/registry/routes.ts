// SPDX-License-Identifier: Apache-2.0
import { open } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { readBody } from "../client/registry-http.ts";
import {
  digestOf,
  isDigest,
  isManifestType,
  type Manifest,
  maxManifestBytes,
  parseManifest,
} from "../content/manifest.ts";
import { isOciError } from "../content/oci-error.ts";
import type { Exchange, RegistryPath } from "./registry-handler.ts";

type BlobPath = Extract<RegistryPath, { kind: "blob" | "uploads" | "upload" }>;

/** Reads blobs and takes them in, whole or in pieces. */
export async function blobRoutes(exchange: Exchange, path: BlobPath): Promise<void> {
  const { method } = exchange.request;
  if (path.kind === "blob" && (method === "GET" || method === "HEAD")) return readBlob(exchange, path.digest);
  if (path.kind === "uploads" && method === "POST") return startUpload(exchange, path.repository);
  if (path.kind === "upload") return continueUpload(exchange, path);
  throw new RegistryError("UNSUPPORTED", `method ${method} not allowed for blobs`);
}

async function readBlob({ state, request, response }: Exchange, digest: string): Promise<void> {
  if (!isDigest(digest)) throw new RegistryError("DIGEST_INVALID", `${digest} is not a sha256 digest`);
  if (!(await state.store.has(digest))) throw new RegistryError("BLOB_UNKNOWN", `there is no blob ${digest}`);
  // Opened before anything is sent: a blob that is removed now is still sent whole.
  await using file = await open(state.store.pathOf(digest));
  const { size } = await file.stat();
  const range = rangeOf(request.headers.range, size);
  const { start, end } = range ?? { start: 0, end: size - 1 };
  response.writeHead(range === undefined ? 200 : 206, {
    "content-type": "application/octet-stream",
    "content-length": String(end - start + 1),
    "docker-content-digest": digest,
    "accept-ranges": "bytes",
    ...(range && { "content-range": `bytes ${start}-${end}/${size}` }),
  });
  if (request.method === "HEAD" || size === 0) return void response.end();
  await pipeline(file.createReadStream({ start, end, autoClose: false }), response);
}

/** One range of bytes; several at once are answered with everything, as the rules of HTTP allow. */
function rangeOf(header: string | undefined, size: number): { start: number; end: number } | undefined {
  const found = /^bytes=(\d+)-(\d*)$/.exec(header ?? "");
  if (found === null) return undefined;
  const start = Number(found[1]);
  const end = found[2] ? Math.min(Number(found[2]), size - 1) : size - 1;
  if (start > end) throw new RegistryError("BLOB_UPLOAD_INVALID", `the blob has ${size} bytes`);
  return { start, end };
}

async function startUpload(exchange: Exchange, repository: string): Promise<void> {
  const { state, response, url } = exchange;
  const mount = url.searchParams.get("mount") ?? "";
  // All repositories share one store, so mounting is nothing but knowing the blob.
  if (isDigest(mount) && (await state.store.has(mount))) return replyCreated(exchange, repository, mount);
  const id = await state.uploads.start();
  const digest = url.searchParams.get("digest");
  if (digest !== null) return finishUpload(exchange, { repository, id }, digest);
  reply(response, 202, uploadHeaders({ repository, id }, 0));
}

interface UploadPath {
  readonly repository: string;
  readonly id: string;
}

async function continueUpload(exchange: Exchange, path: UploadPath): Promise<void> {
  const { state, request, response, url } = exchange;
  switch (request.method) {
    case "GET":
      return reply(response, 204, uploadHeaders(path, await state.uploads.sizeOf(path.id)));
    case "DELETE":
      await state.uploads.cancel(path.id);
      return reply(response, 204);
    case "PATCH":
      return reply(
        response,
        202,
        uploadHeaders(path, await state.uploads.append(path.id, request, firstByte(exchange))),
      );
    case "PUT":
      return finishUpload(exchange, path, url.searchParams.get("digest") ?? "");
    default:
      throw new RegistryError("UNSUPPORTED", `method ${request.method} not allowed for uploads`);
  }
}

async function finishUpload(exchange: Exchange, path: UploadPath, digest: string): Promise<void> {
  const { state, request } = exchange;
  if (!isDigest(digest)) throw new RegistryError("DIGEST_INVALID", `${JSON.stringify(digest)} is not a sha256 digest`);
  try {
    await state.uploads.append(path.id, request, firstByte(exchange));
  } catch (error) {
    // The last piece is not sent again in part: a client that was cut off here starts again.
    if (!(error instanceof RegistryError)) await state.uploads.cancel(path.id);
    throw error;
  }
  try {
    await state.store.adopt(state.uploads.pathOf(path.id), digest);
  } catch (error) {
    if (isOciError(error, "DIGEST_MISMATCH")) throw new RegistryError("DIGEST_INVALID", error.message);
    throw error;
  }
  replyCreated(exchange, path.repository, digest);
}

/** Where a piece says it begins: `Content-Range: <first>-<last>`. */
function firstByte({ request }: Exchange): number | undefined {
  const found = /^(?:bytes )?(\d+)-/.exec(String(request.headers["content-range"] ?? ""));
  return found === null ? undefined : Number(found[1]);
}

function replyCreated({ response }: Exchange, repository: string, digest: string): void {
  reply(response, 201, { location: `/v2/${repository}/blobs/${digest}`, "docker-content-digest": digest });
}

function uploadHeaders({ repository, id }: UploadPath, size: number): Record<string, string> {
  return {
    location: `/v2/${repository}/blobs/uploads/${id}`,
    range: `0-${Math.max(size - 1, 0)}`,
    "docker-upload-uuid": id,
  };
}

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
  // Refused before it is read: a client that is cut off in the middle does not get the reason.
  if (Number(request.headers["content-length"] ?? 0) > maxManifestBytes) {
    throw new RegistryError("SIZE_INVALID", `a manifest may have ${maxManifestBytes} bytes at most`);
  }
  const bytes = await readBody(request, maxManifestBytes).catch((error: unknown) => {
    if (isOciError(error, "TOO_LARGE")) throw new RegistryError("SIZE_INVALID", error.message);
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

/** The error codes of the distribution specification that we answer with, and their HTTP status. */
const statusOf = {
  BLOB_UNKNOWN: 404,
  BLOB_UPLOAD_INVALID: 416,
  BLOB_UPLOAD_UNKNOWN: 404,
  DENIED: 403,
  DIGEST_INVALID: 400,
  MANIFEST_BLOB_UNKNOWN: 404,
  MANIFEST_INVALID: 400,
  MANIFEST_UNKNOWN: 404,
  NAME_UNKNOWN: 404,
  SIZE_INVALID: 413,
  UNAUTHORIZED: 401,
  /** An internal error, such as a full disk. */
  UNKNOWN: 500,
  UNSUPPORTED: 405,
} as const;

/** An error response of the registry, with a code of the distribution specification. */
export class RegistryError extends Error {
  readonly code: keyof typeof statusOf;

  constructor(code: keyof typeof statusOf, message: string) {
    super(message);
    this.code = code;
  }
}

/** Sends a response without a body. */
function reply(response: ServerResponse, status: number, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(status, { "content-length": "0", ...headers }).end();
}

/** Sends a JSON document. */
export function replyJson(
  response: ServerResponse,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = Buffer.from(JSON.stringify(body));
  response.writeHead(200, { "content-type": "application/json", "content-length": String(text.length), ...headers });
  response.end(text);
}

/** Sends an error response. */
export function replyError(response: ServerResponse, { code, message }: RegistryError): void {
  const text = Buffer.from(JSON.stringify({ errors: [{ code, message }] }));
  response.writeHead(statusOf[code], { "content-type": "application/json", "content-length": String(text.length) });
  response.end(text);
}
