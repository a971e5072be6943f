// SPDX-License-Identifier: Apache-2.0
// `purlin up` as a user runs it, in a process of its own, and what a user does to it.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { accessFromKubeconfig, createHttpsTransport, createKubeClient, type KubeClient } from "@purlin/kube-client";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import { load } from "js-yaml";

const program = join(import.meta.dirname, "..", "..", "..", "packages", "cli", "bin", "purlin.js");
const execute = promisify(execFile);
const patienceMs = 300_000;

/** Runs a command of ours and returns what it printed. */
export async function purlin(...args: readonly string[]): Promise<string> {
  const { stdout } = await execute(process.execPath, [program, ...args], { maxBuffer: 2 ** 26 });
  return stdout;
}

/** A control plane that runs. */
export interface EmbeddedPlane extends AsyncDisposable {
  /** Its data, and everything else it keeps. */
  readonly directory: string;
  readonly users: KubeClient;
  /** The process of the control plane. */
  readonly pid: number;
  /** Puts a file into the registry of the control plane and returns its name there. */
  push(file: string, name: string): Promise<string>;
  /** An object as soon as it is as wanted; what it was last is in the failure. */
  until(what: string, ref: Ref, isWanted: (object: KubeObject) => boolean): Promise<KubeObject>;
}

/** One object. */
export type Ref = TypeRef & { readonly name: string; readonly namespace?: string };

/** What the machine has for functions. */
export interface PlaneOptions {
  /** Without it, the machine looks as if it had no bubblewrap. */
  readonly sandbox: boolean;
  readonly flags?: readonly string[];
  /** Variables beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts `purlin up` on an empty folder. */
export async function startPlane({ sandbox, flags = [], env = {} }: PlaneOptions): Promise<EmbeddedPlane> {
  await using starting = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "purlin-packages-"));
  starting.defer(() => rmSync(directory, { recursive: true, force: true }));
  const without = sandbox ? {} : { PURLIN_SANDBOX: "none" };
  const child = spawn(process.execPath, [program, "up", "--data-dir", directory, ...flags], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...without, ...env, CONTROL_PLANE_SECRET: "in its environment" },
  });
  starting.defer(() => stop(child));
  await untilItRuns(child);
  const users = starting.adopt(await clientOf(join(directory, "kubeconfig")), (client) => client.close());
  const registry = `127.0.0.1:${readFileSync(join(directory, "registry", "port"), "utf8").trim()}`;
  const owned = starting.move();
  return {
    directory,
    users,
    pid: child.pid ?? 0,
    async push(file, name) {
      const config = join(directory, "docker", "config.json");
      await purlin("xpkg", "push", "-f", file, "--registry-config", config, `${registry}/${name}`);
      return `${registry}/${name}`;
    },
    until: (what, ref, isWanted) => until(users, { what, ref, isWanted }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function untilItRuns(child: ChildProcess): Promise<void> {
  const said: string[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  for (const input of [child.stdout, child.stderr]) {
    if (input === null) continue;
    createInterface({ input }).on("line", (line) => {
      if (said.push(line) > 50) said.shift();
      if (line.includes("control plane at")) resolve();
    });
  }
  child.once("exit", (code) => reject(new Error(`purlin up left with ${code}:\n${said.join("\n")}`)));
  await promise;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGTERM");
  await exit;
}

async function clientOf(file: string): Promise<KubeClient> {
  const config = load(readFileSync(file, "utf8")) as Parameters<typeof accessFromKubeconfig>[0];
  return createKubeClient(createHttpsTransport(await accessFromKubeconfig(config, { file, env: {} })));
}

interface Wish {
  readonly what: string;
  readonly ref: Ref;
  readonly isWanted: (object: KubeObject) => boolean;
}

async function until(users: KubeClient, { what, ref, isWanted }: Wish): Promise<KubeObject> {
  const deadline = performance.now() + patienceMs;
  let last: unknown;
  for (;;) {
    try {
      const found = await users.get(ref, ref);
      if (isWanted(found)) return found;
      last = found["status"];
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline) throw new Error(`waited in vain: ${what}\n${JSON.stringify(last, undefined, 1)}`);
    await delay(100);
  }
}
