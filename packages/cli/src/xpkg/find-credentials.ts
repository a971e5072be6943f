// SPDX-License-Identifier: Apache-2.0
import { randomUUID } from "node:crypto";
import { dirname, join, resolve } from "node:path";
import { type CredentialsFor, credentialsFromDockerConfig, firstCredentials, provesToken } from "@purlin/oci";
import { kubeconfigVariable } from "../cluster/read-kubeconfig.ts";
import { type CommandInput, textOption } from "../commands/command-spec.ts";
import { readText, readTextIfThere } from "../files/read-text.ts";
import type { Io } from "../io.ts";
import { currentDataDir } from "../project/data-dir.ts";
import { dockerConfigPath } from "../project/docker-config.ts";
import { credentialsFromHelpers } from "./credential-helper.ts";

/**
 * The credentials of --registry-config, then those that `docker login` keeps, in its file or in a program of the system, then the token
 * of the registry of `purlin up`.
 */
export async function findCredentials(input: CommandInput, io: Io): Promise<CredentialsFor> {
  const sources: CredentialsFor[] = [];
  const given = textOption(input, "registryConfig");
  if (given !== undefined)
    sources.push(...sourcesIn(await readText(given, io, { what: "registry config" }), given, io));
  const file = dockerConfigFile(io);
  const kept = file === undefined ? undefined : await readTextIfThere(file, file);
  if (file !== undefined && kept !== undefined) sources.push(...sourcesIn(kept, file, io));
  return firstCredentials([...sources, ...ownRegistries(input, io)]);
}

/** The registries of the control planes that a command can mean: the one of its data directory, and the one of $KUBECONFIG. */
function ownRegistries(input: CommandInput, io: Io): readonly CredentialsFor[] {
  const folders = [currentDataDir(input, io), ...(kubeconfigVariable(io) ?? []).map((path) => dirname(path))];
  return [...new Set(folders)].map((folder) => ownRegistry(dockerConfigPath(folder)));
}

/** Looked up only for a registry that asks for credentials, and given only to one that proves that it has the token itself. */
function ownRegistry(file: string): CredentialsFor {
  return async (source) => {
    const text = await readTextIfThere(file, file).catch(() => undefined);
    const found = text === undefined ? undefined : credentialsFromDockerConfig(text, file)(source);
    if (found?.password === undefined) return undefined;
    const address = source.split("/", 1)[0] ?? "";
    return (await provesToken(address, found.password, randomUUID())) ? found : undefined;
  };
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
