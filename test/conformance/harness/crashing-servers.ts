// SPDX-License-Identifier: Apache-2.0
// Servers that can be killed at any instant and started again on what they had written.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { load } from "js-yaml";
import { startRealCluster } from "../../../tools/peers/real-cluster.ts";
import type { Loose } from "./loose.ts";
import type { Target } from "./wire.ts";

/** A server that is killed and comes back. */
export interface CrashingServer {
  readonly target: Target;
  /** Kills it without warning and starts it again. */
  crash(): Promise<void>;
  /** Stops it, and gives what its database says about itself, where there is one to ask: "ok" when all is well. */
  stop(): Promise<string>;
}

/** The real API server and its etcd. */
export async function crashingReference(): Promise<CrashingServer> {
  const { server, caPem, admin, crash, stop } = await startRealCluster();
  return { target: { server, caPem, ...admin }, crash, stop: () => stop().then(() => "ok") };
}

const command = join(import.meta.dirname, "..", "..", "..", "packages", "cli", "bin", "purlin.js");

/** The embedded server as its command runs it. */
export async function crashingEmbedded(): Promise<CrashingServer> {
  const directory = mkdtempSync(join(tmpdir(), "conformance-crash-"));
  let child = await started(directory);
  const target = targetOf(join(directory, "kubeconfig"));
  const crash = async (): Promise<void> => {
    await ended(child, "SIGKILL");
    child = await started(directory);
  };
  const integrity = (): string => {
    const database = new DatabaseSync(join(directory, "store.db"), { readOnly: true });
    const row = database.prepare("PRAGMA integrity_check").get() as Loose;
    database.close();
    return row.integrity_check;
  };
  const stop = async (): Promise<string> => {
    await ended(child, "SIGTERM");
    const condition = integrity();
    rmSync(directory, { recursive: true, force: true });
    return condition;
  };
  return { target, crash, stop };
}

async function started(directory: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [command, "apiserver", "--data-dir", directory], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed: string[] = [];
  child.stderr.on("data", (chunk) => printed.push(String(chunk)));
  const lines = createInterface({ input: child.stdout });
  const [line] = (await Promise.race([once(lines, "line"), once(child, "exit")])) as unknown[];
  if (typeof line === "string") return child;
  throw new Error(`the server left with ${String(line)}: ${printed.join("")}`);
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill(signal);
  await exit;
}

function targetOf(kubeconfig: string): Target {
  const { clusters, users } = load(readFileSync(kubeconfig, "utf8")) as Loose;
  const pem = (text: string): string => Buffer.from(text, "base64").toString();
  const [{ cluster }] = clusters;
  const [{ user }] = users;
  return {
    server: cluster.server,
    caPem: pem(cluster["certificate-authority-data"]),
    certPem: pem(user["client-certificate-data"]),
    keyPem: pem(user["client-key-data"]),
  };
}
