// SPDX-License-Identifier: Apache-2.0
import type { KubeRequest, KubeTransport } from "@purlin/kube-client";

/** A transport, and every request that went through it. */
interface RecordedRequests {
  readonly transport: KubeTransport;
  /** As `METHOD path`, watches included; a test may take lines away. */
  readonly sent: string[];
  /** Those that write, since the last call. */
  takeWrites(): string[];
}

/** Notes every request before it is sent; several transports may share their list of writes. */
export function recordRequests(inner: KubeTransport, writes: string[] = []): RecordedRequests {
  const sent: string[] = [];
  const noted = (request: KubeRequest): KubeRequest => {
    const { method, path, query = {} } = request;
    const line = `${method} ${path}${query["dryRun"] === undefined ? "" : " (dry run)"}`;
    sent.push(line);
    if (method !== "GET") writes.push(line);
    return request;
  };
  const transport = {
    ...inner,
    request: (request: KubeRequest) => inner.request(noted(request)),
    stream: (request: KubeRequest) => inner.stream(noted(request)),
  };
  return { transport, sent, takeWrites: () => writes.splice(0) };
}
