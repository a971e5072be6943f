// SPDX-License-Identifier: Apache-2.0
import type { ServerResponse } from "node:http";

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
export function reply(response: ServerResponse, status: number, headers: Readonly<Record<string, string>> = {}): void {
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
