// SPDX-License-Identifier: Apache-2.0
import { createKubeClient, type KubeClient } from "@purlin/kube-client";
import { recordRequests, startTestServer } from "@purlin/kube-controller/testing";

/** An API server in this process. */
export interface EmbeddedApi extends AsyncDisposable {
  /** Straight to the server, as a user would. */
  readonly users: KubeClient;
  /** A client for a control plane. */
  connect(): KubeClient;
  /** The writes of control planes so far, as `METHOD path`. */
  readonly writes: string[];
}

/** Starts one; dispose of it in the end. */
export async function startEmbeddedApi(): Promise<EmbeddedApi> {
  const server = await startTestServer();
  const users = createKubeClient(server.connect());
  const clients: KubeClient[] = [];
  const writes: string[] = [];
  return {
    users,
    writes,
    connect() {
      const client = createKubeClient(recordRequests(server.connect("crossplane"), writes).transport);
      clients.push(client);
      return client;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.close()));
      await users.close();
      await server.stop();
    },
  };
}
