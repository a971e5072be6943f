// SPDX-License-Identifier: Apache-2.0

import { buildForest, buildTree, composedState, packageTypes, referencesOf, type TreeNode } from "@purlin/explain";
import { honoredDevelopmentOf } from "@purlin/function-runner";
import {
  createInformerPool,
  type Informer,
  isNoMatch,
  type KubeReader,
  type ListOptions,
  startInformer,
} from "@purlin/kube-client";
import { conditionsOf, type KubeObject, keyOf, keyText } from "@purlin/kube-objects/object";
import type { Resource } from "../cluster/find-resource.ts";
import { byTime, type ShownEvent, seenText, toShownEvent } from "../events/event-rows.ts";
import { harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { formatTable } from "../terminal/screen.ts";
import { createStyle, type Style } from "../terminal/style.ts";
import { renderForest } from "../tree/render-forest.ts";
import { watchComposites } from "../tree/watch-composites.ts";
import { textOf, UserError } from "../user-error.ts";
import type { Look } from "./watch-trace.ts";

const eventType = { apiVersion: "v1", kind: "Event" } as const;

const shown = 10;

/** What to show; without it, all claims and composite resources. */
export interface TreeTarget {
  readonly resource: Resource;
  readonly objects: readonly KubeObject[];
  /** Whether one object was named: it is shown with its conditions and events. */
  readonly isOne: boolean;
}

/** Prints trees of claims and composite resources that are kept up to date, and of other objects. */
interface TreePrinter extends AsyncDisposable {
  /** The trees of objects, or of all claims and composite resources and of the packages that are not healthy; undefined without any. */
  print(target: TreeTarget | undefined): Promise<Look | undefined>;
}

/** Reads all claims and composite resources. With `onChange`, which is called when trees or events may have changed, events are followed, too. */
export async function openTrees(client: KubeReader, io: Io, onChange?: () => void): Promise<TreePrinter> {
  const { signal } = io;
  const style = createStyle(io.stdout, io.env);
  const composites = watchComposites(createInformerPool(client), () => onChange?.());
  let events: Informer | undefined;
  try {
    await composites.ready(signal);
  } catch (error) {
    await composites[Symbol.asyncDispose]();
    throw noControlPlane(error);
  }
  return {
    async print(target) {
      // Nothing that exists is called missing. Kinds may vanish meanwhile; if the server has, the next read says so.
      await composites.ready(signal).catch(() => signal.throwIfAborted());
      const nodes = target === undefined ? await allTrees() : target.objects.map((object) => treeOf(object, target));
      if (nodes.length === 0) return undefined;
      const [lines, types] = [renderForest(nodes, style), target === undefined ? packageTypes : [target.resource]];
      const [first] = target?.isOne === true ? target.objects : [];
      if (first === undefined) return { text: `${lines.join("\n")}\n`, types };
      if (onChange !== undefined) events ??= followEvents(first, onChange);
      const shownEvents = await recentEvents(client, first, signal);
      const text = `${lines.join("\n")}\n${story(first, shownEvents, style)}`;
      return { text, types, compared: JSON.stringify([lines, conditionsOf(first), shownEvents]) };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([composites[Symbol.asyncDispose](), events?.stop()]);
    },
  };

  async function allTrees(): Promise<readonly TreeNode[]> {
    return [...buildForest(composites), ...(await brokenPackages(client, signal))];
  }

  function treeOf(object: KubeObject, { resource }: TreeTarget): TreeNode {
    // Of a definition with several versions, another one than its own may be asked for.
    const isComposite = composites.has(resource) || referencesOf(object).length > 0;
    return isComposite ? buildTree(object, composites) : lone(object);
  }

  function followEvents(object: KubeObject, onEvent: () => void): Informer {
    const informer = startInformer(client, eventType, eventsOf(object));
    informer.subscribe(onEvent);
    return informer;
  }
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

function story(object: KubeObject, events: readonly ShownEvent[], style: Style): string {
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
  const { items } = await client.list(eventType, { ...eventsOf(object), signal });
  return merged(items.map(toShownEvent)).toSorted(byTime).slice(-shown);
}

function eventsOf({ metadata: { uid = "", namespace = "default" } }: KubeObject): ListOptions {
  return { namespace, fieldSelector: `involvedObject.uid=${uid}` };
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
