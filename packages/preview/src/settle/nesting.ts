// SPDX-License-Identifier: Apache-2.0
import { crossplaneAnnotations } from "@purlin/composition";
import { annotationOf, controllerOf, type KubeObject, type ObjectKey } from "@purlin/kube-objects/object";
import { identityAt } from "../overlay/live-reads.ts";
import type { Overlay } from "../overlay/overlay.ts";

/** A composite resource that composes itself, directly or through others, appears this often before it is refused. */
const repeats = 3;

interface NestedKey {
  readonly controller: string;
  readonly key: ObjectKey;
  readonly maxDepth: number | undefined;
}

/** Rejects when composite resources compose each other without an end, and names them. */
export async function requireEnd(overlay: Overlay, { controller, key, maxDepth }: NestedKey): Promise<void> {
  if (!controller.startsWith("composite/")) return;
  const chain = newAncestors(overlay, key);
  if (maxDepth !== undefined && chain.length > maxDepth) {
    throw new Error(`nested deeper than ${maxDepth}: ${chain.toReversed().join(" -> ")}`);
  }
  const counts = new Map<string, number>();
  for (const link of chain) counts.set(link, (counts.get(link) ?? 0) + 1);
  if ([...counts.values()].every((count) => count < repeats)) return;
  throw new Error(`composite resources compose each other without an end: ${chain.toReversed().join(" -> ")}`);
}

/** The composite resource of a key and those above it that the preview made, as `Kind (resource name)`, the nearest first. */
function newAncestors({ entries }: Overlay, key: ObjectKey): readonly string[] {
  const chain: string[] = [];
  for (let object = madeAt(entries, key); object !== undefined; object = parentOf(object, entries)) {
    const resource = annotationOf(object, crossplaneAnnotations.resourceName);
    chain.push(`${object.kind} (${resource ?? object.metadata.name ?? ""})`);
  }
  return chain;
}

function madeAt(entries: Overlay["entries"], key: ObjectKey): KubeObject | undefined {
  for (const { before, now } of entries.values())
    if (before === undefined && now !== undefined && isAt(now, key)) return now;
  return undefined;
}

/** The composite resource that composed an object, when the preview made that too. */
function parentOf(object: KubeObject, entries: Overlay["entries"]): KubeObject | undefined {
  const owner = controllerOf(object);
  if (owner === undefined) return undefined;
  const { namespace } = object.metadata;
  const entry =
    entries.get(identityAt(owner, { namespace, name: owner.name })) ??
    entries.get(identityAt(owner, { name: owner.name }));
  return entry?.before === undefined ? entry?.now : undefined;
}

function isAt({ metadata }: KubeObject, { namespace, name }: ObjectKey): boolean {
  return metadata.name === name && (metadata.namespace ?? "") === (namespace ?? "");
}
