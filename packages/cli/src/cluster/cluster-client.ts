// SPDX-License-Identifier: Apache-2.0
import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import {
  accessFromKubeconfig,
  createHttpsTransport,
  createKubeClient,
  type KubeClient,
  type Kubeconfig,
} from "@purlin/kube-client";
import { commandName } from "../command-name.ts";
import { type CommandInput, textOption } from "../commands/command-spec.ts";
import { readText } from "../files/read-text.ts";
import { parseYaml } from "../files/yaml-file.ts";
import type { Io } from "../io.ts";
import { textOf, UserError } from "../user-error.ts";
import { defaultDataDir } from "./cluster-options.ts";

/** The API server a command talks to, and the namespace it means when none is named. */
export interface Cluster extends AsyncDisposable {
  readonly client: KubeClient;
  readonly namespace: string;
}

/** Connects to the control plane of `purlin up`, or to what --kubeconfig names. */
export async function openCluster(input: CommandInput, io: Io): Promise<Cluster> {
  const file = kubeconfigFile(input, io);
  try {
    const text = await readText(file, io, { what: "kubeconfig" });
    const [document] = parseYaml(text, file);
    const access = await accessFromKubeconfig((document?.value ?? {}) as Kubeconfig, {
      file,
      context: textOption(input, "context"),
      env: io.env,
    });
    const client = createKubeClient(createHttpsTransport(access), { onWarning: warnOnce(io) });
    const mine = textOption(input, "kubeconfig") === undefined;
    await reach(client, { file, server: access.server, mine, io });
    return { client, namespace: access.namespace ?? "default", [Symbol.asyncDispose]: () => client.close() };
  } catch (error) {
    throw error instanceof UserError ? error : new UserError(textOf(error), { cause: error });
  }
}

/** The same warning comes with every object of a kind. */
function warnOnce(io: Io): (text: string) => void {
  const told = new Set<string>();
  return (text) => {
    if (!told.has(text)) io.stderr.write(`warning: ${text}\n`);
    told.add(text);
  };
}

function kubeconfigFile(input: CommandInput, io: Io): string {
  const given = textOption(input, "kubeconfig");
  const directory = textOption(input, "dataDir") ?? defaultDataDir;
  const file = resolve(io.cwd, given ?? join(directory, "kubeconfig"));
  if (existsSync(file)) return file;
  const shown = relative(io.cwd, file);
  const start = `start a control plane with "${commandName(io.env)} up", or name another with --kubeconfig`;
  throw new UserError(`there is no ${shown}: ${given === undefined ? start : "check the path"}`);
}

interface Reaching {
  readonly file: string;
  readonly server: string;
  /** Whether the file is that of `purlin up`, and not one that the user named. */
  readonly mine: boolean;
  readonly io: Io;
}

/** Says who is missing before a command fails in the middle of its work. */
async function reach(client: KubeClient, { file, server, mine, io }: Reaching): Promise<void> {
  try {
    await client.raw({ method: "GET", path: "/version", signal: io.signal });
  } catch (error) {
    await client.close();
    const shown = relative(io.cwd, file);
    const advice = mine
      ? `is the control plane of ${shown} running? start it with "${commandName(io.env)} up"`
      : `check server and credentials in ${shown}`;
    throw new UserError(`cannot reach ${server}: ${textOf(error)}: ${advice}`, { cause: error });
  }
}
