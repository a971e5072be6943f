// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MASTERS_GROUP, startApiServer } from "@purlin/kube-apiserver";
import { createDirectTransport, createKubeClient, type KubeClient, type KubeRequest } from "@purlin/kube-client";

/** An API server in this process. */
export interface EmbeddedApi extends AsyncDisposable {
  /** Straight to the server, as a user would. */
  readonly users: KubeClient;
  /** A client for a control plane. */
  connect(): KubeClient;
  /** The writes of control planes so far, as `METHOD path`. */
  readonly writes: string[];
}

const admin = { name: "admin", groups: [MASTERS_GROUP] };

export async function startEmbeddedApi(): Promise<EmbeddedApi> {
  const directory = mkdtempSync(join(tmpdir(), "purlin-control-plane-"));
  const server = await startApiServer({ directory });
  const users = createKubeClient(createDirectTransport(server.handle, admin));
  const clients: KubeClient[] = [];
  const writes: string[] = [];
  const noted = (request: KubeRequest): KubeRequest => {
    if (request.method !== "GET") writes.push(`${request.method} ${request.path}`);
    return request;
  };
  return {
    users,
    writes,
    connect() {
      const direct = createDirectTransport(server.handle, admin, "crossplane");
      const client = createKubeClient({ ...direct, request: (request) => direct.request(noted(request)) });
      clients.push(client);
      return client;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.close()));
      await users.close();
      await server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const patienceMs = 60_000;

/** Looks again and again until there is something to see, and gives it. */
export async function until<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
  const end = performance.now() + patienceMs;
  for (;;) {
    const found = await look().catch(() => undefined);
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
