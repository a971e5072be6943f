// SPDX-License-Identifier: Apache-2.0

import { type TraceNode, traceTree } from "@purlin/explain";
import { printJson } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type Cluster, openCluster } from "../cluster/cluster-client.ts";
import { findTargets, type Target } from "../cluster/find-resource.ts";
import { printYaml } from "../files/yaml-file.ts";
import { harmlessJson } from "../harmless.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, parseDuration, textOption } from "../options/command-spec.ts";
import { growingTable } from "../terminal/screen.ts";
import { UserError } from "../user-error.ts";
import { byTime, type ShownEvent, seenText, toShownEvent } from "./event-rows.ts";

const eventType = { apiVersion: "v1", kind: "Event" };
const formats = ["table", "json", "yaml", "name"];

/** `purlin events [--for TYPE/NAME]` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const output = textOption(input, "output") ?? "table";
  if (!formats.includes(output)) {
    throw new UserError(`--output ${output}: expected ${formats.join(", ")}`, { exitCode: 2 });
  }
  const isRecent = sinceFilter(input);
  const isListed = wordFilter(input);
  await using cluster = await openCluster(input, io);
  const isAbout = await subjectFilter(cluster, input, io);
  const isWanted = (event: KubeObject): boolean => isListed(event) && isAbout(event) && isRecent(event);
  // What is below an object may be in other namespaces.
  const namespace = isSet(input, "allNamespaces") || isSet(input, "below") ? undefined : cluster.namespace;
  const { items, resourceVersion } = await cluster.client.list(eventType, { namespace, signal: io.signal });
  const events = items.filter(isWanted).sort((a, b) => byTime(toShownEvent(a), toShownEvent(b)));
  const printer = createPrinter(output, { withNamespace: namespace === undefined, io });
  printer.list(events, isSet(input, "watch"));
  if (!isSet(input, "watch")) {
    if (events.length === 0) io.stderr.write(nothingText(namespace));
    return;
  }
  const watching = await cluster.client.watch(eventType, { namespace, resourceVersion, signal: io.signal });
  for await (const change of watching) {
    if (change.type !== "ADDED" && change.type !== "MODIFIED") continue;
    if (isWanted(change.object)) printer.one(change.object);
  }
}

interface EventPrinter {
  list(events: readonly KubeObject[], isWatching: boolean): void;
  one(event: KubeObject): void;
}

function createPrinter(
  output: string,
  { withNamespace, io }: { readonly withNamespace: boolean; readonly io: Io },
): EventPrinter {
  if (output === "table") return tablePrinter(withNamespace, io);
  const one = (event: KubeObject): void => {
    const object = { ...event, ...eventType };
    if (output === "name") io.stdout.write(`event/${event.metadata.name ?? ""}\n`);
    else if (output === "json") io.stdout.write(`${harmlessJson(printJson(object))}\n`);
    else io.stdout.write(`---\n${printYaml(object)}`);
  };
  return {
    one,
    list(events, isWatching) {
      if (output === "name" || isWatching) {
        for (const event of events) one(event);
        return;
      }
      const items = events.map((event) => ({ ...event, ...eventType }));
      const document = { apiVersion: "v1", kind: "EventList", items };
      if (output === "json") io.stdout.write(`${harmlessJson(printJson(document, { indent: 2 }))}\n`);
      else io.stdout.write(printYaml(document));
    },
  };
}

function tablePrinter(withNamespace: boolean, io: Io): EventPrinter {
  const append = growingTable();
  const rowOf = rowsOf(withNamespace);
  const title = [...(withNamespace ? ["NAMESPACE"] : []), "LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"];
  return {
    one: (event) => io.stdout.write(append([rowOf(toShownEvent(event))])),
    list(events, isWatching) {
      if (events.length > 0) io.stdout.write(append([title, ...events.map((event) => rowOf(toShownEvent(event)))]));
      else if (isWatching) io.stdout.write(append([title]));
    },
  };
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

function sinceFilter(input: CommandInput): (event: KubeObject) => boolean {
  const text = textOption(input, "since");
  if (text === undefined) return () => true;
  const ms = parseDuration(text);
  if (ms === undefined) {
    throw new UserError(`--since: expected a duration such as 30m or 1h, not "${text}"`, { exitCode: 2 });
  }
  const since = Date.now() - ms;
  return (event) => toShownEvent(event).last >= since;
}

const eventTypes = ["Normal", "Warning"];

/** Which events have the types of --types and the reasons of --reasons. */
function wordFilter(input: CommandInput): (event: KubeObject) => boolean {
  const types = textOption(input, "types")?.split(",");
  const unknown = types?.find((type) => !eventTypes.includes(type));
  if (unknown !== undefined)
    throw new UserError(`--types ${unknown}: expected ${eventTypes.join(" or ")}`, { exitCode: 2 });
  const reasons = textOption(input, "reasons")?.split(",");
  return (event) =>
    (types === undefined || types.includes(String(event["type"]))) &&
    (reasons === undefined || reasons.includes(String(event["reason"])));
}

/** Which events are about the object of --for, and with --below also about what is below it. */
async function subjectFilter(cluster: Cluster, input: CommandInput, io: Io): Promise<(event: KubeObject) => boolean> {
  const about = textOption(input, "for");
  if (about === undefined) {
    if (isSet(input, "below")) throw new UserError("--below: specify the object with --for", { exitCode: 2 });
    return () => true;
  }
  const [target, another] = await findTargets(cluster.client, [about], io.signal);
  if (target?.name === undefined || another !== undefined) {
    throw new UserError(`--for ${about}: expected TYPE/NAME`, { exitCode: 2 });
  }
  const keys = isSet(input, "below") ? await keysBelow(target, cluster, io) : undefined;
  return (event) => {
    const { kind, name, namespace } = (event["involvedObject"] ?? {}) as Readonly<Record<string, string | undefined>>;
    if (keys !== undefined) return keys.has(keyOf({ kind, name, namespace }));
    return kind === target.resource.kind && name === target.name;
  };
}

/** The object and everything below it when the command starts. */
async function keysBelow({ resource, name = "" }: Target, cluster: Cluster, io: Io): Promise<ReadonlySet<string>> {
  const { client, namespace } = cluster;
  const { signal } = io;
  const place = { name, namespace: resource.namespaced ? namespace : undefined };
  const tree = await traceTree(await client.get(resource, place, { signal }), { client, signal });
  const keys = new Set<string>();
  const visit = ({ object: { kind, metadata }, children }: TraceNode): void => {
    keys.add(keyOf({ kind, name: metadata.name, namespace: metadata.namespace }));
    for (const child of children) visit(child);
  };
  visit(tree);
  return keys;
}

const keyOf = ({ kind = "", name = "", namespace = "" }: Readonly<Record<string, string | undefined>>): string =>
  `${kind}\n${namespace}\n${name}`;
