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
  type KubeObject,
  type KubeRequest,
  type KubeTransport,
} from "@purlin/kube-client";
import { type ClosableControllerClient, createControllerClient, installCrds } from "@purlin/kube-controller";
import { compositionCrds } from "../crds/composition-crds.ts";
import { deriveCompositeCrd } from "../definition/derive-crd.ts";

/** A real API server in this process that knows the kinds of composition, and a client that counts what it writes. */
export interface TestCluster extends AsyncDisposable {
  readonly kube: KubeClient;
  readonly informers: InformerPool;
  readonly client: ClosableControllerClient;
  /** What was written since the last call, as `METHOD path`. */
  takeWrites(): string[];
  /** Makes a definition and serves its composite resources, without a controller for it. */
  define(xrd: KubeObject): Promise<KubeObject>;
}

/** A server that tests may run on. */
export interface TestServer {
  readonly transport: KubeTransport;
  stop(): Promise<void>;
}

let startServer: () => Promise<TestServer> = startEmbedded;

/** Makes all tests of this process run on servers of another kind. */
export function serveTestsFrom(start: () => Promise<TestServer>): void {
  startServer = start;
}

async function startEmbedded(): Promise<TestServer> {
  const directory = mkdtempSync(join(tmpdir(), "purlin-composition-"));
  const server = await startApiServer({ directory });
  return {
    transport: createDirectTransport(server.handle, { name: "admin", groups: [MASTERS_GROUP] }),
    async stop() {
      await server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Starts one; dispose of it in the end. */
export async function startTestCluster(): Promise<TestCluster> {
  const { transport, stop } = await startServer();
  const writes: string[] = [];
  const count = (request: KubeRequest): KubeRequest => {
    if (request.method !== "GET") writes.push(`${request.method} ${request.path}`);
    return request;
  };
  const kube = createKubeClient({ ...transport, request: (request) => transport.request(count(request)) });
  const informers = createInformerPool(kube);
  const client = createControllerClient({ client: kube, informers });
  await installCrds(kube, compositionCrds());
  return {
    kube,
    informers,
    client,
    takeWrites: () => writes.splice(0),
    async define(xrd) {
      const stored = await kube.create(xrd);
      await installCrds(kube, [deriveCompositeCrd(stored, { functionRevisions: true })]);
      return stored;
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await informers.stop();
      await kube.close();
      await stop();
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
