// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MASTERS_GROUP, startApiServer } from "@purlin/kube-apiserver";
import {
  createDirectTransport,
  createInformerPool,
  createKubeClient,
  type InformerPool,
  type KubeClient,
  type KubeRequest,
} from "@purlin/kube-client";

/** An API server in this process, a client that counts what it sends, and a pool of informers. */
export interface EmbeddedCluster extends AsyncDisposable {
  readonly client: KubeClient;
  readonly informers: InformerPool;
  /** The requests sent so far, as `METHOD path`. */
  readonly sent: string[];
  /** Those of them that write. */
  writes(): string[];
}

export async function startEmbeddedCluster(): Promise<EmbeddedCluster> {
  const directory = mkdtempSync(join(tmpdir(), "purlin-controller-"));
  const server = await startApiServer({ directory });
  const direct = createDirectTransport(server.handle, { name: "admin", groups: [MASTERS_GROUP] });
  const sent: string[] = [];
  const counted = (request: KubeRequest): KubeRequest => {
    sent.push(`${request.method} ${request.path}`);
    return request;
  };
  const client = createKubeClient({
    ...direct,
    request: (request) => direct.request(counted(request)),
    stream: (request) => direct.stream(counted(request)),
  });
  const informers = createInformerPool(client);
  return {
    client,
    informers,
    sent,
    writes: () => sent.filter((line) => !line.startsWith("GET ")),
    async [Symbol.asyncDispose]() {
      await informers.stop();
      await client.close();
      await server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const patienceMs = 60_000;

/** Asks again and again until the answer is true, giving the event loop its turns. */
export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = performance.now() + patienceMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
