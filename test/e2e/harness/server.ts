// SPDX-License-Identifier: Apache-2.0
// One suite, two servers: `npm run e2e` and `npm run e2e -- --server=real`.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mastersGroup, startApiServer, type User } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import {
  accessFromKubeconfig,
  type ClusterAccess,
  createDirectTransport,
  createHttpsTransport,
  type Kubeconfig,
  type KubeTransport,
} from "@purlin/kube-client";
import { controlPlaneRoles, controlPlaneUser } from "../../../packages/cli/src/apiserver/controller-roles.ts";
import { startRealCluster } from "../../../tools/peers/real-cluster.ts";

/** An API server that a control plane and its users share. */
export interface Server {
  readonly name: "embedded" | "real";
  /** As the user of this name, who has only the rights that roles of the server grant; otherwise as those programs usually connect. */
  connect(userAgent: string, user?: string): Promise<KubeTransport>;
  /** The path of a kubeconfig, for programs that are not ours. */
  kubeconfig(): Promise<string>;
  stop(): Promise<void>;
}

/** Starts the one that the suite was asked to run on. */
export function startServer(): Promise<Server> {
  const wanted = process.env["E2E_SERVER"] ?? "embedded";
  if (wanted === "embedded") return startEmbedded();
  if (wanted === "real") return startReal();
  throw new Error(`--server=${wanted}: expected embedded or real`);
}

async function startEmbedded(): Promise<Server> {
  const directory = mkdtempSync(join(tmpdir(), "e2e-"));
  const server = await startApiServer({ kinds: builtinKinds, directory, roles: controlPlaneRoles });
  const admin = { name: "admin", groups: [mastersGroup] };
  // The control plane has the rights that it has in `purlin up`.
  const userOf = (agent: string): User => (agent === "crossplane" ? controlPlaneUser("rbac") : admin);
  const named = (name: string): User => ({ name, groups: ["system:authenticated"] });
  return {
    name: "embedded",
    connect: async (userAgent, user) =>
      createDirectTransport(server.handle, user === undefined ? userOf(userAgent) : named(user), userAgent),
    async kubeconfig() {
      const file = join(directory, "kubeconfig");
      const { kubeconfig } = await server.listen();
      writeFileSync(file, kubeconfig, { mode: 0o600 });
      return file;
    },
    async stop() {
      await server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** The loops that the embedded server has of its own. The suite plays every other controller. */
const controllers = ["garbage-collector-controller", "namespace-controller", "serviceaccount-controller"];

async function startReal(): Promise<Server> {
  const cluster = await startRealCluster({ controllers });
  const file = cluster.kubeconfig;
  const access = await accessFromKubeconfig(JSON.parse(readFileSync(file, "utf8")) as Kubeconfig, { file, env: {} });
  return {
    name: "real",
    connect: async (userAgent, user) =>
      createHttpsTransport(user === undefined ? access : impersonating(access, user), { userAgent }),
    kubeconfig: async () => file,
    stop: () => cluster.stop(),
  };
}

function impersonating(access: ClusterAccess, user: string): ClusterAccess {
  const { credentials } = access;
  const current = async (): ReturnType<typeof credentials.current> => ({
    ...(await credentials.current()),
    impersonate: { user, groups: [] },
  });
  return { ...access, credentials: { refused: () => credentials.refused?.(), current } };
}
