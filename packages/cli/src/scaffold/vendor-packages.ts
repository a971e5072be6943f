// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { copyFile, readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { UserError } from "../user-error.ts";

/** In the packed command: the SDKs of the same version, packed. */
const packedSdk = fileURLToPath(new URL("../../sdk", import.meta.url));
const ownFolder = fileURLToPath(new URL("../..", import.meta.url));
const packTool = fileURLToPath(new URL("../../../../tools/pack-cli.ts", import.meta.url));

/** Whose SDK a project needs. */
export type SdkName = "function" | "provider";

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
export async function vendorPackages(folder: string, name: SdkName, signal: AbortSignal): Promise<VendoredFiles> {
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
