// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from "@purlin/kube-objects/object";
import { type Cluster, openCluster } from "../cluster/cluster-client.ts";
import { findTargets } from "../cluster/find-resource.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { growingTable } from "../terminal/table.ts";
import { UserError } from "../user-error.ts";
import { byTime, type ShownEvent, seenText, toShownEvent } from "./event-rows.ts";

const eventType = { apiVersion: "v1", kind: "Event" };

/** `purlin events [--for TYPE/NAME]` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  await using cluster = await openCluster(input, io);
  const namespace = isSet(input, "allNamespaces") ? undefined : cluster.namespace;
  const isWanted = await filterOf(cluster, input, io);
  const { items, resourceVersion } = await cluster.client.list(eventType, { namespace, signal: io.signal });
  const append = growingTable();
  const rowOf = rowsOf(namespace === undefined);
  const events = items.filter(isWanted).map(toShownEvent).sort(byTime);
  const title = [...(namespace === undefined ? ["NAMESPACE"] : []), "LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"];
  if (events.length > 0) io.stdout.write(append([title, ...events.map(rowOf)]));
  if (!isSet(input, "watch")) {
    if (events.length === 0) io.stderr.write(nothingText(namespace));
    return;
  }
  if (events.length === 0) io.stdout.write(append([title]));
  const watching = await cluster.client.watch(eventType, { namespace, resourceVersion, signal: io.signal });
  for await (const change of watching) {
    if (change.type !== "ADDED" && change.type !== "MODIFIED") continue;
    if (isWanted(change.object)) io.stdout.write(append([rowOf(toShownEvent(change.object))]));
  }
}

function rowsOf(withNamespace: boolean): (event: ShownEvent) => string[] {
  return (event) => [
    ...(withNamespace ? [event.namespace] : []),
    seenText(event, Date.now()),
    event.type,
    event.reason,
    event.object,
    event.message,
  ];
}

function nothingText(namespace: string | undefined): string {
  return namespace === undefined ? "No events found.\n" : `No events found in ${namespace} namespace.\n`;
}

/** Which events are about the object of --for, and of the types of --types. */
async function filterOf(cluster: Cluster, input: CommandInput, io: Io): Promise<(event: KubeObject) => boolean> {
  const types = textOption(input, "types")?.split(",");
  const about = textOption(input, "for");
  const [target, another] = about === undefined ? [] : await findTargets(cluster.client, [about], io.signal);
  if (about !== undefined && (target?.name === undefined || another !== undefined)) {
    throw new UserError(`--for ${about}: expected TYPE/NAME`, { exitCode: 2 });
  }
  return (event) => {
    const involved = (event["involvedObject"] ?? {}) as Readonly<Record<string, unknown>>;
    const isOfType = types === undefined || types.includes(String(event["type"]));
    if (target === undefined) return isOfType;
    return isOfType && involved["kind"] === target.resource.kind && involved["name"] === target.name;
  };
}
