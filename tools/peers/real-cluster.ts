// SPDX-License-Identifier: Apache-2.0
// A real Kubernetes control plane on loopback, for suites that compare ours with it.
import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createAuthority, issueCertificate, type KeyPair } from "@purlin/certificates";
import { cacheDirectory } from "./cache-directory.ts";
import { freePort } from "./free-port.ts";
import { etcd, kubernetes, kwok, scheduler } from "./kubernetes.ts";
import { installed } from "./peer.ts";

/** What to run beside the API server. */
export interface RealClusterOptions {
  /** Controllers of kube-controller-manager, such as `garbage-collector-controller`; none by default. */
  readonly controllers?: readonly string[];
  /** More flags of kube-apiserver. */
  readonly apiserverFlags?: readonly string[];
  /** More flags of kube-controller-manager. */
  readonly controllerFlags?: readonly string[];
  /** Run kube-scheduler. */
  readonly schedules?: boolean;
  /** Stages of kwok, which plays the kubelets of all Nodes by them; kwok does not run without any. */
  readonly stages?: readonly object[];
  /**
   * etcd waits for the disk before it acknowledges a write, as in production. Benchmarks ask for it; tests lose nothing without it, because
   * the data outlives a killed process either way.
   */
  readonly isDurable?: boolean;
}

