// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { copyFile, readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { UserError } from "../user-error.ts";

/** In the published command: the SDK of the same version, packed. */
const packed = fileURLToPath(new URL("../../sdk", import.meta.url));
const packTool = fileURLToPath(new URL("../../../../tools/pack-sdk.ts", import.meta.url));

/**
 * Puts a packed copy of the SDK into a folder and returns its file name. In the repository it is packed from the sources by the
 * tool that packs it for publishing, in a process of its own because it runs a compiler; a published command brings it along.
 */
export async function vendorSdk(folder: string, signal: AbortSignal): Promise<string> {
  const [ready] = existsSync(packed) ? await readdir(packed) : [];
  if (ready !== undefined) {
    await copyFile(join(packed, ready), join(folder, ready));
    return ready;
  }
  if (!existsSync(packTool)) {
    throw new UserError("the SDK can only be packed in the repository: run purlin from there, with npx purlin");
  }
  const child = spawn(process.execPath, [packTool, folder], { stdio: ["ignore", "pipe", "pipe"], signal });
  const [stdout, stderr, [exitCode]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  if (exitCode === 0) return basename(stdout.trim());
  throw new UserError(`cannot pack the SDK: ${firstLine(stderr)}: run "npm ci" in the repository and try again`);
}

function firstLine(output: string): string {
  const lines = output.split("\n").map((line) => line.trim());
  return lines.find((line) => line.startsWith("Error")) ?? lines.find((line) => line !== "") ?? "it gave no reason";
}
