// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type CredentialsFor, credentialsFromDockerConfig, firstCredentials } from "@purlin/package-manager";
import { type CommandInput, textOption } from "../commands/command-spec.ts";
import { readText } from "../files/read-text.ts";
import type { Io } from "../io.ts";

/** The credentials of --registry-config, then those that `docker login` keeps. */
export async function findCredentials(input: CommandInput, io: Io): Promise<CredentialsFor> {
  const sources: CredentialsFor[] = [];
  const given = textOption(input, "registryConfig");
  if (given !== undefined) {
    sources.push(credentialsFromDockerConfig(await readText(given, io, { what: "registry config" }), given));
  }
  const file = dockerConfigFile(io);
  const kept = file === undefined ? undefined : await readIfThere(file);
  if (file !== undefined && kept !== undefined) sources.push(credentialsFromDockerConfig(kept, file));
  return firstCredentials(sources);
}

function dockerConfigFile({ env, cwd }: Io): string | undefined {
  const folder = env["DOCKER_CONFIG"];
  if (folder !== undefined && folder !== "") return resolve(cwd, folder, "config.json");
  const home = env["HOME"];
  return home === undefined || home === "" ? undefined : join(home, ".docker", "config.json");
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}
