// SPDX-License-Identifier: Apache-2.0
// The API server as its command runs it, in a process that may be killed, starved and lied to.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { load } from "js-yaml";
import { purlinCommand } from "../../../packages/cli/test/spawn-purlin.ts";
import type { Target } from "../../conformance/harness/wire.ts";

/** How to run the server. */
export interface ServerOptions {
  readonly directory: string;
  /** Options of Node itself. */
  readonly nodeOptions?: readonly string[];
  /** A command in front of the server's own, such as one that limits what it may use. */
  readonly wrapper?: readonly string[];
  /** Further options of the server. */
  readonly args?: readonly string[];
  /** Added to its environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A server that is starting or running. */
export interface ServerProcess extends AsyncDisposable {
  readonly child: ChildProcess;
  /** How to reach it, once it says that it serves. Fails when it ends before that. */
  readonly ready: Promise<Target>;
  /** Everything it has complained about so far; all of it once it has ended and `ready` has failed. */
  complaints(): string;
  /** Waits until it has printed this error: its output before it was ready may arrive after that. */
  complained(pattern: RegExp, otherwise?: string): Promise<void>;
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>;
  /** Asks it to stop and gives its exit code. */
  stop(): Promise<number | null>;
  /** Resident memory in MiB. */
  memory(): number;
  /** Most resident memory it ever had, in MiB. */
  peakMemory(): number;
  /** CPU time that it has used, in ms. */
  cpuMs(): number;
}

/** Longer than anything here takes on a machine with much to do. */
const patienceMs = 120_000;

/** A directory that is removed when the test file ends. */
export function chaosDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "chaos-"));
  after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Starts the server and does not wait for it. */
export function startServer(options: ServerOptions): ServerProcess {
  const { directory, nodeOptions = [], wrapper = [], env = {} } = options;
  const serve = [purlinCommand, "apiserver", "--data-dir", directory, ...(options.args ?? [])];
  const [program = "", ...args] = [...wrapper, process.execPath, ...nodeOptions, ...serve];
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      said[name] += text;
    });
  }
  const ready = untilReady(child, said, directory);
  // Not awaited by tests that kill it before it serves.
  ready.catch(() => {});
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (child.exitCode === null && child.signalCode === null) {
      const exit = once(child, "exit");
      child.kill(signal);
      await exit;
    }
    return child.exitCode;
  };
  return {
    child,
    ready,
    complaints: () => said.stderr,
    async complained(pattern, otherwise = "it did not complain") {
      const signal = AbortSignal.timeout(patienceMs);
      while (!pattern.test(said.stderr)) {
        await once(child.stderr, "data", { signal }).catch((cause: unknown) => {
          throw new Error(`${otherwise}: ${pattern}: ${said.stderr}`, { cause });
        });
      }
    },
    kill: async () => void (await end("SIGKILL")),
    stop: () => end("SIGTERM"),
    memory: () => memoryOf(child.pid ?? 0, "VmRSS"),
    peakMemory: () => memoryOf(child.pid ?? 0, "VmHWM"),
    cpuMs: () => cpuOf(child.pid ?? 0),
    [Symbol.asyncDispose]: async () => void (await end("SIGKILL")),
  };
}

async function untilReady(
  child: ChildProcess,
  said: { readonly stdout: string; readonly stderr: string },
  directory: string,
): Promise<Target> {
  // Not "exit": its last words may come after that.
  const closed = once(child, "close");
  while (!/Pods are not run|Workloads are simulated/.test(said.stdout)) {
    await Promise.race([closed, once(child.stdout ?? child, "data")]);
    if (child.exitCode !== null || child.signalCode !== null) {
      await closed;
      throw new Error(`the server left with ${String(child.exitCode ?? child.signalCode)}: ${said.stderr}`);
    }
  }
  // Through the process itself: it may see directories that other processes do not.
  return readTarget(`/proc/${child.pid}/root${join(directory, "kubeconfig")}`);
}

interface Kubeconfig {
  readonly clusters: readonly [{ readonly cluster: Readonly<Record<string, string>> }];
  readonly users: readonly [{ readonly user: Readonly<Record<string, string>> }];
}

function readTarget(path: string): Target {
  const { clusters, users } = load(readFileSync(path, "utf8")) as Kubeconfig;
  const pem = (text = ""): string => Buffer.from(text, "base64").toString();
  const { cluster } = clusters[0];
  const { user } = users[0];
  return {
    server: cluster["server"] ?? "",
    caPem: pem(cluster["certificate-authority-data"]),
    certPem: pem(user["client-certificate-data"]),
    keyPem: pem(user["client-key-data"]),
  };
}

/** A figure in MiB that the kernel keeps of a process. */
function memoryOf(pid: number, figure: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${figure}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) / 1024;
}

/** CPU time of a process, in user mode and in the kernel. The kernel counts it in hundredths of a second. */
function cpuOf(pid: number): number {
  const [, fields = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const [user, system] = fields.split(" ").slice(11, 13).map(Number);
  return ((user ?? 0) + (system ?? 0)) * 10;
}
