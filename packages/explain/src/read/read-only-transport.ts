// SPDX-License-Identifier: Apache-2.0
import type { KubeRequest, KubeTransport } from "@purlin/kube-client";

/** Creating one of these stores nothing. */
const reviews = /\/apis\/(authorization|authentication)\.k8s\.io\/v\d\w*\/(namespaces\/[^/]+\/)?[a-z]+reviews$/;

/** Whether a request changes nothing: a read, a dry run, or a review. */
function isReadOnly({ method, path, query = {} }: KubeRequest): boolean {
  if (method === "GET" || query["dryRun"] === "All") return true;
  return method === "POST" && reviews.test(path);
}

function requireReadOnly(request: KubeRequest): void {
  if (isReadOnly(request)) return;
  throw new Error(`refusing ${request.method} ${request.path}: this command is read-only`);
}

/** A transport that refuses requests that could change something. */
export function readOnlyTransport(transport: KubeTransport): KubeTransport {
  return {
    async request(request) {
      requireReadOnly(request);
      return transport.request(request);
    },
    async stream(request) {
      requireReadOnly(request);
      return transport.stream(request);
    },
    close: () => transport.close(),
  };
}
