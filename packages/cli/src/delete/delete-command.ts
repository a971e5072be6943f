// SPDX-License-Identifier: Apache-2.0
import { setTimeout } from "node:timers/promises";
import { isNotFound } from "@purlin/kube-objects";
import { openCluster } from "../cluster/cluster-client.ts";
import { findResource, pathOf } from "../cluster/find-resource.ts";
import { type CommandInput, textOption } from "../commands/command-spec.ts";
import { readTimeout } from "../commands/duration.ts";
import type { Io } from "../io.ts";
import { textOf, UserError } from "../user-error.ts";

const pollMs = 50;

/** `purlin delete TYPE NAME` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const [type = "", name = ""] = input.args;
  const waitMs = readTimeout(textOption(input, "timeout") ?? "30s");
  await using cluster = await openCluster(input, io);
  const { client } = cluster;
  const resource = await findResource(client, type, io.signal);
  const path = pathOf(resource, { namespace: textOption(input, "namespace") ?? cluster.namespace, name });
  const title = `${resource.kind} ${name}`;
  await client.raw({ method: "DELETE", path, signal: io.signal }).catch((error: unknown) => {
    const hint = isNotFound(error) && resource.namespaced ? ": check the name and --namespace" : "";
    throw new UserError(`${textOf(error)}${hint}`, { cause: error });
  });
  const limit = performance.now() + waitMs;
  while (await exists(() => client.raw({ method: "GET", path, signal: io.signal }))) {
    if (performance.now() > limit) {
      throw new UserError(`${title} is being deleted but is still there: its finalizers say who holds it`);
    }
    await setTimeout(pollMs, undefined, { signal: io.signal });
  }
  io.stdout.write(`${title} deleted\n`);
}

async function exists(get: () => Promise<unknown>): Promise<boolean> {
  try {
    await get();
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
