// SPDX-License-Identifier: Apache-2.0
import type { ApiResponse } from "../request/api-response.ts";
import type { OutgoingHeaders } from "./exchange.ts";
import { warningHeaders } from "./warning-headers.ts";

/** What every answer says about itself. */
export function responseHeaders(
  response: ApiResponse,
  contentType: string | undefined,
  auditId: string,
): OutgoingHeaders {
  const headers: OutgoingHeaders = { "audit-id": auditId, "cache-control": "no-cache, private", ...response.headers };
  if (contentType !== undefined) {
    headers["content-type"] = contentType;
  }
  if (response.warnings !== undefined && response.warnings.length > 0) {
    headers["warning"] = warningHeaders(response.warnings);
  }
  return headers;
}
