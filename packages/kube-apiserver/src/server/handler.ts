// SPDX-License-Identifier: Apache-2.0
import { type Authorizer, accessDenied, type ResourceAccess } from "../auth/authorizer.ts";
import { impersonated } from "../auth/impersonation.ts";
import type { ApiRequest } from "../request/api-request.ts";
import type { ApiResponse } from "../request/api-response.ts";
import { errorResponse, isUnexpected } from "../request/error-response.ts";
import { textPayload } from "../request/payload.ts";
import { methodNotAllowed, noSuchResource } from "../request/plain-refusals.ts";
import { requestTarget } from "../request/request-target.ts";
import { requireTimeout } from "../request/request-timeout.ts";

/** Answers requests for a path that is no resource; undefined: not mine. */
export type PathEndpoint = (request: ApiRequest) => ApiResponse | undefined;

/** Answers requests for a resource; undefined: there is no such resource. */
export type ResourceEndpoint = (request: ApiRequest, target: ResourceAccess) => Promise<ApiResponse | undefined>;

export interface HandlerOptions {
  readonly authorizer: Authorizer;
  readonly paths: readonly PathEndpoint[];
  readonly resources: ResourceEndpoint;
  /** Whether a path lies below a group the server itself has, where even what is missing is answered with a Status. */
  readonly isBuiltinPath: (path: string) => boolean;
  /** Told about failures nobody foresaw; the client only learns that there was one. */
  readonly onUnexpected: (error: unknown, request: ApiRequest) => void;
}

/** The whole API server as a function. It never rejects: every failure is an answer. */
export type Handler = (request: ApiRequest) => Promise<ApiResponse>;

export function createHandler(options: HandlerOptions): Handler {
  return async (request) => {
    try {
      return await route(request, options);
    } catch (error) {
      if (isUnexpected(error)) {
        options.onUnexpected(error, request);
      }
      return errorResponse(error, request);
    }
  };
}

async function route(original: ApiRequest, options: HandlerOptions): Promise<ApiResponse> {
  const request = impersonated(original, options.authorizer);
  const target = requestTarget(request.method, request.path, request.query);
  if (target.verb !== "watch") {
    requireTimeout(request.query);
  }
  const decision = options.authorizer(request.user, target);
  if (!decision.allowed) {
    const denied = errorResponse(accessDenied(request.user, target, decision), request);
    return { ...denied, headers: { ...denied.headers, ...NO_SNIFFING } };
  }
  const response =
    target.kind === "resource" ? await options.resources(request, target) : pathResponse(request, options.paths);
  if (response === undefined && options.isBuiltinPath(request.path)) {
    throw noSuchResource();
  }
  return response ?? PAGE_NOT_FOUND;
}

function pathResponse(request: ApiRequest, endpoints: readonly PathEndpoint[]): ApiResponse | undefined {
  for (const endpoint of endpoints) {
    const response = endpoint(request);
    if (response !== undefined) {
      return request.method === "GET" || request.method === "HEAD" ? response : otherMethod(request, response);
    }
  }
  return undefined;
}

/** The roots of discovery answer whatever the method, documents below them only to reading. */
function otherMethod({ path }: ApiRequest, response: ApiResponse): ApiResponse {
  if (path === "/api" || path === "/apis") {
    return response;
  }
  if (path.startsWith("/api/") || path.startsWith("/apis/")) {
    throw methodNotAllowed();
  }
  return METHOD_NOT_ALLOWED;
}

/** Browsers must not guess that a text is a program. */
const NO_SNIFFING = { "x-content-type-options": "nosniff" };
const PAGE_NOT_FOUND: ApiResponse = {
  kind: "complete",
  code: 404,
  headers: NO_SNIFFING,
  payload: textPayload("404 page not found\n"),
};
const METHOD_NOT_ALLOWED: ApiResponse = {
  kind: "complete",
  code: 405,
  headers: { allow: "GET, HEAD", ...NO_SNIFFING },
  payload: textPayload("405: Method Not Allowed\n"),
};
