// SPDX-License-Identifier: Apache-2.0
import type { ApiResponse } from "../request/api-response.ts";
import { textPayload } from "../request/payload.ts";

/** Something that must be well. Throws, or says nothing. */
export interface HealthCheck {
  readonly name: string;
  readonly check: () => void;
}

const ENDPOINTS = ["healthz", "livez", "readyz"] as const;
type Endpoint = (typeof ENDPOINTS)[number];

/** Which checks each endpoint makes. */
export type HealthChecks = Readonly<Record<Endpoint, readonly HealthCheck[]>>;

/** Answers `/healthz`, `/livez`, `/readyz` and `/<endpoint>/<check>`; undefined for any other path. */
export function health(path: string, query: URLSearchParams, checks: HealthChecks): ApiResponse | undefined {
  const [, endpoint = "", name, ...rest] = path.split("/");
  if (rest.length > 0 || !isEndpoint(endpoint)) {
    return undefined;
  }
  if (name === undefined || name === "") {
    return report(endpoint, query, checks[endpoint]);
  }
  const one = checks[endpoint].find((check) => check.name === name);
  return one && report(`${endpoint}/${name}`, query, [one]);
}

function isEndpoint(text: string): text is Endpoint {
  return (ENDPOINTS as readonly string[]).includes(text);
}

function report(path: string, query: URLSearchParams, all: readonly HealthCheck[]): ApiResponse {
  const excluded = new Set(query.getAll("exclude"));
  const results = all.map(({ name, check }) => ({
    name,
    excluded: excluded.has(name),
    failed: !excluded.has(name) && fails(check),
  }));
  const failed = results.some((result) => result.failed);
  const lines = results.map(({ name, excluded: skipped, failed: bad }) => {
    if (skipped) {
      return `[+]${name} excluded: ok`;
    }
    // Why is for the log: everybody may read this.
    return bad ? `[-]${name} failed: reason withheld` : `[+]${name} ok`;
  });
  const unknown = [...excluded].filter((name) => !all.some((check) => check.name === name));
  if (unknown.length > 0) {
    lines.push(
      `warn: some health checks cannot be excluded: no matches for ${unknown.map((name) => `"${name}"`).join(",")}`,
    );
  }
  if (failed) {
    return {
      kind: "complete",
      code: 500,
      headers: NO_SNIFFING,
      payload: textPayload(`${lines.join("\n")}\n${path} check failed\n`),
    };
  }
  const text = query.has("verbose") ? `${lines.join("\n")}\n${path} check passed\n` : "ok";
  return { kind: "complete", code: 200, headers: NO_SNIFFING, payload: textPayload(text) };
}

const NO_SNIFFING = { "x-content-type-options": "nosniff" };

function fails(check: () => void): boolean {
  try {
    check();
    return false;
  } catch {
    return true;
  }
}
