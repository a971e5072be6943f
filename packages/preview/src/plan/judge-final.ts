// SPDX-License-Identifier: Apache-2.0
import { forEachLimited } from "@purlin/base";
import { isForbidden } from "@purlin/kube-objects/errors";
import { type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Overlay } from "../overlay/overlay.ts";
import { type OverlayEntry, previewManager, refusalOf } from "../overlay/overlay-entry.ts";
import { projected } from "./object-changes.ts";

const atOnce = 8;

/**
 * Lets the live server judge the last form of each object that was written more than once: with one dry run. An object that it stores as it
 * is in the overlay is exact.
 */
export async function judgeFinalForms(overlay: Overlay, signal: AbortSignal): Promise<void> {
  for (const { now, approximate } of overlay.entries.values()) {
    // Its deletion was judged by a dry run of its own.
    if (now === undefined || now.metadata.deletionTimestamp) approximate.delete("changed-before");
  }
  const written = [...overlay.entries.values()].filter((entry) => isJudged(entry));
  await forEachLimited(written, atOnce, (entry) => judge(overlay, entry, signal));
}

function isJudged({ now, wasRemoved, refusal, approximate }: OverlayEntry): boolean {
  if (now === undefined || wasRemoved || refusal !== undefined || now.metadata.deletionTimestamp) return false;
  return approximate.size === 1 && approximate.has("changed-before");
}

async function judge(overlay: Overlay, entry: OverlayEntry, signal: AbortSignal): Promise<void> {
  const { before, now, approximate } = entry;
  if (now === undefined) return;
  try {
    const answer = await dryRun(overlay, now, { before, signal });
    if (isSame(answer, now)) approximate.delete("changed-before");
  } catch (error) {
    signal.throwIfAborted();
    // About the rights of the user, not of the controller.
    if (isForbidden(error)) approximate.add("forbidden");
    else entry.refusal = refusalOf(error);
  }
}

function dryRun(
  { live: { client } }: Overlay,
  now: KubeObject,
  { before, signal }: { readonly before: KubeObject | undefined; readonly signal: AbortSignal },
): Promise<KubeObject> {
  const {
    uid,
    resourceVersion: _version,
    managedFields: _managers,
    creationTimestamp,
    generation: _generation,
    ...metadata
  } = now.metadata;
  const options = { dryRun: true, fieldManager: previewManager, signal };
  if (before === undefined) return client.create({ ...now, metadata }, options);
  const { resourceVersion } = before.metadata;
  const identity = {
    ...(uid && { uid }),
    ...(creationTimestamp && { creationTimestamp }),
    ...(resourceVersion && { resourceVersion }),
  };
  return client.update({ ...now, metadata: { ...metadata, ...identity } }, options);
}

function isSame(answer: KubeObject, now: KubeObject): boolean {
  const shown = (object: KubeObject): JsonValue => projected(object, { status: false, owners: false });
  return jsonEqual(shown(answer), shown(now));
}
