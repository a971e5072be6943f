// SPDX-License-Identifier: Apache-2.0
import { type JsonValue, printJson } from "@purlin/kube-objects";
import type { Payload } from "./api-response.ts";
import type { MediaType } from "./negotiate.ts";
import { printYaml } from "./yaml-text.ts";

const encoder = new TextEncoder();
/** Ends every document that is not laid out for people. */
export const LINE_BREAK: Uint8Array = encoder.encode("\n");

export interface DocumentForm {
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
    chunks: () => [encoder.encode(documentText(value, form))],
    value: () => value,
  };
}

function documentText(value: JsonValue, { mediaType, pretty = false }: DocumentForm): string {
  if (mediaType === "application/yaml") {
    return printYaml(value);
  }
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
