// SPDX-License-Identifier: Apache-2.0

import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createRegistryHttp } from "../client/registry-http.ts";
import type { ContentStore } from "../content/content-store.ts";
import type { RepositoryIndex, Uploads } from "./registry-storage.ts";
import { blobRoutes, manifestRoutes, RegistryError, replyError, replyJson } from "./routes.ts";

/** Everything a registry keeps. */
export interface RegistryState {
  readonly store: ContentStore;
  readonly index: RepositoryIndex;
  readonly uploads: Uploads;
  /** Required for every request; undefined: nothing is. */
  readonly token?: string | undefined;
  /** Called whenever a tag is written, with its new digest. */
  readonly onTag?: ((repository: string, tag: string, digest: string) => void) | undefined;
}

/** Answers requests of the OCI distribution API. */
type RegistryHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Makes the handler of a registry. */
export function createRegistryHandler(state: RegistryState): RegistryHandler {
  return async (request, response) => {
    response.setHeader("docker-distribution-api-version", "registry/2.0");
    try {
      // Only programs push here: a page in a browser always sends its origin.
      if (request.headers.origin !== undefined)
        throw new RegistryError("DENIED", "cross-origin requests are not allowed");
      authorize(state, request, response);
      const url = new URL(request.url ?? "/", "http://registry");
      const path = parseRegistryPath(url.pathname);
      if (path === undefined) throw new RegistryError("NAME_UNKNOWN", `${url.pathname} is not a path of a registry`);
      await route({ state, request, response, url }, path);
    } catch (error) {
      fail(request, response, error);
    }
  };
}

/** Nothing is public, not even `/v2/`: its response makes clients authenticate. */
function authorize({ token }: RegistryState, request: IncomingMessage, response: ServerResponse): void {
  if (token === undefined || isAuthorized(request, token)) return;
  challenge(request, response, token);
  throw new RegistryError("UNAUTHORIZED", "this registry requires the token of its control plane");
}

/** One request and what it is answered with. */
export interface Exchange {
  readonly state: RegistryState;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
}

async function route(exchange: Exchange, path: RegistryPath): Promise<void> {
  const { request, response, state, url } = exchange;
  const isRead = request.method === "GET" || request.method === "HEAD";
  if (path.kind === "base" && isRead) return replyJson(response, {});
  if (path.kind === "catalog" && isRead) {
    const { page, headers } = pageOf(await state.index.repositories(), url);
    return replyJson(response, { repositories: page }, headers);
  }
  if (path.kind === "tags" && isRead) {
    const tags = await state.index.tags(path.repository);
    if (tags === undefined)
      throw new RegistryError("NAME_UNKNOWN", `there is not a valid repository ${path.repository}`);
    const { page, headers } = pageOf(tags, url);
    return replyJson(response, { name: path.repository, tags: page }, headers);
  }
  if (path.kind === "manifest") return manifestRoutes(exchange, path);
  if (path.kind === "blob" || path.kind === "uploads" || path.kind === "upload") return blobRoutes(exchange, path);
  throw new RegistryError("UNSUPPORTED", `method ${request.method} not allowed for ${url.pathname}`);
}

/** A page of names: `?n=` long, after `?last=`, and the link to the next one. */
function pageOf(names: readonly string[], url: URL): { page: string[]; headers: Record<string, string> } {
  const limit = Number(url.searchParams.get("n") ?? Number.NaN);
  const last = url.searchParams.get("last") ?? "";
  const after = names.filter((name) => name > last);
  if (!Number.isSafeInteger(limit) || limit < 0 || after.length <= limit) return { page: after, headers: {} };
  const page = after.slice(0, limit);
  const next = new URLSearchParams({ n: String(limit), last: page.at(-1) ?? last });
  return { page, headers: limit === 0 ? {} : { link: `<${url.pathname}?${next}>; rel="next"` } };
}

function fail(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  request.resume();
  if (response.headersSent) {
    // A client that went away in the middle, say: it has all it will get.
    response.destroy();
    return;
  }
  // What the client still sends would be taken for its next request.
  response.setHeader("connection", "close");
  const message = error instanceof Error ? error.message : String(error);
  replyError(response, error instanceof RegistryError ? error : new RegistryError("UNKNOWN", message));
}

