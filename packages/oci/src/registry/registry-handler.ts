// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, ServerResponse } from "node:http";
import { blobRoutes } from "./blob-routes.ts";
import { manifestRoutes } from "./manifest-routes.ts";
import { challenge, isAuthorized } from "./registry-access.ts";
import { parseRegistryPath, type RegistryPath } from "./registry-path.ts";
import { RegistryError, replyError, replyJson } from "./registry-reply.ts";
import type { RegistryState } from "./registry-state.ts";

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

/** Nothing is public, not even `/v2/`: clients learn there that they must authenticate. */
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
