// SPDX-License-Identifier: Apache-2.0

import { finish, type Work } from "@purlin/base";
import { type JsonValue, printJson } from "@purlin/kube-objects/json";
import { printingYaml } from "@purlin/kube-objects/yaml";
import type { Payload } from "./api-request.ts";
import type { MediaType } from "./negotiate.ts";

const encoder = new TextEncoder();
/** Ends every document that is not laid out for people. */
export const lineBreak: Uint8Array = encoder.encode("\n");

interface DocumentForm {
  readonly mediaType: MediaType;
  /** Indented, for people. */
  readonly pretty?: boolean;
  /** What to say it is, when that is more than the media type. */
  readonly contentType?: string;
}

/** A value in the form that was negotiated. */
export function documentPayload(value: JsonValue, form: DocumentForm): Payload {
  return {
    contentType: form.contentType ?? form.mediaType,
    // The writer of JSON is fast and has no parts.
    ...(form.mediaType === "application/yaml" && { rendering: () => documentChunks(value, form) }),
    chunks: () => finish(documentChunks(value, form)),
    value: () => value,
  };
}

/** A document that is made when it is asked for, and in parts where there is time for that. */
export function madePayload(make: () => Work<JsonValue>, form: DocumentForm): Payload {
  const rendering = function* (): Work<readonly Uint8Array[]> {
    const value = yield* make();
    yield;
    return yield* documentChunks(value, form);
  };
  return {
    contentType: form.contentType ?? form.mediaType,
    rendering,
    chunks: () => finish(rendering()),
    value: () => finish(make()),
  };
}

function* documentChunks(value: JsonValue, form: DocumentForm): Work<readonly Uint8Array[]> {
  return [encoder.encode(yield* documentText(value, form))];
}

function* documentText(value: JsonValue, { mediaType, pretty = false }: DocumentForm): Work<string> {
  if (mediaType === "application/yaml") return yield* printingYaml(value);
  // As Go writes it: indented documents end without a line break.
  return pretty ? printJson(value, { indent: 2, htmlSafe: true }) : `${printJson(value, { htmlSafe: true })}\n`;
}

/** Plain text, for the few endpoints that are not JSON. */
export function textPayload(text: string, contentType: string = "text/plain; charset=utf-8"): Payload {
  return { contentType, chunks: () => [encoder.encode(text)], value: () => text };
}

/** Bytes that are JSON already, and the value they stand for. */
export function encodedPayload(chunks: () => readonly Uint8Array[], value: () => JsonValue): Payload {
  return { contentType: "application/json", chunks, value };
}

/** The same, put together in parts. */
export function joinedPayload(rendering: () => Work<readonly Uint8Array[]>, value: () => JsonValue): Payload {
  return { contentType: "application/json", rendering, chunks: () => finish(rendering()), value };
}
