// SPDX-License-Identifier: Apache-2.0
import { open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { isDigest } from "../content/digest.ts";
import { isOciError } from "../content/oci-error.ts";
import type { Exchange } from "./registry-handler.ts";
import type { RegistryPath } from "./registry-path.ts";
import { RegistryError, reply } from "./registry-reply.ts";

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
    // The last piece is not sent again in part: who was cut off here starts anew.
    if (!(error instanceof RegistryError)) await state.uploads.cancel(path.id);
    throw error;
  }
  try {
    await state.store.adopt(state.uploads.pathOf(path.id), digest);
  } catch (error) {
    if (isOciError(error, "digest-mismatch")) throw new RegistryError("DIGEST_INVALID", error.message);
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
