// SPDX-License-Identifier: Apache-2.0

import type { JsonObject } from "@purlin/kube-objects/json";
import { type ApiResponse, textPayload } from "../request/api-request.ts";

/** Something that must be well: says what is not, or nothing. */
export interface HealthCheck {
  readonly name: string;
  readonly check: () => string | undefined;
}

const endpoints = ["healthz", "livez", "readyz"] as const;
type Endpoint = (typeof endpoints)[number];

/** Which checks each endpoint makes. */
export type HealthChecks = Readonly<Record<Endpoint, readonly HealthCheck[]>>;

/** Answers `/healthz`, `/livez`, `/readyz` and `/<endpoint>/<check>`; undefined for any other path. */
export function health(path: string, query: URLSearchParams, checks: HealthChecks): ApiResponse | undefined {
  const [, endpoint = "", ...rest] = path.split("/");
  if (!isEndpoint(endpoint)) return undefined;
  if (rest.length === 0) return report(endpoint, query, checks[endpoint]);
  const one = checks[endpoint].find((check) => check.name === rest.join("/"));
  return one && reportOne(one);
}

/** The paths {@link health} answers. */
export function healthPaths(checks: HealthChecks): string[] {
  return endpoints.flatMap((endpoint) => [
    `/${endpoint}`,
    ...checks[endpoint].map(({ name }) => `/${endpoint}/${name}`),
  ]);
}

function isEndpoint(text: string): text is Endpoint {
  return (endpoints as readonly string[]).includes(text);
}

function reportOne({ check }: HealthCheck): ApiResponse {
  const problem = check();
  return problem === undefined ? answer(200, "ok") : answer(500, `internal server error: ${problem}\n`);
}

function report(path: string, query: URLSearchParams, all: readonly HealthCheck[]): ApiResponse {
  const excluded = new Set(query.getAll("exclude"));
  const results = all.map(({ name, check }) => ({
    name,
    excluded: excluded.has(name),
    failed: !excluded.has(name) && check() !== undefined,
  }));
  const lines = results.map(({ name, excluded: skipped, failed }) => {
    if (skipped) return `[+]${name} excluded: ok`;
    // The reason is shown only for a request of this check alone.
    return failed ? `[-]${name} failed: reason withheld` : `[+]${name} ok`;
  });
  const unknown = [...excluded].filter((name) => !all.some((check) => check.name === name));
  if (unknown.length > 0) {
    const names = unknown.map((name) => `"${name}"`).join(",");
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  if (results.some(({ failed }) => failed)) return answer(500, `${lines.join("\n")}\n${path} check failed\n`);
  return answer(200, query.has("verbose") ? `${lines.join("\n")}\n${path} check passed\n` : "ok");
}

function answer(code: number, text: string): ApiResponse {
  return { kind: "complete", code, headers: { "x-content-type-options": "nosniff" }, payload: textPayload(text) };
}

/** The release whose behaviour this server has. */
export const referenceRelease = "v1.36.3";

/** What `/version` answers; clients compare the minor version with their own. */
export function serverVersion(build: string): JsonObject {
  const [major = "", minor = ""] = referenceRelease.slice(1).split(".");
  return {
    major,
    minor,
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: String(Number(minor) - 1),
    gitVersion: `${referenceRelease}+${build}`,
    gitCommit: "",
    gitTreeState: "clean",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: `node${process.versions.node}`,
    compiler: "v8",
    platform: `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`,
  };
}
