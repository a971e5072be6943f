// SPDX-License-Identifier: Apache-2.0
import type { KubeClient } from "@purlin/kube-client";
import { UserError } from "../user-error.ts";
import { findResources, type Resource } from "./find-resource.ts";

/** What the words of a command line name: all objects of a type, or one of them. */
export interface Target {
  readonly resource: Resource;
  readonly name?: string | undefined;
}

/** What kubectl takes: `TYPE`, `TYPE NAME…`, `TYPE,TYPE [NAME…]` and `TYPE/NAME…`. */
export async function findTargets(
  client: KubeClient,
  words: readonly string[],
  signal: AbortSignal,
): Promise<readonly Target[]> {
  const asPairs = words.filter((word) => word.includes("/"));
  if (asPairs.length === 0) return byTypes(client, words, signal);
  if (asPairs.length < words.length) {
    throw new UserError(`write either TYPE NAME… or TYPE/NAME…, not both: ${words.join(" ")}`, { exitCode: 2 });
  }
  const targets: Target[] = [];
  for (const word of words) {
    const [type = "", name = "", ...rest] = word.split("/");
    if (type === "" || name === "" || rest.length > 0) {
      throw new UserError(`expected TYPE/NAME, not "${word}"`, { exitCode: 2 });
    }
    for (const resource of await findResources(client, type, signal)) targets.push({ resource, name });
  }
  return targets;
}

async function byTypes(
  client: KubeClient,
  [types = "", ...names]: readonly string[],
  signal: AbortSignal,
): Promise<readonly Target[]> {
  const targets: Target[] = [];
  for (const type of types.split(",").filter((one) => one !== "")) {
    for (const resource of await findResources(client, type, signal)) {
      if (names.length === 0) targets.push({ resource });
      else targets.push(...names.map((name) => ({ resource, name })));
    }
  }
  return targets;
}

/** `widget.example.org`, as kubectl writes a type. */
export function typeText({ kind, apiVersion }: Resource): string {
  const group = apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
  return `${kind.toLowerCase()}${group === "" ? "" : `.${group}`}`;
}
