// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import type { JsonObject } from "@purlin/kube-objects";
import type { ApiRequest } from "../request/api-request.ts";
import type { CompleteResponse } from "../request/api-response.ts";
import { createNegotiation } from "../request/negotiate.ts";
import { encodedPayload } from "../request/payload.ts";
import type { PublishedDocuments } from "./published-documents.ts";

const root = "/openapi/v3";
const year = 365 * 24 * 60 * 60 * 1000;
const negotiate = createNegotiation(() => false);

/** Answers `/openapi/v3` and the documents below it; undefined for other paths and for documents that are not there. */
export function createOpenApiEndpoint(
  documents: PublishedDocuments,
  now: () => number,
): (request: ApiRequest) => CompleteResponse | undefined {
  return (request) => {
    if (request.path === root || request.path === `${root}/`) return index(documents, request);
    if (!request.path.startsWith(`${root}/`)) return undefined;
    const key = decodeURIComponent(request.path.slice(root.length + 1));
    const document = documents.document(key);
    if (document === undefined) return undefined;
    negotiate(request.headers["accept"]);
    const asked = request.query.get("hash");
    if (asked !== null && asked !== document.hash) return movedTo(`${root}/${key}?hash=${document.hash}`);
    const forever = asked !== null && {
      "cache-control": "public, immutable",
      expires: new Date(now() + year).toUTCString(),
    };
    return answer(request, document, forever || {});
  };
}

/** The index names each document with the hash of its content, so that a client fetches only what has changed. */
function index(documents: PublishedDocuments, request: ApiRequest): CompleteResponse {
  negotiate(request.headers["accept"]);
  const entries = documents.keys().flatMap((key) => {
    const hash = documents.document(key)?.hash;
    return hash === undefined ? [] : [[key, { serverRelativeURL: `${root}/${key}?hash=${hash}` }] as const];
  });
  const value: JsonObject = { paths: Object.fromEntries(entries) };
  const bytes = Buffer.from(JSON.stringify(value));
  return answer(request, { value, bytes, hash: createHash("sha512").update(bytes).digest("hex").toUpperCase() }, {});
}

interface Content {
  readonly value: JsonObject;
  readonly bytes: Uint8Array;
  readonly hash: string;
}

function answer(request: ApiRequest, { value, bytes, hash }: Content, more: Record<string, string>): CompleteResponse {
  const headers = { etag: `"${hash}"`, vary: "Accept", ...more };
  if (request.headers["if-none-match"] === headers.etag) return { kind: "complete", code: 304, headers };
  const payload = encodedPayload(
    () => [bytes],
    () => value,
  );
  return { kind: "complete", code: 200, headers, payload };
}

function movedTo(location: string): CompleteResponse {
  return { kind: "complete", code: 301, headers: { location } };
}