/** A running control plane. Dispose of it with {@link RealCluster.stop}. */
export interface RealCluster {
  readonly server: string;
  readonly kubeconfig: string;
  readonly caPem: string;
  readonly admin: KeyPair;
  /** Where its certificates, data and logs are. */
  readonly directory: string;
  readonly kubectl: string;
  readonly etcdUrl: string;
  readonly pids: { readonly etcd: number; readonly apiserver: number };
  /** Kills etcd and the API server without warning, starts them again on their data, and waits until they are ready. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

const readyWithinMs = 120_000;

/** Starts etcd, kube-apiserver and the controllers asked for, and waits until the API server is ready. */
export async function startRealCluster(options: RealClusterOptions = {}): Promise<RealCluster> {
  const binaries = installed(kubernetes, cacheDirectory);
  const directory = mkdtempSync(join(tmpdir(), "real-cluster-"));
  const children: ChildProcess[] = [];
  const start = (name: string, program: string, args: readonly string[]): ChildProcess => {
    const log = createWriteStream(join(directory, `${name}.log`), { flags: "a" });
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    children.unshift(child);
    return child;
  };
  const stop = async (): Promise<void> => {
    // Killed: the data goes too, and an orderly end takes a second.
    await Promise.all(children.map(kill));
    rmSync(directory, { recursive: true, force: true });
  };

  try {
    const pki = writePki(directory);
    const [etcdPort, peerPort, port] = await Promise.all([freePort(), freePort(), freePort()]);
    const etcdUrl = `http://127.0.0.1:${etcdPort}`;
    const flags = [...apiserverFlags(directory, etcdUrl, port), ...(options.apiserverFlags ?? [])];
    const server = `https://127.0.0.1:${port}`;
    const log = join(directory, "kube-apiserver.log");
    const durability = options.isDurable === true ? [] : ["--unsafe-no-fsync"];
    const etcdProgram = join(installed(etcd, cacheDirectory), "etcd");
    const startServers = async (): Promise<readonly [ChildProcess, ChildProcess]> => {
      const store = start("etcd", etcdProgram, [...etcdFlags(directory, etcdUrl, peerPort), ...durability]);
      const api = start("kube-apiserver", join(binaries, "kube-apiserver"), flags);
      await untilReady({ server, pki, log }, api);
      return [store, api];
    };
    const kubeconfig = writeKubeconfig(directory, server);
    let running = await startServers();
    const crash = async (): Promise<void> => {
      await Promise.all(running.map(kill));
      running = await startServers();
    };
    if (options.controllers?.length) {
      start("controllers", join(binaries, "kube-controller-manager"), [
        ...controllerFlags(directory, kubeconfig, options.controllers),
        ...(options.controllerFlags ?? []),
      ]);
    }
    if (options.schedules === true) {
      const program = join(installed(scheduler, cacheDirectory), "kube-scheduler");
      start("scheduler", program, [`--kubeconfig=${kubeconfig}`, ...local]);
    }
    if (options.stages !== undefined) {
      const program = join(installed(kwok, cacheDirectory), "kwok");
      start("kwok", program, kwokFlags(directory, kubeconfig, options.stages));
    }
    const pids = { etcd: running[0].pid ?? 0, apiserver: running[1].pid ?? 0 };
    const kubectl = join(binaries, "kubectl");
    return { server, kubeconfig, ...pki, directory, kubectl, etcdUrl, pids, crash, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function writePki(directory: string): { readonly caPem: string; readonly admin: KeyPair } {
  const pki = join(directory, "pki");
  mkdirSync(pki);
  const write = (name: string, { certPem, keyPem }: KeyPair): void => {
    writeFileSync(join(pki, `${name}.crt`), certPem);
    writeFileSync(join(pki, `${name}.key`), keyPem, { mode: 0o600 });
  };
  const authority = createAuthority({ commonName: "kubernetes" });
  write("ca", authority);
  write(
    "server",
    issueCertificate(authority, {
      commonName: "kube-apiserver",
      dnsNames: ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"],
      ipAddresses: ["127.0.0.1", "10.0.0.1"],
      usages: ["server"],
    }),
  );
  const admin = issueCertificate(authority, {
    commonName: "admin",
    organizations: ["system:masters"],
    usages: ["client"],
  });
  write("admin", admin);
  return { caPem: authority.certPem, admin };
}

function etcdFlags(directory: string, url: string, peerPort: number): string[] {
  const peer = `http://127.0.0.1:${peerPort}`;
  return [
    `--data-dir=${join(directory, "etcd")}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
  ];
}

function apiserverFlags(directory: string, etcdUrl: string, port: number): string[] {
  const pki = (name: string): string => join(directory, "pki", name);
  return [
    `--etcd-servers=${etcdUrl}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    `--secure-port=${port}`,
    `--tls-cert-file=${pki("server.crt")}`,
    `--tls-private-key-file=${pki("server.key")}`,
    `--client-ca-file=${pki("ca.crt")}`,
    `--service-account-key-file=${pki("server.crt")}`,
    `--service-account-signing-key-file=${pki("server.key")}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    "--service-cluster-ip-range=10.0.0.0/24",
    "--authorization-mode=RBAC",
    "--endpoint-reconciler-type=none",
    // As installers of clusters set it. The default of the program is false.
    "--allow-privileged=true",
  ];
}

/** Programs of the control plane run once, and serve nothing. */
const local = ["--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=0"];

function controllerFlags(directory: string, kubeconfig: string, controllers: readonly string[]): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--controllers=${controllers.join(",")}`,
    ...local,
    `--service-account-private-key-file=${join(directory, "pki", "server.key")}`,
  ];
}

function kwokFlags(directory: string, kubeconfig: string, stages: readonly object[]): string[] {
  const config = join(directory, "stages.yaml");
  writeFileSync(config, stages.map((stage) => JSON.stringify(stage)).join("\n---\n"));
  return [
    `--kubeconfig=${kubeconfig}`,
    `--config=${config}`,
    "--manage-all-nodes=true",
    // No server, and no heartbeats.
    ...["--server-address=", "--node-port=0", "--node-lease-duration-seconds=0"],
  ];
}

function writeKubeconfig(directory: string, server: string): string {
  const data = (name: string): string => readFileSync(join(directory, "pki", name)).toString("base64");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "real",
    clusters: [{ name: "real", cluster: { server, "certificate-authority-data": data("ca.crt") } }],
    users: [
      { name: "admin", user: { "client-certificate-data": data("admin.crt"), "client-key-data": data("admin.key") } },
    ],
    contexts: [{ name: "real", context: { cluster: "real", user: "admin" } }],
  };
  const path = join(directory, "kubeconfig");
  writeFileSync(path, JSON.stringify(config, undefined, 2), { mode: 0o600 });
  return path;
}

interface ServerProcess {
  readonly server: string;
  readonly pki: { readonly caPem: string; readonly admin: KeyPair };
  readonly log: string;
}

async function untilReady({ server, pki, log }: ServerProcess, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + readyWithinMs;
  while (Date.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`kube-apiserver exited with ${child.exitCode}: ${tail(log)}`);
    if (await isReady(server, pki)) return;
    await delay(100);
  }
  throw new Error(`kube-apiserver was not ready within ${readyWithinMs / 1000} s: ${tail(log)}`);
}

function isReady(
  server: string,
  { caPem, admin }: { readonly caPem: string; readonly admin: KeyPair },
): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const probe = request(`${server}/readyz`, { ca: caPem, cert: admin.certPem, key: admin.keyPem }, (response) => {
    response.resume();
    resolve(response.statusCode === 200);
  });
  probe.once("error", () => resolve(false));
  probe.end();
  return promise;
}

function tail(log: string): string {
  return readFileSync(log, "utf8").split("\n").slice(-8).join("\n");
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  child.once("exit", () => resolve());
  child.kill("SIGKILL");
  await promise;
}
