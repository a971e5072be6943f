// SPDX-License-Identifier: Apache-2.0
import type { JsonValue } from "@purlin/kube-objects/json";
import { mastersGroup, type User } from "../src/auth/user.ts";
import type { ApiRequest, ApiResponse, RequestBody } from "../src/request/api-request.ts";

export const admin: User = { name: "admin", groups: [mastersGroup, "system:authenticated"] };

export interface TestRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: JsonValue;
  /** A body as it comes over a wire. */
  readonly text?: string | Uint8Array;
  readonly user?: User;
  readonly signal?: AbortSignal;
}

/** A request without a wire. */
export function testRequest(url: string, options: TestRequest = {}): ApiRequest {
  const [path = "", query = ""] = url.split("?", 2);
  return {
    method: options.method ?? "GET",
    path,
    query: new URLSearchParams(query),
    headers: options.headers ?? {},
    body: bodyOf(options),
    user: options.user ?? admin,
    signal: options.signal ?? new AbortController().signal,
  };
}

function bodyOf({ body, text }: TestRequest): RequestBody {
  if (text !== undefined) return { kind: "bytes", read: async () => Buffer.from(text) };
  return body === undefined ? { kind: "none" } : { kind: "value", value: body };
}

/** The value of an answer in one piece, after both of its forms were found to say the same. */
export function answerValue(response: ApiResponse | undefined): JsonValue {
  if (response?.kind !== "complete" || response.payload === undefined) {
    throw new Error(`expected an answer with a body, got ${JSON.stringify(response)}`);
  }
  return response.payload.value();
}

/** The bytes of an answer in one piece, as text. */
export function textOf(response: ApiResponse | undefined): string {
  if (response?.kind !== "complete") throw new Error("expected an answer in one piece");
  return Buffer.concat(response.payload?.chunks() ?? []).toString();
}