/** What a path of the registry API asks for. */
export type RegistryPath =
  | { readonly kind: "base" }
  | { readonly kind: "catalog" }
  | { readonly kind: "tags"; readonly repository: string }
  | { readonly kind: "manifest"; readonly repository: string; readonly reference: string }
  | { readonly kind: "blob"; readonly repository: string; readonly digest: string }
  | { readonly kind: "uploads"; readonly repository: string }
  | { readonly kind: "upload"; readonly repository: string; readonly id: string };

const name = "([a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*)";
const patterns = {
  tags: new RegExp(`^/v2/${name}/tags/list$`),
  manifest: new RegExp(`^/v2/${name}/manifests/([A-Za-z0-9_][A-Za-z0-9_.:-]*)$`),
  uploads: new RegExp(`^/v2/${name}/blobs/uploads/?$`),
  upload: new RegExp(`^/v2/${name}/blobs/uploads/([0-9a-f-]{36})$`),
  blob: new RegExp(`^/v2/${name}/blobs/([a-z0-9]+:[0-9a-f]+)$`),
} as const;
/** Longer names would not be files. It also keeps the patterns above from having much to try. */
const maxPathLength = 512;

/** Reads a path; undefined when it is none of the registry's. */
export function parseRegistryPath(path: string): RegistryPath | undefined {
  if (path === "/v2" || path === "/v2/") return { kind: "base" };
  if (path === "/v2/_catalog") return { kind: "catalog" };
  if (path.length > maxPathLength) return undefined;
  for (const kind of ["tags", "manifest", "uploads", "upload", "blob"] as const) {
    const found = patterns[kind].exec(path);
    if (found === null) continue;
    const [, repository = "", last = ""] = found;
    if (kind === "tags" || kind === "uploads") return { kind, repository };
    if (kind === "manifest") return { kind, repository, reference: last };
    return kind === "blob" ? { kind, repository, digest: last } : { kind, repository, id: last };
  }
  return undefined;
}

/** The user name that goes with the token of a registry. */
export const registryUser = "purlin";

/** What a client asks the registry to prove, and the answer. */
const challengeHeader = "purlin-registry-challenge";
const proofHeader = "purlin-registry-proof";
const maxChallenge = 128;

/** Whether a request carries the token, as the password of a user or as a bearer. Takes as long for every wrong token. */
function isAuthorized({ headers }: Pick<IncomingMessage, "headers">, token: string): boolean {
  const [, scheme = "", value = ""] = /^(basic|bearer) +([^ ]+) *$/i.exec(headers.authorization ?? "") ?? [];
  const given = scheme.toLowerCase() === "basic" ? passwordOf(value) : value;
  return timingSafeEqual(sumOf(given), sumOf(token));
}

function passwordOf(value: string): string {
  const [user = "", ...password] = Buffer.from(value, "base64").toString("utf8").split(":");
  return user === registryUser ? password.join(":") : "";
}

const sumOf = (text: string): Buffer => createHash("sha256").update(text).digest();

/**
 * Puts the headers of a 401 into an answer. A client that wants to know whether this is the registry its token is for, and not another
 * program on its port, sends a challenge and gets the proof.
 */
function challenge(request: IncomingMessage, response: ServerResponse, token: string): void {
  response.setHeader("www-authenticate", 'Basic realm="purlin registry", charset="UTF-8"');
  const asked = request.headers[challengeHeader];
  const { localAddress = "", localPort = 0 } = request.socket;
  if (typeof asked !== "string" || asked.length > maxChallenge) return;
  response.setHeader(proofHeader, proofOf(token, `${localAddress}:${localPort}`, asked));
}

/** Bound to the address: a program on another port cannot pass on the proof of the registry. */
function proofOf(token: string, address: string, asked: string): string {
  return createHmac("sha256", token).update(`purlin registry ${address} ${asked}`).digest("hex");
}

/** Whether the registry at an address on loopback has a token. The token itself is not sent. */
export async function provesToken(address: string, token: string, asked: string): Promise<boolean> {
  try {
    const url = new URL(`http://${address}/v2/`);
    const { headers, body } = await createRegistryHttp()({ method: "GET", url, headers: { [challengeHeader]: asked } });
    body.destroy();
    const proof = headers[proofHeader];
    return typeof proof === "string" && timingSafeEqual(sumOf(proof), sumOf(proofOf(token, address, asked)));
  } catch {
    // Unreachable, or another protocol.
    return false;
  }
}
