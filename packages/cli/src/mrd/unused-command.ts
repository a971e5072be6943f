// SPDX-License-Identifier: Apache-2.0
import { countObjects, managedDefinitionType } from "@purlin/composition";
import type { KubeReader } from "@purlin/kube-client";
import { ageOf, controllerOf, type KubeObject, textAt } from "@purlin/kube-objects/object";
import { openCluster } from "../cluster/cluster-client.ts";
import type { Io } from "../io.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { printData, readOutput } from "../options/data-output.ts";
import { formatTable } from "../terminal/screen.ts";

/** How many kinds are counted at the same time. */
const atOnce = 8;

/** `purlin mrd unused` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const output = readOutput(input, ["table", "name", "json", "yaml"]);
  await using cluster = await openCluster(input, io);
  const unused = await unusedDefinitions(cluster.client, io.signal);
  if (output === "json" || output === "yaml") {
    const items = unused.map((mrd) => {
      const provider = controllerOf(mrd)?.name;
      return { name: mrd.metadata.name, ...(provider && { provider }), created: mrd.metadata.creationTimestamp };
    });
    return printData({ apiVersion: "cli.purlin.dev/v1", kind: "UnusedDefinitionList", items }, output, io);
  }
  if (unused.length === 0) {
    io.stderr.write("Every active managed resource definition has objects.\n");
    return;
  }
  const names = unused.map(({ metadata }) => metadata.name ?? "");
  const text = output === "name" ? names.join("\n") : formatTable([["NAME", "PROVIDER", "AGE"], ...unused.map(rowOf)]);
  io.stdout.write(`${text}\n`);
}

/** The active managed resource definitions that have no objects, by name. */
export async function unusedDefinitions(client: KubeReader, signal?: AbortSignal): Promise<readonly KubeObject[]> {
  const { items } = await client.list(managedDefinitionType, { signal });
  const active = items.filter((mrd) => textAt(mrd, ["spec", "state"]) === "Active");
  const unused: KubeObject[] = [];
  for (let at = 0; at < active.length; at += atOnce) {
    const some = active.slice(at, at + atOnce);
    // A definition has the fields of its CRD that a list needs.
    const counts = await Promise.all(some.map((mrd) => countObjects({ live: client }, mrd, signal)));
    unused.push(...some.filter((_, index) => counts[index] === 0));
  }
  return unused.toSorted((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
}

function rowOf(mrd: KubeObject): string[] {
  return [
    mrd.metadata.name ?? "",
    controllerOf(mrd)?.name ?? "<none>",
    ageOf(mrd.metadata.creationTimestamp, Date.now()),
  ];
}
