// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Json } from "./original.ts";
import { goTypesOf } from "./roots.ts";

const directory = fileURLToPath(new URL("./protobuf-fields", import.meta.url));

/** The protobuf fields of the Go types of all kinds that have a component. Needs the Go toolchain. */
export function protobufFields(schemas: Readonly<Record<string, Json>>): Json {
  const args = ["run", ".", ...goTypesOf(schemas)];
  const { status, stdout, stderr, error } = spawnSync("go", args, {
    cwd: directory,
    encoding: "utf8",
    maxBuffer: 1 << 24,
  });
  if (error) throw new Error(`cannot run go: ${error.message}. Install the Go toolchain first`, { cause: error });
  if (status !== 0) throw new Error(`the Go program in ${directory} failed: ${stderr.trim()}`);
  return JSON.parse(stdout) as Json;
}
