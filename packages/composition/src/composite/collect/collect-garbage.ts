// SPDX-License-Identifier: Apache-2.0

import { forEachLimited } from "@purlin/base";
import type { ControllerClient } from "@purlin/kube-controller";
import { during, ignoreNotFound } from "@purlin/kube-objects/errors";
import { controllerOf, type KubeObject, keyOf, withMember } from "@purlin/kube-objects/object";
import { fieldManagers, labels } from "../../composite-resource/constants.ts";
import { kindAndName, type Observed } from "../observe/observe.ts";

/** A composed resource that is no longer desired. */
interface Garbage {
  readonly name: string;
  readonly object: KubeObject;
}

const atOnce = 8;

/**
 * The observed resources that are not desired and are ours to delete. A resource without a controller was never ours: a reference
 * to it may be forged. Throws when another owner controls one.
 */
export function garbageOf({ composite, resources }: Observed, desired: ReadonlySet<string>): readonly Garbage[] {
  const unwanted = [...resources].filter(([name]) => !desired.has(name));
  return unwanted.flatMap(([name, { object }]) => {
    const controller = controllerOf(object);
    if (controller === undefined) return [];
    if (controller.uid === composite.object.metadata.uid) return [{ name, object }];
    const { kind, name: owner } = controller;
    throw new Error(`refusing to delete composed resource "${name}" that is controlled by ${kind} "${owner}"`);
  });
}

/** Deletes resources that are no longer desired. Must succeed before their references are removed. */
export async function collectGarbage(
  observed: Observed,
  desired: ReadonlySet<string>,
  { client, signal }: { readonly client: ControllerClient; readonly signal: AbortSignal },
): Promise<void> {
  await during("cannot garbage collect composed resources that are no longer desired", () =>
    forEachLimited(garbageOf(observed, desired), atOnce, (garbage) => remove(garbage, client, signal)),
  );
}

/** Removes the labels first: a resource that waits for its finalizers is no longer part of the tree. */
async function remove({ name, object }: Garbage, client: ControllerClient, signal: AbortSignal): Promise<void> {
  const what = `"${name}" ${kindAndName(object)}`;
  await during(`cannot cleanup composed resource labels of resource ${what}`, () =>
    removeLabels(object, client, signal),
  );
  const { apiVersion, kind, metadata } = object;
  const preconditions = metadata.uid === undefined ? {} : { uid: metadata.uid };
  await during(`cannot delete composed resource ${what}`, () =>
    ignoreNotFound(
      client.delete({ apiVersion, kind, ...keyOf(object) }, { propagationPolicy: "Foreground", preconditions, signal }),
    ),
  );
}

async function removeLabels(object: KubeObject, client: ControllerClient, signal: AbortSignal): Promise<void> {
  const names = [labels.composite, labels.claimName, labels.claimNamespace];
  const bare = names.reduce((o, name) => withMember(o, ["metadata", "labels", name], undefined), object);
  if (bare === object) return;
  await ignoreNotFound(client.update(bare, { fieldManager: fieldManagers.update, signal }));
}
