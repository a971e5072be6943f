// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from "@purlin/kube-objects/object";
import { type Cluster, openCluster } from "../cluster/cluster-client.ts";
import { findTargets } from "../cluster/find-targets.ts";
import { type CommandInput, isSet, textOption } from "../commands/command-spec.ts";
import { byTime, seenText, toShownEvent } from "../events/event-rows.ts";
import { fetchTarget, objectsOf } from "../get/fetch-objects.ts";
import type { Io } from "../io.ts";
import { formatTable } from "../terminal/table.ts";
import { describeText } from "./describe-text.ts";

/** `purlin describe TYPE [NAME…]` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  await using cluster = await openCluster(input, io);
  const targets = await findTargets(cluster.client, input.args, io.signal);
  const isNamed = targets.some(({ name }) => name !== undefined);
  const selection = {
    namespace: isSet(input, "allNamespaces") && !isNamed ? undefined : cluster.namespace,
    labelSelector: textOption(input, "selector"),
  };
  const texts: string[] = [];
  for (const target of targets) {
    const fetched = await fetchTarget(cluster, target, { selection, accept: "application/json", signal: io.signal });
    for (const object of objectsOf(fetched)) {
      texts.push(`${describeText(object)}${await eventsText(cluster, object, io)}`);
    }
  }
  if (texts.length === 0) io.stderr.write("No resources found\n");
  io.stdout.write(texts.join("\n\n"));
}

async function eventsText({ client }: Cluster, { metadata }: KubeObject, io: Io): Promise<string> {
  const { uid = "", namespace = "default" } = metadata;
  const fieldSelector = `involvedObject.uid=${uid}`;
  const { items } = await client.list(
    { apiVersion: "v1", kind: "Event" },
    { namespace, fieldSelector, signal: io.signal },
  );
  if (items.length === 0) return "Events:  <none>\n";
  const now = Date.now();
  const rows = items
    .map(toShownEvent)
    .sort(byTime)
    .map((event) => [`  ${event.type}`, event.reason, seenText(event, now), event.source, event.message]);
  const title = ["  Type", "Reason", "Age", "From", "Message"];
  const rule = ["  ----", "------", "----", "----", "-------"];
  return `Events:\n${formatTable([title, rule, ...rows])}\n`;
}
