// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mastersGroup, startApiServer, type User } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import { createDirectTransport, type KubeTransport } from "@purlin/kube-client";

/** An API server that a test has to itself. */
export interface TestServer {
  /** A transport to it with all permissions, or with those of a user where the server is the embedded one. */
  connect(userAgent?: string, user?: User): KubeTransport;
  stop(): Promise<void>;
}

let start: () => Promise<TestServer> = startEmbedded;

/** Makes all tests of this process run on servers of another kind. */
export function serveTestsFrom(other: () => Promise<TestServer>): void {
  start = other;
}

/** Starts one: the embedded server in this process, unless another kind was asked for. */
export function startTestServer(): Promise<TestServer> {
  return start();
}

async function startEmbedded(): Promise<TestServer> {
  const directory = mkdtempSync(join(tmpdir(), "purlin-test-"));
  const server = await startApiServer({ kinds: builtinKinds, directory });
  const admin: User = { name: "admin", groups: [mastersGroup] };
  return {
    connect: (userAgent, user = admin) => createDirectTransport(server.handle, user, userAgent),
    async stop() {
      await server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
