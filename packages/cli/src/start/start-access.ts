// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import {
  accessFromKubeconfig,
  type ClusterAccess,
  createHttpsTransport,
  createKubeClient,
  inClusterAccess,
  type KubeClient,
  type Kubeconfig,
} from "@purlin/kube-client";
import { type CommandInput, textOption } from "../commands/command-spec.ts";
import { explain } from "../files/read-text.ts";
import { parseYaml } from "../files/yaml-file.ts";
import type { Io } from "../io.ts";
import { textOf, UserError } from "../user-error.ts";

/** The API server to work on, and the way to it. */
export interface StartAccess {
  readonly client: KubeClient;
  readonly server: string;
}

/** Connects to what --kubeconfig names, or to the cluster this process runs in, and makes sure somebody answers. */
export async function openAccess(input: CommandInput, io: Io, onWarning: (text: string) => void): Promise<StartAccess> {
  const access = await findAccess(input, io);
  // Crossplane's name: it is the field manager of plain updates, and what was Crossplane's stays in one hand.
  const client = createKubeClient(createHttpsTransport(access, { userAgent: "crossplane" }), { onWarning });
  try {
    await client.raw({ method: "GET", path: "/version", signal: io.signal });
    return { client, server: access.server };
  } catch (error) {
    await client.close();
    throw new UserError(`cannot reach the API server at ${access.server}: ${textOf(error)}`, { cause: error });
  }
}

async function findAccess(input: CommandInput, io: Io): Promise<ClusterAccess> {
  const file = textOption(input, "kubeconfig");
  try {
    if (file !== undefined) return await readKubeconfig(file, input, io);
    const inCluster = await inClusterAccess(io.env);
    if (inCluster !== undefined) return inCluster;
  } catch (error) {
    throw error instanceof UserError ? error : new UserError(textOf(error), { cause: error });
  }
  throw new UserError("say which API server to work on: --kubeconfig FILE (only a Pod knows its own cluster)", {
    exitCode: 2,
  });
}

async function readKubeconfig(file: string, input: CommandInput, io: Io): Promise<ClusterAccess> {
  const path = resolve(io.cwd, file);
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    throw new UserError(`cannot read --kubeconfig ${file}: ${explain(error)}`, { cause: error });
  });
  const [document] = parseYaml(text, file);
  const config = (document?.value ?? {}) as Kubeconfig;
  return accessFromKubeconfig(config, { file: path, context: textOption(input, "context"), env: io.env });
}
