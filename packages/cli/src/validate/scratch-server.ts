// SPDX-License-Identifier: Apache-2.0
import { compositionCrds, keptCrds } from "@purlin/composition";
import { createMemoryServer, mastersGroup } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import { createDirectTransport, createKubeClient, type KubeClient } from "@purlin/kube-client";
import type { KubeObject } from "@purlin/kube-objects/object";
import { packageCrds } from "@purlin/package-manager";
import { KindSchemas } from "./kind-schemas.ts";

/** An API server in memory: objects are judged by the code that would store them. */
export interface ScratchServer extends AsyncDisposable {
  readonly client: KubeClient;
  readonly schemas: KindSchemas;
  /** Serves the kinds of valid CRDs. */
  define(crds: readonly KubeObject[]): Promise<void>;
  /** Makes a namespace unless it is there. */
  ensureNamespace(name: string): Promise<void>;
}

const operator = { name: "admin", groups: [mastersGroup] };
const settings = { developmentFunctions: true, functionRevisionSelectors: true, functionRollouts: true };

/** Starts one that serves the built-in kinds and those of Crossplane. */
export async function startScratchServer(): Promise<ScratchServer> {
  const server = createMemoryServer({ kinds: builtinKinds });
  const client = createKubeClient(createDirectTransport(server.handle, operator));
  const schemas = new KindSchemas();
  const define = async (crds: readonly KubeObject[]): Promise<void> => {
    for (const crd of crds) {
      await server.put(crd);
      schemas.add(crd);
    }
    await server.served();
    client.mapper.forget();
  };
  await define([...compositionCrds(), ...keptCrds(), ...packageCrds(settings)]);
  return {
    client,
    schemas,
    define,
    async ensureNamespace(name) {
      await server.put({ apiVersion: "v1", kind: "Namespace", metadata: { name }, status: { phase: "Active" } });
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
    },
  };
}
