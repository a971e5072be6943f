// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A program to run, without a shell. */
export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  /** Where to run it; the current directory when absent. */
  readonly directory?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A tool an installation leans on, how to see that it is there, and what to do when it is not. */
export interface Need {
  readonly program: string;
  readonly args: readonly string[];
  readonly remedy: string;
}

/** Third-party software at one version, and how its own package manager installs it. */
export interface Peer {
  readonly name: string;
  readonly version: string;
  readonly needs: readonly Need[];
  readonly commands: (directory: string) => readonly Command[];
  /** A command that succeeds and prints the version once the peer is usable. */
  readonly proof: (directory: string) => Command;
}

const stampName = ".complete";

/** The folder of a peer under `cache`: another version is another folder, so nothing stale is ever used. */
export function directoryOf(peer: Peer, cache: string): string {
  return join(cache, `${peer.name.replace(/^@/, "").replaceAll("/", "-")}-${peer.version}`);
}

/** The folder of a peer that is installed. Throws, saying how to install it, when it is not. */
export function installed(peer: Peer, cache: string): string {
  const directory = directoryOf(peer, cache);
  if (existsSync(join(directory, stampName))) return directory;
  throw new Error(`${peer.name} ${peer.version} is not installed: run "npm run peers" first`);
}

/** Installs a peer unless that was done before. A broken installation leaves nothing that looks whole. */
export function install(peer: Peer, cache: string): "installed" | "already there" {
  const directory = directoryOf(peer, cache);
  const stamp = join(directory, stampName);
  if (existsSync(stamp)) return "already there";
  const missing = peer.needs.filter((need) => !succeeds(need));
  if (missing.length > 0) {
    const list = missing.map((need) => `  ${need.program} ${need.args.join(" ")}: ${need.remedy}`).join("\n");
    throw new Error(`cannot install ${peer.name} ${peer.version}; these commands must work first:\n${list}`);
  }
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const command of peer.commands(directory)) run(peer, command);
  const proof = run(peer, peer.proof(directory));
  if (!proof.includes(peer.version)) {
    throw new Error(`${peer.name} ${peer.version} was installed, yet it reports ${JSON.stringify(proof.trim())}`);
  }
  writeFileSync(stamp, proof);
  return "installed";
}

function succeeds({ program, args }: Need): boolean {
  return spawnSync(program, args, { stdio: "ignore" }).status === 0;
}

function run(peer: Peer, command: Command): string {
  const { program, args, directory, env } = command;
  const result = spawnSync(program, args, {
    cwd: directory,
    env: { ...process.env, ...env },
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  if (result.status === 0) return result.stdout;
  const reason = result.error?.message ?? `exit code ${result.status ?? result.signal}`;
  const output = `${result.stdout ?? ""}${result.stderr ?? ""}`.trim();
  throw new Error(`cannot install ${peer.name} ${peer.version}: ${program} ${args.join(" ")}: ${reason}\n${output}`);
}
