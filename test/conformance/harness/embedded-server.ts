// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startApiServer } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import { cacheDirectory } from "../../../tools/peers/cache-directory.ts";
import { kubernetes } from "../../../tools/peers/kubernetes.ts";
import { installed } from "../../../tools/peers/peer.ts";
import { eventLifetimeSeconds } from "./reference-server.ts";
import type { ServerUnderTest } from "./server-under-test.ts";

/** Starts the embedded server on a directory of its own. */
export async function startEmbedded(eventTtlSeconds: number = eventLifetimeSeconds): Promise<ServerUnderTest> {
  const directory = mkdtempSync(join(tmpdir(), "conformance-embedded-"));
  const server = await startApiServer({
    kinds: builtinKinds,
    directory,
    authorization: "rbac",
    eventTtlSeconds,
    onUnexpected: (error, { method, path }) => console.error(`unforeseen: ${method} ${path}:`, error),
    onControllerError: (error) => console.error("a controller failed:", error),
  });
  const { url, kubeconfig: config } = await server.listen();
  const kubeconfig = join(directory, "kubeconfig");
  writeFileSync(kubeconfig, config, { mode: 0o600 });
  const { authority, admin } = server.certificates;
  const target = { server: url, caPem: authority.certPem, certPem: admin.certPem, keyPem: admin.keyPem };
  const kubectl = join(installed(kubernetes, cacheDirectory), "kubectl");
  const compact = async (): Promise<void> => server.compact();
  const stop = async (): Promise<void> => {
    await server.close();
    rmSync(directory, { recursive: true, force: true });
  };
  return { name: "embedded", target, kubeconfig, kubectl, compact, stop };
}
