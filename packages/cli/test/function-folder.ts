// SPDX-License-Identifier: Apache-2.0
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { TempFolder } from "@purlin/base/testing/temp-folder";
import { functionProject } from "@purlin/oci/testing";
import { type PurlinProcess, spawnPurlin } from "./spawn-purlin.ts";
import { type Outcome, runInProcess } from "./test-io.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** A copy of the example with claims that a test may change, in a folder where functions find the SDK. */
export function claimsExample(): TempFolder {
  const folder = functionProject({});
  cpSync(join(root, "examples/claims"), join(folder.path, "claims"), {
    recursive: true,
    filter: (path) => !path.includes("node_modules"),
  });
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

/** The metadata of a package. */
export function packageMeta(name = "function-hello", kind = "Function"): string {
  return `apiVersion: meta.pkg.crossplane.io/v1\nkind: ${kind}\nmetadata: {name: ${name}}\n`;
}

/** A project as `purlin function init` makes it, with more files by name. */
export function functionPackage(files: Readonly<Record<string, string>> = {}): TempFolder {
  return functionProject({
    "package.json": '{"type": "module", "exports": "./src/function.ts"}',
    "src/function.ts":
      'import { response } from "@purlin/function-sdk";\nexport default (req: never) => response.to(req);\n',
    "package/crossplane.yaml": packageMeta(),
    ...files,
  });
}
