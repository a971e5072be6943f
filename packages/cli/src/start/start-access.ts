// SPDX-License-Identifier: Apache-2.0
import { access, constants } from "node:fs/promises";
import { resolve } from "node:path";
import {
  type ClusterAccess,
  createHttpsTransport,
  createKubeClient,
  inClusterAccess,
  type KubeClient,
} from "@purlin/kube-client";
import { kubeconfigVariable, readAccess } from "../cluster/read-kubeconfig.ts";
import { explain } from "../files/read-text.ts";
import type { Io } from "../io.ts";
import { type CommandInput, textOption } from "../options/command-spec.ts";
import { textOf, UserError } from "../user-error.ts";

/** The API server to work on, and the way to it. */
interface StartAccess {
  readonly client: KubeClient;
  readonly server: string;
}

/** Connects to what --kubeconfig or $KUBECONFIG names, or to the cluster this process runs in, and checks that it answers. */
export async function openAccess(input: CommandInput, io: Io, onWarning: (text: string) => void): Promise<StartAccess> {
  const found = await findAccess(input, io);
  // Crossplane's name: it is the field manager of plain updates, and what was Crossplane's stays in one hand.
  const client = createKubeClient(createHttpsTransport(found, { userAgent: "crossplane" }), { onWarning });
  try {
    await client.raw({ method: "GET", path: "/version", signal: io.signal });
    return { client, server: found.server };
  } catch (error) {
    await client.close();
    throw new UserError(`cannot reach the API server at ${found.server}: ${textOf(error)}`, { cause: error });
  }
}

/** As Crossplane looks for it: the flag, the variable, the Pod's own cluster. */
async function findAccess(input: CommandInput, io: Io): Promise<ClusterAccess> {
  const file = textOption(input, "kubeconfig");
  try {
    if (file !== undefined) {
      await requireReadable(file, io);
      return await readAccess([resolve(io.cwd, file)], input, io);
    }
    const listed = kubeconfigVariable(io);
    if (listed !== undefined) return await readAccess(listed, input, io);
    const inCluster = await inClusterAccess(io.env);
    if (inCluster !== undefined) return inCluster;
  } catch (error) {
    throw error instanceof UserError ? error : new UserError(textOf(error), { cause: error });
  }
  throw new UserError(
    "no API server configured: use --kubeconfig FILE or $KUBECONFIG (only a Pod finds its own cluster)",
    {
      exitCode: 2,
    },
  );
}

async function requireReadable(file: string, io: Io): Promise<void> {
  await access(resolve(io.cwd, file), constants.R_OK).catch((error: unknown) => {
    throw new UserError(`cannot read --kubeconfig ${file}: ${explain(error)}`, { cause: error });
  });
}
