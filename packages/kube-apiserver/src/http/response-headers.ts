// SPDX-License-Identifier: Apache-2.0
import type { ApiResponse } from "../request/api-request.ts";
import type { OutgoingHeaders } from "./exchange.ts";

/** All texts together; beyond it each is cut. */
const maxTotal = 4096;

const maxEach = 256;

/** What every answer says about itself. */
export function responseHeaders(
  response: ApiResponse,
  contentType: string | undefined,
  auditId: string,
): OutgoingHeaders {
  const headers: OutgoingHeaders = { "audit-id": auditId, "cache-control": "no-cache, private", ...response.headers };
  if (contentType !== undefined) headers["content-type"] = contentType;
  if (response.warnings !== undefined && response.warnings.length > 0) {
    headers["warning"] = warningHeaders(response.warnings);
  }
  return headers;
}

/**
 * The values of Warning headers (RFC 7234 §5.5): code 299, no agent, the text quoted. Duplicates and texts of several lines are
 * left out. When they become
 * too long together, each is cut, and no more are added once they are too long even so.
 */
export function warningHeaders(texts: readonly string[]): string[] {
  const distinct = [...new Set(texts.filter(isPlain))];
  return shown(distinct).map((text) => `299 - "${latin1(text.replace(/["\\]/g, "\\$&"))}"`);
}

/** Cutting begins with the first text that is too much, and begins anew with all texts so far. */
function shown(texts: readonly string[]): readonly string[] {
  let total = 0;
  const fitting = texts.findIndex((text) => {
    total += lengthOf(text);
    return total > maxTotal;
  });
  if (fitting < 0) return texts;
  const cut = texts.map((text) => [...text].slice(0, maxEach).join(""));
  const kept = cut.slice(0, fitting + 1);
  let written = kept.reduce((sum, text) => sum + lengthOf(text), 0);
  for (const text of cut.slice(fitting + 1)) {
    if (written >= maxTotal) break;
    kept.push(text);
    written += lengthOf(text);
  }
  return kept;
}

function lengthOf(text: string): number {
  return [...text].length;
}

// Line breaks and control characters would end the header: the reference leaves out what has them.
function isPlain(text: string): boolean {
  return !/\p{Cc}/u.test(text);
}

// A header is bytes; UTF-8 ones are what clients expect, and Node writes one byte for each character.
function latin1(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}
