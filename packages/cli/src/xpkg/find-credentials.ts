// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type CredentialsFor, credentialsFromDockerConfig, firstCredentials } from "@purlin/package-manager";
import { type CommandInput, textOption } from "../commands/command-spec.ts";
import { readText } from "../files/read-text.ts";
import type { Io } from "../io.ts";
import { credentialsFromHelpers } from "./credential-helper.ts";

/** The credentials of --registry-config, then those that `docker login` keeps, in its file or in a program of the system. */
export async function findCredentials(input: CommandInput, io: Io): Promise<CredentialsFor> {
  const sources: CredentialsFor[] = [];
  const given = textOption(input, "registryConfig");
  if (given !== undefined)
    sources.push(...sourcesIn(await readText(given, io, { what: "registry config" }), given, io));
  const file = dockerConfigFile(io);
  const kept = file === undefined ? undefined : await readIfThere(file);
  if (file !== undefined && kept !== undefined) sources.push(...sourcesIn(kept, file, io));
  return firstCredentials(sources);
}

/** As Docker does: a helper is asked before the file, in which there is then often nothing but the name of the registry. */
function sourcesIn(text: string, where: string, io: Io): readonly CredentialsFor[] {
  const written = credentialsFromDockerConfig(text, where);
  return [credentialsFromHelpers(text, where, io), written];
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
