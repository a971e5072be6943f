// SPDX-License-Identifier: Apache-2.0
import type { ApiRequest } from "./api-request.ts";

/** What of a request decides how an answer is laid out. */
export type Reader = Pick<ApiRequest, "headers" | "query">;

const trueTexts: ReadonlySet<string> = new Set(["1", "t", "T", "TRUE", "true", "True"]);

/** Whether an answer is to be indented: for people, who use browsers, curl and wget, and for programs that ask for it. */
export function wantsPretty({ headers, query }: Reader): boolean {
  const asked = query.get("pretty") ?? "";
  if (asked !== "") return trueTexts.has(asked);
  return /^(curl|Wget|Mozilla\/5\.0)/.test(headers["user-agent"] ?? "");
}
