// SPDX-License-Identifier: Apache-2.0
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compositionCrds, keptCrds } from "@purlin/composition";
import { mastersGroup, startApiServer } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import { createDirectTransport, createKubeClient, type KubeClient } from "@purlin/kube-client";
import { installCrds } from "@purlin/kube-controller";
import { isAlreadyExists } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { packageCrds } from "@purlin/package-manager";
import { KindSchemas } from "./kind-schemas.ts";

/**
 * An API server without a port, whose data is removed when it is closed: objects are judged by the code that would store them. It has
 * no admission that depends on other objects.
 */
export interface ScratchServer extends AsyncDisposable {
  readonly client: KubeClient;
  readonly schemas: KindSchemas;
  /** Serves the kinds of CRDs. Rejects when the server refuses one. */
  define(crds: readonly KubeObject[]): Promise<void>;
  /** Makes a namespace unless it is there. */
  ensureNamespace(name: string): Promise<void>;
}

const operator = { name: "admin", groups: [mastersGroup] };
const settings = { developmentFunctions: true, functionRevisionSelectors: true };

/** Starts one that serves the built-in kinds and those of Crossplane. */
export async function startScratchServer(signal: AbortSignal): Promise<ScratchServer> {
  await using starting = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), "purlin-validate-"));
  starting.defer(() => rm(directory, { recursive: true, force: true }));
  const server = starting.use(await startApiServer({ directory, kinds: builtinKinds }));
  const client = createKubeClient(createDirectTransport(server.handle, operator));
  starting.defer(() => client.close());
  const schemas = new KindSchemas();
  const namespaces = new Map<string, Promise<void>>();
  const define = async (crds: readonly KubeObject[]): Promise<void> => {
    await installCrds(client, crds, { signal });
    for (const crd of crds) schemas.add(crd);
  };
  await define([...compositionCrds(), ...keptCrds(), ...packageCrds(settings)]);
  const owned = starting.move();
  return {
    client,
    schemas,
    define,
    ensureNamespace(name) {
      const making = namespaces.get(name) ?? makeNamespace(client, name);
      namespaces.set(name, making);
      return making;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A name that is invalid is a finding of the object that names it. */
async function makeNamespace(client: KubeClient, name: string): Promise<void> {
  try {
    await client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
