// SPDX-License-Identifier: Apache-2.0
import { buildForest, buildTree, composedState, packageTypes, referencesOf, type TreeNode } from "@purlin/explain";
import { honoredDevelopmentOf } from "@purlin/function-runner";
import { createInformerPool, type KubeReader } from "@purlin/kube-client";
import { conditionsOf, type KubeObject, keyOf, keyText } from "@purlin/kube-objects/object";
import type { Cluster } from "../cluster/cluster-client.ts";
import type { Resource } from "../cluster/find-resource.ts";
import { byTime, type ShownEvent, seenText, toShownEvent } from "../events/event-rows.ts";
import type { Io } from "../io.ts";
import { harmlessLine } from "../terminal/harmless.ts";
import { createStyle, type Style } from "../terminal/style.ts";
import { formatTable } from "../terminal/table.ts";
import { renderForest } from "../tree/render-forest.ts";
import { watchComposites } from "../tree/watch-composites.ts";
import { textOf, UserError } from "../user-error.ts";

const eventType = { apiVersion: "v1", kind: "Event" } as const;

const shown = 10;

/** An object to show with its conditions and events; all claims and composite resources without one. */
interface TreeTarget {
  readonly resource: Resource;
  readonly object: KubeObject;
}

/** Prints the tree of an object, or of all claims and composite resources and of the packages that are not healthy. */
export async function printTree(target: TreeTarget | undefined, { client }: Cluster, io: Io): Promise<void> {
  await using composites = watchComposites(createInformerPool(client), () => {});
  await composites.ready(io.signal).catch((error: unknown) => {
    throw noControlPlane(error);
  });
  const style = createStyle(io.stdout, io.env);
  const print = (nodes: readonly TreeNode[]): void => io.stdout.write(`${renderForest(nodes, style).join("\n")}\n`);
  if (target === undefined) {
    const forest = [...buildForest(composites), ...(await brokenPackages(client, io.signal))];
    if (forest.length === 0) io.stderr.write("No claims or composite resources found.\n");
    else print(forest);
    return;
  }
  const { resource, object } = target;
  // Of a definition with several versions, another one than its own may be asked for.
  const isComposite = composites.has(resource) || referencesOf(object).length > 0;
  print([isComposite ? buildTree(object, composites) : lone(object)]);
  io.stdout.write(await story(object, client, io));
}

/** The error of a command that needs the kinds of a control plane. */
export function noControlPlane(error: unknown): UserError {
  const advice = "start one with purlin up or purlin start";
  return new UserError(`the API server runs no control plane: ${textOf(error)}: ${advice}`, { cause: error });
}

/** Packages that are not healthy: what they keep from composing may not say so itself. */
async function brokenPackages(client: KubeReader, signal: AbortSignal): Promise<TreeNode[]> {
  const lists = await Promise.all(packageTypes.map((type) => client.list(type, { signal })));
  const nodes = lists.flatMap(({ items }) => items.filter(isFollowed).map(lone));
  return nodes.filter(({ state }) => state.health !== "ready");
}

/** Whether a package reports its state: a Function that another program serves has no conditions. */
export function isFollowed(object: KubeObject): boolean {
  if (object.kind !== "Function" || conditionsOf(object).some(({ type }) => type === "Development")) return true;
  return honoredDevelopmentOf(object, {})?.kind !== "target";
}

/** Any other object composes nothing, and is as ready as it says itself. */
function lone(object: KubeObject): TreeNode {
  const reference = { apiVersion: object.apiVersion, kind: object.kind, ...keyOf(object) };
  const title = `${object.kind} ${keyText(reference)}`;
  return { object: reference, title, state: composedState(object), children: [] };
}

async function story(object: KubeObject, client: Parameters<typeof recentEvents>[0], io: Io): Promise<string> {
  const style = createStyle(io.stdout, io.env);
  const events = await recentEvents(client, object, io.signal);
  return [conditionsTable(object, style), eventsTable(events, style, Date.now())]
    .filter((part) => part !== "")
    .map((part) => `\n${part}\n`)
    .join("");
}

/** The conditions of an object; empty when it has none. */
function conditionsTable(object: KubeObject, style: Style): string {
  const rows = conditionsOf(object).map(({ type, status, reason, message }) => [
    harmlessLine(type),
    status === "True" ? style.good(status) : status === "False" ? style.bad(status) : style.doubtful(status),
    harmlessLine(reason),
    harmlessLine(message ?? ""),
  ]);
  return rows.length === 0 ? "" : formatTable([["CONDITION", "STATUS", "REASON", "MESSAGE"], ...rows]);
}

/** The last events of an object, newest last. */
export async function recentEvents(
  client: KubeReader,
  object: KubeObject,
  signal: AbortSignal,
): Promise<readonly ShownEvent[]> {
  const { uid = "", namespace = "default" } = object.metadata;
  const fieldSelector = `involvedObject.uid=${uid}`;
  const { items } = await client.list(eventType, { namespace, fieldSelector, signal });
  return merged(items.map(toShownEvent)).toSorted(byTime).slice(-shown);
}

/** A control plane that was restarted reports what it reported before in another event: those that say the same are one. */
function merged(events: readonly ShownEvent[]): ShownEvent[] {
  const texts = Map.groupBy(events, ({ type, reason, source, message }) => [type, reason, source, message].join("\n"));
  return [...texts.values()].flatMap((same) => {
    const newest = same.toSorted(byTime).at(-1);
    if (newest === undefined) return [];
    const count = same.reduce((sum, one) => sum + one.count, 0);
    return [{ ...newest, count, first: Math.min(...same.map(({ first }) => first)) }];
  });
}

/** Events as a table; empty without events. */
export function eventsTable(events: readonly ShownEvent[], style: Style, now: number): string {
  const rows = events.map((event) => [
    event.type === "Warning" ? style.bad(event.type) : event.type,
    harmlessLine(event.reason),
    seenText(event, now),
    harmlessLine(event.message),
  ]);
  return rows.length === 0 ? "" : formatTable([["EVENT", "REASON", "AGE", "MESSAGE"], ...rows]);
}
