// SPDX-License-Identifier: Apache-2.0
import { existsSync } from "node:fs";
import { delimiter, dirname, resolve } from "node:path";
import { accessFromKubeconfig, type ClusterAccess, checkKubeconfig, type Kubeconfig } from "@purlin/kube-client";
import { readText } from "../files/read-text.ts";
import { parseYaml } from "../files/yaml-file.ts";
import type { Io } from "../io.ts";
import { type CommandInput, textOption } from "../options/command-spec.ts";

/** The files that $KUBECONFIG lists; undefined where it is not set. */
export function kubeconfigVariable({ env, cwd }: Pick<Io, "env" | "cwd">): readonly string[] | undefined {
  const files = (env["KUBECONFIG"] ?? "").split(delimiter).filter((file) => file !== "");
  return files.length === 0 ? undefined : files.map((file) => resolve(cwd, file));
}

/** The access that kubeconfig files describe together: as kubectl has it, the first file to say something wins. */
export async function readAccess(files: readonly string[], input: CommandInput, io: Io): Promise<ClusterAccess> {
  const present = presentOf(files);
  const configs = await Promise.all(present.map((file) => readOne(file, io)));
  return accessFromKubeconfig(merge(configs), {
    file: present.join(delimiter),
    context: textOption(input, "context"),
    env: io.env,
  });
}

/** The names of the contexts in kubeconfig files, each once. */
export async function readContexts(files: readonly string[], io: Io): Promise<readonly string[]> {
  const configs = await Promise.all(presentOf(files).map((file) => readOne(file, io)));
  return [...new Set((merge(configs).contexts ?? []).map(({ name }) => name))];
}

/** kubectl skips files of a list that are missing. */
function presentOf(files: readonly string[]): readonly string[] {
  return files.length === 1 ? files : files.filter((file) => existsSync(file));
}

async function readOne(file: string, io: Io): Promise<Kubeconfig> {
  const [document] = parseYaml(await readText(file, io, { what: "kubeconfig" }), file);
  const config = checkKubeconfig(document?.value, file);
  const folder = dirname(file);
  return {
    ...config,
    clusters: (config.clusters ?? []).map((one) => ({ ...one, cluster: absolute(one.cluster, folder) })),
    users: (config.users ?? []).map((one) => ({ ...one, user: one.user && absolute(one.user, folder) })),
  };
}

const pathFields = ["certificate-authority", "client-certificate", "client-key", "tokenFile"];

/** Paths in a kubeconfig are relative to it. */
function absolute<T extends object>(entry: T, folder: string): T {
  const paths = Object.entries(entry).filter(([name, value]) => pathFields.includes(name) && value);
  return { ...entry, ...Object.fromEntries(paths.map(([name, value]) => [name, resolve(folder, String(value))])) };
}

function merge(configs: readonly Kubeconfig[]): Kubeconfig {
  const currentContext = configs.map((config) => config["current-context"]).find((name) => name);
  return {
    ...(currentContext !== undefined && { "current-context": currentContext }),
    clusters: configs.flatMap(({ clusters = [] }) => clusters),
    users: configs.flatMap(({ users = [] }) => users),
    contexts: configs.flatMap(({ contexts = [] }) => contexts),
  };
}
