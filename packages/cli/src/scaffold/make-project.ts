// SPDX-License-Identifier: Apache-2.0
import { execFile } from "node:child_process";
import { access, constants, mkdir } from "node:fs/promises";
import { delimiter, join, sep } from "node:path";
import { promisify } from "node:util";
import { writeFolder } from "../files/write-files.ts";
import type { Io } from "../io.ts";
import { createStyle } from "../terminal/style.ts";
import { type TemplateLayer, type TemplateValues, writeTemplate } from "./template.ts";
import { type SdkName, vendorPackages } from "./vendor-packages.ts";

/** A version of Node, and what it is needed for. */
interface NeededNode {
  readonly major: number;
  readonly minor: number;
  readonly to: string;
}

/** The oldest Node that runs a new project: it is the first one to run TypeScript files as they are. */
const projectNode: NeededNode = { major: 22, minor: 18, to: "run the project" };
/** The oldest Node that runs this command. */
const commandNode: NeededNode = { major: 26, minor: 0, to: "run the purlin command" };

/** Brings a Node into a project that runs all of it. */
const installWithNode = "npm install --save-dev node@26";

/** A project to make. */
interface ProjectPlan {
  /** As the user wrote it. */
  readonly folder: string;
  readonly layers: readonly TemplateLayer[];
  /** The SDK that the project is written with; that of functions unless given. */
  readonly sdk?: SdkName;
  readonly values: Omit<TemplateValues, "sdk" | "command">;
  /** Adds files that are not in the templates. */
  readonly addFiles?: (draft: string) => Promise<void>;
  /** The commands to run next, in the project's folder. */
  readonly next: readonly string[];
}

/** Makes the folder of a project, whole or not at all, and says what to do next. */
export async function makeProject(plan: ProjectPlan, io: Io): Promise<void> {
  const { folder, layers, sdk: sdkName = "function", values, addFiles, next } = plan;
  await writeFolder(folder, io, async (draft) => {
    const vendor = join(draft, "vendor");
    await mkdir(vendor);
    io.stderr.write("Packing the SDK and the purlin command; this takes a few seconds.\n");
    const { sdk, command } = await vendorPackages(vendor, sdkName, io.signal);
    await writeTemplate(draft, layers, { ...values, sdk: `file:vendor/${sdk}`, command: `file:vendor/${command}` });
    await addFiles?.(draft);
  });
  const warning = await nodeWarning(next, io.env);
  const steps =
    warning === undefined ? next : next.map((command) => (command === "npm install" ? installWithNode : command));
  io.stdout.write(nextSteps(folder === "." ? steps : [`cd ${folder}`, ...steps], { folder, name: values.name, io }));
  if (warning !== undefined) io.stderr.write(`${createStyle(io.stderr, io.env).doubtful("warning:")} ${warning}\n`);
}

function nextSteps(
  commands: readonly string[],
  { folder, name, io }: { readonly folder: string; readonly name: string; readonly io: Io },
): string {
  const style = createStyle(io.stdout, io.env);
  const lines = commands.map((command) => `  ${style.code(command)}\n`).join("");
  const made = folder === "." ? `${name} in this folder` : folder;
  return `${style.good("Created")} ${made}. Next:\n\n${lines}\nSee its README.md for more.\n`;
}

/**
 * A line for a user whose own Node cannot run the next commands of a project; undefined where it can. The Node that runs this command
 * says nothing about it: npx and npm scripts put the one of this repository first on the path.
 */
export async function nodeWarning(next: readonly string[], env: Io["env"]): Promise<string | undefined> {
  const advice = `install one from https://nodejs.org, or run "${installWithNode}" in the project`;
  const version = await nodeVersion(env);
  if (version === undefined) return `no Node found on PATH: the project needs ${nameOf(projectNode)}: ${advice}`;
  const needed = next.some((command) => command.startsWith("npx purlin ")) ? [projectNode, commandNode] : [projectNode];
  const missing = needed.find((node) => !isAtLeast(version, node));
  return missing && `Node ${version} on PATH is too old to ${missing.to}, which needs ${nameOf(missing)}: ${advice}`;
}

function nameOf({ major, minor }: NeededNode): string {
  return `Node ${minor === 0 ? major : `${major}.${minor}`} or newer`;
}

function isAtLeast(version: string, needed: NeededNode): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  return major > needed.major || (major === needed.major && minor >= needed.minor);
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
