// SPDX-License-Identifier: Apache-2.0
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type PurlinProcess, spawnPurlin } from "./spawn-purlin.ts";
import { type TempFolder, tempFolder } from "./temp-folder.ts";
import { type Outcome, runInProcess } from "./test-io.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** A copy of the example with claims that a test may change, in a folder where functions find the SDK. */
export function claimsExample(): TempFolder {
  const folder = tempFolder({ "package.json": '{"type":"module"}' });
  cpSync(join(root, "examples/claims"), join(folder.path, "claims"), {
    recursive: true,
    filter: (path) => !path.includes("node_modules"),
  });
  mkdirSync(join(folder.path, "node_modules/@purlin"), { recursive: true });
  symlinkSync(join(root, "packages/function-sdk"), join(folder.path, "node_modules/@purlin/function-sdk"));
  return folder;
}

/** Changes a file of the example. */
export function edit(folder: TempFolder, file: string, change: (text: string) => string): void {
  const path = join(folder.path, "claims", file);
  writeFileSync(path, change(readFileSync(path, "utf8")));
}

/** Starts `purlin up` in a folder. */
export function up(folder: TempFolder, ...args: string[]): PurlinProcess {
  return spawnPurlin(["up", ...args], { cwd: folder.path });
}

/** Runs another command in a folder. */
export function purlin(folder: TempFolder, ...args: string[]): Promise<Outcome> {
  return runInProcess(args, { cwd: folder.path });
}

/** A patch that sets the image of the claim. */
export function image(word: string): string {
  return `{"spec": {"image": "${word}"}}`;
}

/** Waits until the settings of the claim match. */
export async function untilSettings(folder: TempFolder, pattern: RegExp): Promise<void> {
  while (!pattern.test((await purlin(folder, "get", "configmap", "shop-settings", "-o", "yaml")).stdout)) {
    await setTimeout(50);
  }
}
