// SPDX-License-Identifier: Apache-2.0
import { rmSync } from "node:fs";
import { type ApiServerOptions, mastersGroup, startApiServer, type User } from "@purlin/kube-apiserver";
import { serverDirectory } from "@purlin/kube-apiserver/testing";
import { builtinKinds } from "@purlin/kube-builtin";
import { createDirectTransport, type KubeTransport } from "@purlin/kube-client";

/** An API server that a test has to itself. */
export interface TestServer {
  /** A transport to it with all permissions, or with those of a user where the server is the embedded one. */
  connect(userAgent?: string, user?: User): KubeTransport;
  stop(): Promise<void>;
}

/** Options of the embedded server; a server of another kind ignores them. */
type EmbeddedOptions = Pick<ApiServerOptions, "guardDelete">;

let start: (options?: EmbeddedOptions) => Promise<TestServer> = startEmbedded;

/** Makes all tests of this process run on servers of another kind. */
export function serveTestsFrom(other: () => Promise<TestServer>): void {
  start = () => other();
}

/** Starts one: the embedded server in this process, unless another kind was asked for. */
export function startTestServer(options?: EmbeddedOptions): Promise<TestServer> {
  return start(options);
}

async function startEmbedded(options: EmbeddedOptions = {}): Promise<TestServer> {
  const directory = serverDirectory();
  const server = await startApiServer({ ...options, kinds: builtinKinds, directory });
  const admin: User = { name: "admin", groups: [mastersGroup] };
  return {
    connect: (userAgent, user = admin) => createDirectTransport(server.handle, user, userAgent),
    async stop() {
      await server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
