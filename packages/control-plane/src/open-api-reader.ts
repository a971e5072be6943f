// SPDX-License-Identifier: Apache-2.0
import type { OpenAPIReader } from "@purlin/function-runner";
import type { KubeClient } from "@purlin/kube-client";
import { isJsonObject, type JsonValue, parseJson } from "@purlin/kube-objects/json";
import type { OpenAPISource } from "@purlin/kube-objects/openapi";

/** Reads the OpenAPI v3 documents of whichever API server is behind a client. */
export function serverOpenAPI(client: Pick<KubeClient, "raw">): OpenAPIReader {
  return {
    async index() {
      const answer = asJson(await client.raw({ method: "GET", path: "/openapi/v3" }));
      const paths = isJsonObject(answer) && isJsonObject(answer["paths"]) ? answer["paths"] : {};
      return new Map(
        Object.entries(paths).flatMap(([key, entry]) => {
          const url = isJsonObject(entry) ? entry["serverRelativeURL"] : undefined;
          return typeof url === "string" ? [[key, url] as const] : [];
        }),
      );
    },
    async document(url) {
      const { pathname, searchParams } = new URL(url, "http://api");
      const query = Object.fromEntries(searchParams);
      const answer = asJson(await client.raw({ method: "GET", path: pathname, query }));
      return isJsonObject(answer) ? (answer as OpenAPISource) : {};
    },
  };
}

/** The reference calls its index plain text, and so a client takes it for that. */
function asJson(answer: JsonValue): JsonValue {
  return typeof answer === "string" ? parseJson(answer) : answer;
}
