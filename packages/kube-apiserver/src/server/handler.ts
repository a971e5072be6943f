// SPDX-License-Identifier: Apache-2.0
import { finish, soon } from "@purlin/base";
import type { BeginAudit } from "../audit/audit.ts";
import { type Authorizing, accessDenied, type ResourceAccess } from "../auth/authorizer.ts";
import {
  type ApiRequest,
  type ApiResponse,
  inTime,
  requestTimeoutMs,
  textPayload,
  tooLate,
} from "../request/api-request.ts";
import { impersonating } from "../request/impersonation.ts";
import {
  errorResponse,
  isUnexpected,
  methodNotAllowed,
  noSuchResource,
  requireProducible,
} from "../request/negotiate.ts";
import { type RequestTarget, requestTarget } from "../request/request-target.ts";

/** Answers requests for a path outside the resources; undefined for other paths. */
export type PathEndpoint = (request: ApiRequest) => ApiResponse | Promise<ApiResponse | undefined> | undefined;

/** Answers requests for a resource; undefined: there is no such resource. */
type ResourceEndpoint = (request: ApiRequest, target: ResourceAccess) => Promise<ApiResponse | undefined>;

interface HandlerOptions {
  readonly authorizing: Authorizing;
  readonly paths: readonly PathEndpoint[];
  readonly resources: ResourceEndpoint;
  /** Answers requests for the APIs of other servers; undefined for all others. */
  readonly aggregated?: (request: ApiRequest, target: RequestTarget) => ApiResponse | Promise<ApiResponse> | undefined;
  /** Whether a path lies below a group the server itself has, where even what is missing is answered with a Status. */
  readonly isBuiltinPath: (path: string) => boolean;
  /** Called when a request begins; the function that it returns receives the response, and returns the one to send. */
  readonly onBegin?: (request: ApiRequest, target: RequestTarget) => (response: ApiResponse) => ApiResponse;
  /** Begins the record of a request in the audit log. */
  readonly audit?: BeginAudit | undefined;
  /** Called with unexpected errors; the client only sees that there was one. */
  readonly onUnexpected: (error: unknown, request: ApiRequest) => void;
  /** Called with each request that is denied. */
  readonly onDenied?: OnDenied | undefined;
}

/**
 * Gets a request that is denied: the name of the user, the text of the response, and a function that says whether the user has the right
 * meanwhile.
 */
export type OnDenied = (user: string, message: string, isAllowed: () => boolean) => void;

/** The whole API server as a function. It never rejects: every failure is an answer. */
export type Handler = (request: ApiRequest) => Promise<ApiResponse>;

export function createHandler(options: HandlerOptions): Handler {
  return async (request) => {
    const target = requestTarget(request.method, request.path, request.query);
    const done = options.onBegin?.(request, target);
    const record = options.audit?.(request, request.user, target);
    if (record !== undefined) request.audit = record;
    const response = await answered(request, target, options);
    const logged = record === undefined ? response : await record.completed(response);
    return done === undefined ? logged : done(logged);
  };
}

async function answered(request: ApiRequest, target: RequestTarget, options: HandlerOptions): Promise<ApiResponse> {
  try {
    return await route(request, target, options);
  } catch (error) {
    if (isUnexpected(error)) options.onUnexpected(error, request);
    return errorResponse(error, request);
  }
}

async function route(original: ApiRequest, target: RequestTarget, options: HandlerOptions): Promise<ApiResponse> {
  const request = await soon(impersonating(original, target, options.authorizing));
  const timeoutMs = target.verb === "watch" ? undefined : requestTimeoutMs(request.query);
  return (await inTime(timeoutMs, () => allowed(request, target, options))) ?? tooLate();
}

async function allowed(request: ApiRequest, target: RequestTarget, options: HandlerOptions): Promise<ApiResponse> {
  const decision = await soon(options.authorizing(request.user, target));
  request.audit?.decided(decision);
  if (!decision.allowed) {
    const error = accessDenied(request.user, target, decision);
    options.onDenied?.(request.user.name, error.message, rightOf(request.user, target, options.authorizing));
    const denied = errorResponse(error, request);
    return { ...denied, headers: { ...denied.headers, ...noSniffing } };
  }
  const remote = options.aggregated?.(request, target);
  if (remote !== undefined) return remote;
  const response =
    target.kind === "resource" ? await options.resources(request, target) : await pathResponse(request, options);
  if (response === undefined && options.isBuiltinPath(request.path)) throw noSuchResource();
  return response ?? pageNotFound;
}

/** A function of its own: it is kept, and must not keep the body of the request. */
function rightOf(user: ApiRequest["user"], target: RequestTarget, authorizing: Authorizing) {
  return (): boolean => finish(authorizing(user, target)).allowed;
}

function pathResponse(
  request: ApiRequest,
  options: HandlerOptions,
): ApiResponse | Promise<ApiResponse | undefined> | undefined {
  const isStrict = isStrictPath(request.path, options);
  if (isStrict) {
    requireProducible(request.headers["accept"], versionPath.test(request.path) ? { types: [jsonType] } : {});
  }
  for (const endpoint of options.paths) {
    const response = endpoint(request);
    if (response !== undefined) {
      if (isStrict && request.method !== "GET") throw methodNotAllowed();
      return response;
    }
  }
  return undefined;
}

/** Paths with media types and methods; all others answer every method. */
function isStrictPath(path: string, { isBuiltinPath }: HandlerOptions): boolean {
  return versionPath.test(path) || /^\/api\/?$/.test(path) || isBuiltinPath(path);
}

const versionPath = /^\/version\/?$/;
const jsonType = "application/json";

/** Browsers must not guess that a text is a program. */
const noSniffing = { "x-content-type-options": "nosniff" };
const pageNotFound: ApiResponse = {
  kind: "complete",
  code: 404,
  headers: noSniffing,
  payload: textPayload("404 page not found\n"),
};
