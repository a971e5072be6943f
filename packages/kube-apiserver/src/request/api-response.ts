// SPDX-License-Identifier: Apache-2.0
import type { JsonValue } from "@purlin/kube-objects/json";
import type { Work } from "@purlin/kube-objects/turns";

/** What an answer carries, made in the form its reader wants: bytes for a wire, a value inside the process. */
export interface Payload {
  readonly contentType: string;
  /** The bytes, in pieces that may be shared and must not be changed. */
  chunks(): readonly Uint8Array[];
  /** {@link Payload.chunks} in parts, where that takes long. */
  rendering?(): Work<readonly Uint8Array[]>;
  value(): JsonValue;
}

type ResponseHeaders = Readonly<Record<string, string>>;

interface Answer {
  readonly code: number;
  readonly headers?: ResponseHeaders;
  /** Texts of Warning headers. */
  readonly warnings?: readonly string[];
}

/** An answer in one piece. */
export interface CompleteResponse extends Answer {
  readonly kind: "complete";
  readonly payload?: Payload;
}

/** An answer that goes on: one line of JSON for each event. */
export interface StreamResponse extends Answer {
  readonly kind: "stream";
  readonly contentType: string;
  readonly open: (onReady: () => void) => EventStream;
}

export type ApiResponse = CompleteResponse | StreamResponse;

/** One event of a watch, rendered once for all who want it in the same form. */
export interface StreamEvent {
  /** The line, newline included, in pieces that may be shared and must not be changed. */
  parts(): readonly Uint8Array[];
  value(): JsonValue;
}

/** Events, taken at the reader's pace. */
export interface EventStream {
  /** Events there are now; none: wait to be called; undefined: the stream has ended. */
  take(): readonly StreamEvent[] | undefined;
  close(): void;
}
