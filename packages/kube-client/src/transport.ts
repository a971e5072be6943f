// SPDX-License-Identifier: Apache-2.0
import type { JsonValue } from "@purlin/kube-objects/json";

/** A request to a Kubernetes API server, before it is written to a wire or handed to a function. */
export interface KubeRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path without a query, such as `/api/v1/namespaces`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** The accepted media types of the response. Default: JSON. */
  readonly accept?: string;
  /** The media type of the body. Default: JSON. */
  readonly contentType?: string;
  readonly body?: JsonValue;
  readonly signal?: AbortSignal | undefined;
}

/** A successful answer. */
export interface KubeResponse {
  readonly code: number;
  readonly body: JsonValue;
  /** Texts of the server's Warning headers. */
  readonly warnings: readonly string[];
}

/**
 * The way to one API server. A failure the server answered throws a StatusError; a failure to reach it throws what the
 * transport throws.
 */
export interface KubeTransport {
  request(request: KubeRequest): Promise<KubeResponse>;
  /** Opens a watch. Iterating yields one event after the other until the server or the signal ends the stream. */
  stream(request: KubeRequest): Promise<AsyncIterable<JsonValue>>;
  close(): Promise<void>;
}
