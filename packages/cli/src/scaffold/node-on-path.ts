// SPDX-License-Identifier: Apache-2.0
import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, join, sep } from "node:path";
import { promisify } from "node:util";
import type { Io } from "../io.ts";

/** The oldest Node that runs a new project: it is the first one to run TypeScript files as they are. */
const neededNode = { major: 22, minor: 18 } as const;

/**
 * A line for a user whose own Node cannot run the project; undefined where it can. The Node that runs this command says
 * nothing about it: npx and npm scripts put the one of this repository first on the path.
 */
export async function nodeWarning(env: Io["env"]): Promise<string | undefined> {
  const needed = `Node ${neededNode.major}.${neededNode.minor} or newer`;
  const advice = 'install one from https://nodejs.org, or run "npm install --save-dev node@26" in the project';
  const version = await nodeVersion(env);
  if (version === undefined) return `no Node found on PATH: the project needs ${needed}: ${advice}`;
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  if (major > neededNode.major || (major === neededNode.major && minor >= neededNode.minor)) return undefined;
  return `Node ${version} on PATH is too old to run the project, which needs ${needed}: ${advice}`;
}

async function nodeVersion(env: Io["env"]): Promise<string | undefined> {
  const inModules = join("node_modules", ".bin");
  const folders = (env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  for (const folder of folders.filter((one) => !one.endsWith(`${sep}${inModules}`))) {
    const program = join(folder, "node");
    try {
      await access(program, constants.X_OK);
      return (await promisify(execFile)(program, ["--version"], { timeout: 10_000 })).stdout.trim();
    } catch {
      // Not there, or not a program that runs: the shell would look in the next folder, too.
    }
  }
  return undefined;
}
