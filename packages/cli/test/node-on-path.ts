// SPDX-License-Identifier: Apache-2.0
import { chmodSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import type { TempFolder } from "./temp-folder.ts";

/** A PATH whose first Node calls itself the given version, and runs programs as the Node of this test does. */
export function pathWithNode(folder: TempFolder, version: string): string {
  const script = `#!/bin/sh\n[ "$1" = --version ] && echo ${version} && exit\nexec "${process.execPath}" "$@"\n`;
  const program = folder.write("node-on-path/node", script);
  chmodSync(program, 0o755);
  return `${dirname(program)}:${process.env["PATH"]}`;
}
