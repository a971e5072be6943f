// SPDX-License-Identifier: Apache-2.0
import { goQuote, type JsonValue, printJson } from "@purlin/kube-objects";
import type { Catalog } from "../registry/registry.ts";
import type { ApiRequest } from "../request/api-request.ts";
import type { CompleteResponse } from "../request/api-response.ts";
import { textPayload } from "../request/payload.ts";

const OTHER_PATHS: readonly string[] = [
  "/api",
  "/apis",
  "/apis/",
  "/metrics",
  "/metrics/slis",
  "/openapi/v2",
  "/openapi/v3",
  "/openapi/v3/",
  "/version",
];

/** A document at a fixed path: JSON laid out for people, whoever asks. */
export function documentEndpoint(
  path: string,
  value: () => JsonValue,
): (request: ApiRequest) => CompleteResponse | undefined {
  return (request) => {
    if (request.path !== path && request.path !== `${path}/`) {
      return undefined;
    }
    const document = value();
    const payload = textPayload(printJson(document, { indent: 2, htmlSafe: true }), "application/json");
    return { kind: "complete", code: 200, payload: { ...payload, value: () => document } };
  };
}

const BARE_WATCH = /^\/+(?:api|apis\/+[^/]+)\/+[^/]+\/+watch\/*$/;

/** The deprecated path of watches with nothing to watch, which the reference answers as a failure of its own. */
export function bareWatchEndpoint({ path }: ApiRequest): CompleteResponse | undefined {
  if (!BARE_WATCH.test(path)) {
    return undefined;
  }
  const why = `failed to create RequestInfo: unable to determine kind and namespace from url, ${path}`;
  const payload = textPayload(`Internal Server Error: ${goQuote(path)}: ${why}\n`);
  return { kind: "complete", code: 500, headers: { "x-content-type-options": "nosniff" }, payload };
}

/** What `/` lists: every path from which more can be found, and those that say whether the server is well. */
export function rootPaths({ groups }: Catalog, healthPaths: readonly string[]): JsonValue {
  const served = groups.flatMap(({ name, versions }) => {
    const root = name === "" ? "/api" : `/apis/${name}`;
    return [...(name === "" ? [] : [root]), ...versions.map(({ version }) => `${root}/${version}`)];
  });
  return { paths: [...OTHER_PATHS, ...healthPaths, ...served].sort() };
}
