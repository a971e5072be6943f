// SPDX-License-Identifier: Apache-2.0
import { textAt } from "@purlin/kube-objects/object";
import type { Departures } from "../departures.ts";
import { deleteExactly, type Ownership, ownedObjects } from "./delete-owned.ts";
import { secretsInUse } from "./retire.ts";
import { endpointOf } from "./runtime-names.ts";
import type { RuntimeScene } from "./runtime-scene.ts";

/**
 * Deletes what a revision had under other names, once nobody is sent there any more: its endpoint is the new one, and a
 * while has passed. Answers when to look again, where it is too early.
 */
export async function dropLeftovers(scene: RuntimeScene, departures: Departures): Promise<number | undefined> {
  const { options, revision, names, signal } = scene;
  const told = textAt(revision, ["status", "endpoint"]);
  if (scene.type.kind === "Function" && told !== endpointOf(names.service, options.namespace)) return undefined;
  const { uid, name = "" } = revision.metadata;
  const ownership: Ownership = { objects: options.objects, namespace: options.namespace, uid, signal };
  const services = (await ownedObjects(ownership, "service")).filter(({ metadata }) => metadata.name !== names.service);
  const needed = await secretsInUse(options, scene);
  const secrets = (await ownedObjects(ownership, "secret")).filter(({ metadata }) => !needed.has(metadata.name ?? ""));
  const deployments = (await ownedObjects(ownership, "deployment")).filter(
    ({ metadata }) => metadata.name !== names.deployment,
  );
  const leftovers = [...services, ...secrets, ...deployments];
  if (leftovers.length === 0) {
    departures.forget(name);
    return undefined;
  }
  const waitMs = departures.waitMs(name);
  if (waitMs > 0) return waitMs;
  for (const object of leftovers) await deleteExactly(ownership, object);
  departures.forget(name);
  return undefined;
}
