// SPDX-License-Identifier: Apache-2.0
import { createInformerPool, createKubeClient, type InformerPool, type KubeClient } from "@purlin/kube-client";
import { recordRequests } from "./recorded-requests.ts";
import { startTestServer } from "./test-server.ts";

/** An API server, a client that counts what it sends, and a pool of informers. */
export interface EmbeddedCluster extends AsyncDisposable {
  readonly client: KubeClient;
  readonly informers: InformerPool;
  /** The requests sent so far, as `METHOD path`. */
  readonly sent: string[];
  /** Those of them that write. */
  writes(): string[];
}

/** Starts one; dispose of it in the end. */
export async function startEmbeddedCluster(): Promise<EmbeddedCluster> {
  const server = await startTestServer();
  const { transport, sent } = recordRequests(server.connect());
  const client = createKubeClient(transport);
  const informers = createInformerPool(client);
  return {
    client,
    informers,
    sent,
    writes: () => sent.filter((line) => !line.startsWith("GET ")),
    async [Symbol.asyncDispose]() {
      await informers.stop();
      await client.close();
      await server.stop();
    },
  };
}
