// SPDX-License-Identifier: Apache-2.0

import { setTimeout } from "node:timers/promises";
import {
  buildForest,
  buildTree,
  composedState,
  packageTypes,
  referencesOf,
  type TraceNode,
  type TreeNode,
} from "@purlin/explain";
import { honoredDevelopmentOf } from "@purlin/function-runner";
import {
  createInformerPool,
  type InformerLease,
  isNoMatch,
  type KubeClient,
  type KubeReader,
} from "@purlin/kube-client";
import { conditionsOf, type KubeObject, keyOf, keyText, type TypeRef } from "@purlin/kube-objects/object";
import type { Cluster } from "../cluster/cluster-client.ts";
import type { Resource } from "../cluster/find-resource.ts";
import { byTime, type ShownEvent, seenText, toShownEvent } from "../events/event-rows.ts";
import type { Io } from "../io.ts";
import { harmlessLine } from "../terminal/harmless.ts";
import { createScreen, formatTable } from "../terminal/screen.ts";
import { createStyle, type Style } from "../terminal/style.ts";
import { renderForest } from "../tree/render-forest.ts";
import { watchComposites } from "../tree/watch-composites.ts";
import { isUserError, textOf, UserError } from "../user-error.ts";

const eventType = { apiVersion: "v1", kind: "Event" } as const;

const shown = 10;

/** What to show; without it, all claims and composite resources. */
interface TreeTarget {
  readonly resource: Resource;
  readonly objects: readonly KubeObject[];
  /** Whether one object was named: it is shown with its conditions and events. */
  readonly isOne: boolean;
}

/** Prints the trees of objects, or of all claims and composite resources and of the packages that are not healthy. */
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
  const { resource, objects, isOne } = target;
  // Of a definition with several versions, another one than its own may be asked for.
  const isComposite = (object: KubeObject): boolean => composites.has(resource) || referencesOf(object).length > 0;
  if (objects.length === 0) io.stderr.write("No resources found\n");
  else print(objects.map((object) => (isComposite(object) ? buildTree(object, composites) : lone(object))));
  const [first] = objects;
  if (isOne && first !== undefined) io.stdout.write(await story(first, client, io));
}

/** The error of a command that needs the kinds of a control plane. Only a server without the kinds runs no control plane. */
export function noControlPlane(error: unknown): Error {
  if (!isNoMatch(error) && error instanceof Error) return error;
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

/** What to watch. */
interface TraceWatch {
  readonly trace: () => Promise<readonly TraceNode[]>;
  readonly print: (nodes: readonly TraceNode[], isOne: boolean) => string;
  readonly client: KubeClient;
  readonly io: Io;
}

/** Changes within this time are printed together. */
const pauseMs = 100;

/** Prints trees, and again whenever an object in them has changed; ends when the roots are gone. Off a terminal, changed lines only. */
export async function watchTrace({ trace, print, client, io }: TraceWatch): Promise<undefined> {
  const pool = createInformerPool(client);
  const leases = new Map<string, InformerLease>();
  const screen = io.stdout.isTTY && io.env["TERM"] !== "dumb" ? createScreen(io.stdout) : undefined;
  let wake = (): void => {};
  let before: readonly string[] = [];
  try {
    for (;;) {
      const changed = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const nodes = await trace().catch((error: unknown) => {
        if (before.length > 0 && isUserError(error)) return [];
        throw error;
      });
      if (nodes.length === 0) return;
      for (const type of typesIn(nodes)) follow(type);
      const lines = print(nodes, nodes.length === 1)
        .trimEnd()
        .split("\n");
      if (screen !== undefined) screen.draw(lines);
      else for (const line of lines.filter((one) => !before.includes(one))) io.stdout.write(`${line}\n`);
      before = lines;
      await Promise.race([changed, aborted(io.signal)]);
      await setTimeout(pauseMs, undefined, { signal: io.signal });
    }
  } finally {
    await Promise.all([...leases.values()].map((lease) => lease.release()));
  }

  function follow(type: TypeRef): void {
    const key = `${type.apiVersion}/${type.kind}`;
    if (leases.has(key)) return;
    const lease = pool.acquire(type);
    leases.set(key, lease);
    lease.informer.subscribe(() => wake());
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

function typesIn(nodes: readonly TraceNode[]): readonly TypeRef[] {
  return nodes.flatMap(function typesOf({ object: { apiVersion, kind }, children }: TraceNode): TypeRef[] {
    return [{ apiVersion, kind }, ...children.flatMap(typesOf)];
  });
}
