// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import { cacheDirectory } from "../../../tools/peers/cache-directory.ts";
import { runCommand } from "./command.ts";

const directory = join(import.meta.dirname, "..", "programs", "go-clients");

let building: Promise<string> | undefined;

/** The program of `programs/go-clients`, built by the first caller. */
export function goClients(): Promise<string> {
  building ??= build();
  return building;
}

async function build(): Promise<string> {
  const program = join(cacheDirectory, "..", "conformance", "go-clients");
  const args = ["-n", "10", "go", "build", "-p", "2", "-o", program, "."];
  const { exitCode, stderr } = await runCommand({ program: "nice", args, directory, patienceMs: 600_000 });
  if (exitCode !== 0) throw new Error(`cannot build ${directory}: ${stderr}`);
  return program;
}
