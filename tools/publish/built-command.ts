// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { buildCli } from "../pack-cli.ts";
import { root } from "./build-package.ts";

// Inside the repository, so that the command finds the packages it depends on.
const folder = join(root, ".cache/built");

let built: string | undefined;

/** The folder with the command as it is published, built from the current sources. Equal sources are built once. */
export function builtFolder(): string {
  built ??= join(folder, `purlin-${hashOfSources()}`);
  if (!existsSync(built)) build(built);
  return built;
}

/** The launcher of the command in that folder. */
export const builtCommand = (): string => join(builtFolder(), "bin/purlin.js");

const dayMs = 24 * 60 * 60 * 1000;

function build(target: string): void {
  mkdirSync(folder, { recursive: true });
  // Builds of earlier sources. A suite that still runs one is younger than a day.
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (Date.now() - statSync(path).mtimeMs > dayMs) rmSync(path, { recursive: true, force: true });
  }
  const stage = mkdtempSync(join(folder, "stage-"));
  try {
    buildCli(stage);
    renameSync(stage, target);
  } catch (error) {
    rmSync(stage, { recursive: true, force: true });
    // Another run has built the same sources in the meantime.
    if (!existsSync(target)) throw error;
  }
}

function hashOfSources(): string {
  const hash = createHash("sha256");
  const patterns = [
    "package-lock.json",
    "packages/*/package.json",
    "packages/cli/{bin,template}/**",
    "packages/*/src/**",
    // What builds it.
    "tools/{pack-cli,man-pages}.ts",
    "tools/publish/**",
  ];
  const files = globSync(patterns, { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".test.ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  for (const file of files)
    hash
      .update(`${file.slice(root.length)}\0`)
      .update(readFileSync(file))
      .update("\0");
  return hash.digest("hex").slice(0, 16);
}
