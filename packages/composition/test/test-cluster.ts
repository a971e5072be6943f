// SPDX-License-Identifier: Apache-2.0
import { createInformerPool, createKubeClient, type InformerPool, type KubeClient } from "@purlin/kube-client";
import { type ClosableControllerClient, createControllerClient, installCrds } from "@purlin/kube-controller";
import { recordRequests, startTestServer } from "@purlin/kube-controller/testing";
import type { KubeObject } from "@purlin/kube-objects/object";
import { compositionCrds } from "../src/crds/composition-crds.ts";
import { deriveCompositeCrd } from "../src/definition/derive-crd.ts";

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

/** Starts one; dispose of it in the end. */
export async function startTestCluster(options?: Parameters<typeof startTestServer>[0]): Promise<TestCluster> {
  const server = await startTestServer({ ...options, crds: compositionCrds() });
  const { transport, takeWrites } = recordRequests(server.connect());
  const kube = createKubeClient(transport);
  const informers = createInformerPool(kube);
  const client = createControllerClient({ client: kube, informers });
  return {
    kube,
    informers,
    client,
    takeWrites,
    async define(xrd) {
      const stored = await kube.create(xrd);
      await installCrds(kube, [deriveCompositeCrd(stored, { functionRevisions: true })]);
      return stored;
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await informers.stop();
      await kube.close();
      await server.stop();
    },
  };
}
