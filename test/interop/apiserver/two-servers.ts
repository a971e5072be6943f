// SPDX-License-Identifier: Apache-2.0
// The embedded API server and a real one, side by side, for suites that run the same clients against both.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ApiServer, startApiServer } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import {
  accessFromKubeconfig,
  createHttpsTransport,
  createKubeClient,
  type KubeClient,
  type Kubeconfig,
} from "@purlin/kube-client";
import { load } from "js-yaml";
import { startRealCluster } from "../../../tools/peers/real-cluster.ts";
import { eventually } from "../../e2e/harness/plane.ts";

/** A server that clients reach with a kubeconfig. */
export interface Server {
  readonly name: "embedded" | "real";
  readonly url: string;
  /** The path of a kubeconfig of its administrator. */
  readonly kubeconfig: string;
  /** A folder for this server alone: caches and data of the clients. */
  readonly directory: string;
  /** A client of ours over HTTPS; the caller closes it. */
  connect(): Promise<KubeClient>;
}

/** Both servers. Disposing stops them and removes what they wrote. */
export interface TwoServers extends AsyncDisposable {
  readonly embedded: Server;
  readonly real: Server;
  /** The embedded server itself, for calls without a wire. */
  readonly apiServer: ApiServer;
}

/** The loops of the controller manager that clients of an API server lean on; the embedded server has its own. */
const controllers = [
  "garbage-collector-controller",
  "namespace-controller",
  "serviceaccount-controller",
  "clusterrole-aggregation-controller",
];

/** Starts both and waits until both have what every cluster has. */
export async function startTwoServers(): Promise<TwoServers> {
  const directory = mkdtempSync(join(tmpdir(), "two-servers-"));
  const cleanups: (() => Promise<void>)[] = [async () => rmSync(directory, { recursive: true, force: true })];
  const stop = async (): Promise<void> => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  };
  try {
    const cluster = await startRealCluster({ controllers });
    cleanups.push(() => cluster.stop());
    const apiServer = await startEmbedded(directory);
    cleanups.push(() => apiServer.close());
    const { url, kubeconfig: config } = await apiServer.listen();
    const kubeconfig = join(directory, "kubeconfig");
    writeFileSync(kubeconfig, config, { mode: 0o600 });
    const embedded = serverAt({ name: "embedded", url, kubeconfig, directory: mkdtempSync(join(directory, "ours-")) });
    const theirs = mkdtempSync(join(directory, "real-"));
    const real = serverAt({ name: "real", url: cluster.server, kubeconfig: cluster.kubeconfig, directory: theirs });
    await Promise.all([settled(embedded), settled(real)]);
    return { embedded, real, apiServer, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function startEmbedded(directory: string): Promise<ApiServer> {
  return startApiServer({
    kinds: builtinKinds,
    directory: join(directory, "data"),
    onUnexpected: (error, { method, path }) => console.error(`unforeseen: ${method} ${path}:`, error),
    onControllerError: (error) => console.error("a controller failed:", error),
  });
}

function serverAt(place: Omit<Server, "connect">): Server {
  const connect = async (): Promise<KubeClient> => {
    const config = load(readFileSync(place.kubeconfig, "utf8")) as Kubeconfig;
    const access = await accessFromKubeconfig(config, { file: place.kubeconfig, env: {} });
    return createKubeClient(createHttpsTransport(access));
  };
  return { ...place, connect };
}

/** Ready comes before the first namespaces and their accounts are there. */
async function settled(server: Server): Promise<void> {
  const client = await server.connect();
  const account = { apiVersion: "v1", kind: "ServiceAccount" };
  const key = { namespace: "default", name: "default" };
  await eventually(`the ${server.name} server has its accounts`, () => client.get(account, key));
  await client.close();
}
