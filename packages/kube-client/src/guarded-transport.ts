// SPDX-License-Identifier: Apache-2.0

import { isJsonObject, type JsonValue } from "@purlin/kube-objects/json";
import type { KubeRequest, KubeTransport } from "./transport.ts";

/** Reviews are questions: the API server stores nothing of them. */
const reviews = /^\/apis\/(?:authorization|authentication)\.k8s\.io\/[^/]+\/(?:namespaces\/[^/]+\/)?[a-z]+reviews$/;

/** A transport that sends no request that could change anything. */
export function guardTransport(transport: KubeTransport): KubeTransport {
  return {
    async request(request) {
      requireHarmless(request);
      return transport.request(request);
    },
    async stream(request) {
      requireHarmless(request);
      return transport.stream(request);
    },
    close: () => transport.close(),
  };
}

function requireHarmless({ method, path, query, body }: KubeRequest): void {
  if (method === "GET" || (method === "POST" && reviews.test(path))) return;
  const isDryRun = query?.["dryRun"] === "All" || (method === "DELETE" && isDryRunBody(body));
  if (!isDryRun) throw new Error(`refused to send ${method} ${path} without dryRun=All: this command only reads`);
}

function isDryRunBody(body: JsonValue | undefined): boolean {
  if (!isJsonObject(body)) return false;
  const { dryRun } = body;
  return Array.isArray(dryRun) && dryRun.length === 1 && dryRun[0] === "All";
}
