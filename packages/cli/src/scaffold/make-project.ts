// SPDX-License-Identifier: Apache-2.0
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { access, constants, copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, delimiter, dirname, join, relative, sep } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { writeFolder } from "../files/write-files.ts";
import type { Io } from "../io.ts";
import { createStyle } from "../terminal/style.ts";
import { UserError } from "../user-error.ts";

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

/** The platforms whose Node is among the optional dependencies of a new project, which then needs no other one. */
const broughtPlatforms: ReadonlySet<string> = new Set(["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"]);

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
    if (!hasGlibc()) await leaveOutNode(join(draft, "package.json"));
    await addFiles?.(draft);
  });
  const warning = bringsNode() ? undefined : await nodeWarning(next, io.env);
  io.stdout.write(nextSteps(folder === "." ? next : [`cd ${folder}`, ...next], { folder, name: values.name, io }));
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

/** Whether the Node that new projects bring along runs on this machine. */
function bringsNode(): boolean {
  return broughtPlatforms.has(`${process.platform}-${process.arch}`) && hasGlibc();
}

/** Whether programs that need glibc run here, as the Node of new projects does on Linux. Packages for npm do not say that they need it. */
function hasGlibc(): boolean {
  return process.platform !== "linux" || "glibcVersionRuntime" in (process.report.getReport() as Report).header;
}

interface Report {
  readonly header: object;
}

/**
 * A line for a user whose own Node cannot run the next commands of a project; undefined where it can. The Node that runs this command
 * does not show it: npx and npm scripts put the one of this repository first on the path.
 */
export async function nodeWarning(next: readonly string[], env: Io["env"]): Promise<string | undefined> {
  const advice = "install one from https://nodejs.org";
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

/** In the packed command: the SDKs of the same version, packed. */
const packedSdk = fileURLToPath(new URL("../../sdk", import.meta.url));
const ownFolder = fileURLToPath(new URL("../..", import.meta.url));
const packTool = fileURLToPath(new URL("../../../../tools/pack-cli.ts", import.meta.url));

/** Whose SDK a project needs. */
type SdkName = "function" | "provider";

/** The names of the files that were put into a folder. */
interface VendoredFiles {
  readonly sdk: string;
  readonly command: string;
}

/**
 * Puts packed copies of an SDK and of this command into a folder. In the repository they are packed from the sources by the
 * tool that packs them for publishing, in a process of its own because it runs a compiler. A command that was installed from
 * a file brings the SDKs along and packs itself.
 */
async function vendorPackages(folder: string, name: SdkName, signal: AbortSignal): Promise<VendoredFiles> {
  const packed = existsSync(packedSdk) ? await readdir(packedSdk) : [];
  const sdk = packed.find((file) => file.startsWith(`purlin-${name}-sdk-`));
  if (sdk !== undefined) {
    await copyFile(join(packedSdk, sdk), join(folder, sdk));
    const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
    const output = await run("npm", args, { cwd: ownFolder, signal });
    const [own] = JSON.parse(output) as { readonly filename: string }[];
    return { sdk, command: own?.filename ?? "" };
  }
  if (!existsSync(packTool)) throw new UserError("this copy of purlin is incomplete: reinstall it");
  const output = await run(process.execPath, [packTool, folder, "--with-sdk", name], { signal });
  const [command = "", ownSdk = ""] = output.trim().split("\n");
  return { command: basename(command), sdk: basename(ownSdk) };
}

async function run(
  program: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly signal: AbortSignal },
): Promise<string> {
  const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr, [exitCode]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  if (exitCode === 0) return stdout;
  throw new UserError(
    `cannot pack the SDK and the command: ${firstLine(stderr)}: run "npm ci" in the repository and try again`,
  );
}

function firstLine(output: string): string {
  const lines = output.split("\n").map((line) => line.trim());
  return lines.find((line) => line.startsWith("Error")) ?? lines.find((line) => line !== "") ?? "no reason given";
}

const templateFolder = fileURLToPath(new URL("../../template", import.meta.url));

/** npm leaves some files whose names begin with a dot out of packages, so the templates have them without it. */
const renamed: Readonly<Record<string, string>> = { gitignore: ".gitignore", npmrc: ".npmrc", vscode: ".vscode" };

/** A folder of the templates: what all projects have, a function alone, a platform, or a provider. A later layer replaces files of an earlier one. */
type TemplateLayer = "common" | "function" | "platform" | "provider";

/** What replaces `__NAME__` and so on in the templates. */
interface TemplateValues {
  readonly name: string;
  /** The name of the Function, in a project that has one. */
  readonly function?: string;
  /** What package.json says after the SDK's name. */
  readonly sdk: string;
  /** What package.json says after the name of this command. */
  readonly command: string;
  /** The kind that a platform offers, with its names. */
  readonly kind?: string;
  readonly singular?: string;
  readonly plural?: string;
  readonly group?: string;
}

/** Writes the files of a new project. */
export async function writeTemplate(
  folder: string,
  layers: readonly TemplateLayer[],
  values: TemplateValues,
): Promise<void> {
  const texts = new Map(Object.entries(values).map(([name, value]) => [`__${name.toUpperCase()}__`, String(value)]));
  for (const layer of layers) {
    const root = join(templateFolder, layer);
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((one) => one.isFile())) {
      const source = join(entry.parentPath, entry.name);
      const target = join(folder, projectPath(relative(root, source)));
      const text = await readFile(source, "utf8");
      await mkdir(dirname(target), { recursive: true });
      await writeFile(
        target,
        text.replaceAll(/__[A-Z]+__/g, (gap) => texts.get(gap) ?? gap),
      );
    }
  }
}

/** Makes the scripts of a project run on the user's own Node. Where there is no glibc, npm would put one before it that does not start. */
export async function leaveOutNode(manifest: string): Promise<void> {
  const { optionalDependencies: _, ...rest } = JSON.parse(await readFile(manifest, "utf8")) as Record<string, unknown>;
  await writeFile(manifest, `${JSON.stringify(rest, undefined, 2)}\n`);
}

function projectPath(path: string): string {
  const [first = "", ...rest] = path.split(sep);
  return join(renamed[first] ?? first, ...rest);
}

/** Whether npm, Kubernetes and file systems all accept a name. */
export function isProjectName(name: string): boolean {
  return /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name);
}

/** The name of the function or provider project in a folder. */
export function projectName(folder: string, what: "function" | "provider" = "function"): string {
  const name = basename(folder);
  if (isProjectName(name)) return name;
  const rule = "use at most 63 lower-case letters, digits and dashes, starting with a letter";
  throw new UserError(`invalid ${what} name "${name}": ${rule}, such as my-${what}`, { exitCode: 2 });
}
