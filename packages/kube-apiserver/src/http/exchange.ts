// SPDX-License-Identifier: Apache-2.0
import type { CertificateSubject } from "../auth/authenticate.ts";

/** One HTTP request and the way to answer it, the same for HTTP/1.1 and HTTP/2. */
export interface Exchange {
  readonly method: string;
  /** Path and query as they were sent. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly certificate: CertificateSubject | "rejected" | undefined;
  /** The IP address of the client. */
  readonly address?: string | undefined;
  /** Whether the request may have a body. */
  readonly hasBody: boolean;
  /** All bytes of the body; 413 when there are more than the limit. */
  readBody(limit: number): Promise<Uint8Array>;
  /** Calls back once when the client has gone, also if it has gone already. */
  onGone(callback: () => void): void;
  /** Answers in one piece. */
  respond(code: number, headers: OutgoingHeaders, chunks: readonly Uint8Array[]): void;
  /** Begins an answer that goes on. */
  begin(code: number, headers: OutgoingHeaders): Outlet;
}

export type OutgoingHeaders = Record<string, string | readonly string[]>;

/** The open end of an answer. */
export interface Outlet {
  /** False: the client is slow, wait to be called. */
  write(bytes: Uint8Array): boolean;
  onDrain(callback: () => void): void;
  end(): void;
  /** Ends the answer so that the client sees that it is not complete. */
  abort(): void;
}
