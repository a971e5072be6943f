// SPDX-License-Identifier: Apache-2.0
import type { JsonValue } from "@purlin/kube-objects";
import type { Catalog } from "../registry/registry.ts";
import type { ApiRequest } from "../request/api-request.ts";
import type { CompleteResponse } from "../request/api-response.ts";
import { createNegotiation } from "../request/negotiate.ts";
import { documentPayload } from "../request/payload.ts";

const negotiate = createNegotiation(() => false);
const OTHER_PATHS: readonly string[] = [
  "/api",
  "/apis",
  "/healthz",
  "/livez",
  "/metrics",
  "/openapi/v2",
  "/openapi/v3",
  "/readyz",
  "/version",
];

/** A document at a fixed path. */
export function documentEndpoint(
  path: string,
  value: () => JsonValue,
): (request: ApiRequest) => CompleteResponse | undefined {
  return (request) => {
    if (request.path !== path && request.path !== `${path}/`) {
      return undefined;
    }
    const { mediaType, pretty } = negotiate(request.headers["accept"]);
    return { kind: "complete", code: 200, payload: documentPayload(value(), { mediaType, pretty }) };
  };
}

/** What `/` lists: every path from which more can be found. */
export function rootPaths({ groups }: Catalog): JsonValue {
  const served = groups.flatMap(({ name, versions }) => {
    const root = name === "" ? "/api" : `/apis/${name}`;
    return [...(name === "" ? [] : [root]), ...versions.map(({ version }) => `${root}/${version}`)];
  });
  return { paths: [...OTHER_PATHS, ...served].sort() };
}
