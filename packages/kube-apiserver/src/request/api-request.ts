// SPDX-License-Identifier: Apache-2.0
import type { JsonValue } from "@purlin/kube-objects/json";
import type { User } from "../auth/user.ts";

/** What a request carries: nothing, bytes that still have to come over a wire, or a value handed over inside the process. */
export type RequestBody =
  | { readonly kind: "none" }
  /** Reads all bytes; fails with 413 when there are more than the server takes. */
  | { readonly kind: "bytes"; readonly read: () => Promise<Uint8Array> }
  | { readonly kind: "value"; readonly value: JsonValue };

/** A request to the API server, whichever way it came. */
export interface ApiRequest {
  readonly method: string;
  /** The path as it is in the URL, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lower case; a header sent more than once is joined with commas. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: RequestBody;
  readonly user: User;
  /** Aborted when the client no longer waits for the response. */
  readonly signal: AbortSignal;
}
