// SPDX-License-Identifier: Apache-2.0
import { cpSync, rmSync } from "node:fs";
import { type ApiServerOptions, mastersGroup, startApiServer, type User } from "@purlin/kube-apiserver";
import { serverDirectory } from "@purlin/kube-apiserver/testing";
import { builtinKinds } from "@purlin/kube-builtin";
import { createDirectTransport, createKubeClient, type KubeTransport } from "@purlin/kube-client";
import type { KubeObject } from "@purlin/kube-objects/object";
import { installCrds } from "../src/crd/install-crds.ts";

/** An API server that a test has to itself. */
export interface TestServer {
  /** A transport to it with all permissions, or with those of a user where the server is the embedded one. */
  connect(userAgent?: string, user?: User): KubeTransport;
  stop(): Promise<void>;
}

/** Options of the embedded server; a server of another kind ignores them. */
type EmbeddedOptions = Pick<ApiServerOptions, "guardDelete">;

interface TestServerOptions extends EmbeddedOptions {
  /** What the server serves beside the built-in kinds. */
  readonly crds?: readonly KubeObject[];
}

let startOther: (() => Promise<TestServer>) | undefined;

/** Makes all tests of this process run on servers of another kind. */
export function serveTestsFrom(other: () => Promise<TestServer>): void {
  startOther = other;
}

/** Starts one: the embedded server in this process, unless another kind was asked for. */
export async function startTestServer({ crds = [], ...options }: TestServerOptions = {}): Promise<TestServer> {
  if (startOther === undefined) return startEmbedded(await preparedDirectory(crds), options);
  const server = await startOther();
  await install(server, crds);
  return server;
}

/** Directories of stopped servers by the CRDs that they store. */
const prepared = new Map<string, Promise<string>>();

/**
 * A directory of a server that has bootstrapped and stores the CRDs. Each set of CRDs is installed once in a process; a server then starts
 * on a copy of the directory, which takes a fifth of the time.
 */
async function preparedDirectory(crds: readonly KubeObject[]): Promise<string> {
  const key = JSON.stringify(crds);
  const source = prepared.get(key) ?? prepare(crds);
  prepared.set(key, source);
  const directory = serverDirectory();
  cpSync(await source, directory, { recursive: true });
  return directory;
}

async function prepare(crds: readonly KubeObject[]): Promise<string> {
  const directory = serverDirectory();
  const server = await startApiServer({ kinds: builtinKinds, directory });
  try {
    await install({ connect: () => createDirectTransport(server.handle, admin) }, crds);
  } finally {
    await server.close();
  }
  return directory;
}

async function install(server: Pick<TestServer, "connect">, crds: readonly KubeObject[]): Promise<void> {
  if (crds.length === 0) return;
  const client = createKubeClient(server.connect());
  try {
    await installCrds(client, crds);
  } finally {
    await client.close();
  }
}

const admin: User = { name: "admin", groups: [mastersGroup] };

async function startEmbedded(directory: string, options: EmbeddedOptions): Promise<TestServer> {
  const server = await startApiServer({ ...options, kinds: builtinKinds, directory });
  return {
    connect: (userAgent, user = admin) => createDirectTransport(server.handle, user, userAgent),
    async stop() {
      await server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
