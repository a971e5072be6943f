// SPDX-License-Identifier: Apache-2.0
import type { OpenAPIReader } from "@purlin/function-runner";
import type { KubeClient } from "@purlin/kube-client";
import { isJsonObject, type OpenAPISource } from "@purlin/kube-objects";

/** Reads the OpenAPI v3 documents of whichever API server is behind a client. */
export function serverOpenAPI(client: Pick<KubeClient, "raw">): OpenAPIReader {
  return {
    async index() {
      const answer = await client.raw({ method: "GET", path: "/openapi/v3" });
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
      const answer = await client.raw({ method: "GET", path: pathname, query });
      return answer as OpenAPISource;
    },
  };
}
