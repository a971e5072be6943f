// SPDX-License-Identifier: Apache-2.0

import { execFile } from "node:child_process";
import { access, constants, mkdir } from "node:fs/promises";
import { basename, delimiter, join, sep } from "node:path";
import { promisify } from "node:util";
import type { CommandInput } from "../commands/command-spec.ts";
import { writeFolder } from "../files/write-folder.ts";
import type { Io } from "../io.ts";
import { createStyle } from "../terminal/style.ts";
import { UserError } from "../user-error.ts";
import { writeTemplate } from "./template.ts";
import { vendorPackages } from "./vendor-packages.ts";

/** The oldest Node that runs a new project: it is the first one to run TypeScript files as they are. */
const neededNode = { major: 22, minor: 18 } as const;

/** A name that npm, Kubernetes and file systems all take. */
const valid = /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** `purlin function init NAME` */
export async function run({ args }: CommandInput, io: Io): Promise<undefined> {
  const [folder = ""] = args;
  const name = projectName(folder);
  await writeFolder(folder, io, async (draft) => {
    const vendor = join(draft, "vendor");
    await mkdir(vendor);
    io.stderr.write("Packing the SDK and the purlin command; this takes a few seconds.\n");
    const { sdk, command } = await vendorPackages(vendor, io.signal);
    await writeTemplate(draft, { name, sdk: `file:vendor/${sdk}`, command: `file:vendor/${command}` });
  });
  io.stdout.write(nextSteps(folder, io));
  const warning = await nodeWarning(io.env);
  if (warning !== undefined) io.stderr.write(`${createStyle(io.stderr, io.env).doubtful("warning:")} ${warning}\n`);
}

function nextSteps(folder: string, io: Io): string {
  const style = createStyle(io.stdout, io.env);
  const code = (text: string): string => `  ${style.code(text)}\n`;
  return `${style.good("Made")} ${folder}. Next:

${code(`cd ${folder}`)}${code("npm install")}${code("npm test")}${code("npm start -- --insecure")}
README.md there says the rest.
`;
}

/** The name of the project in a folder. */
export function projectName(folder: string): string {
  const name = basename(folder);
  if (valid.test(name)) return name;
  const rule = "use lower-case letters, digits and dashes, beginning with a letter, at most 63, such as my-function";
  throw new UserError(`"${name}" cannot be the name of a function: ${rule}`, { exitCode: 2 });
}

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
