// SPDX-License-Identifier: Apache-2.0

import type { ControllerClient } from "@purlin/kube-controller";
import { type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { type KubeObject, objectAt } from "@purlin/kube-objects/object";
import { fieldManagers } from "../../composite-resource/constants.ts";
import { identityOf } from "../apply/references.ts";

/** Stores a status as a whole; nothing is sent when it is the one that is stored. */
export async function replaceStatus(
  xr: KubeObject,
  status: JsonObject,
  client: ControllerClient,
  signal: AbortSignal,
): Promise<KubeObject> {
  if (jsonEqual(status as JsonValue, objectAt(xr, ["status"]))) return xr;
  return client.update({ ...xr, status }, { subresource: "status", fieldManager: fieldManagers.update, signal });
}

/** Rejects when the API server would not take a status that is to be applied. Nothing is stored. */
export async function checkStatus(
  xr: KubeObject,
  status: JsonObject,
  client: ControllerClient,
  signal: AbortSignal,
): Promise<void> {
  const options = { subresource: "status", fieldManager: fieldManagers.composite, force: true, dryRun: true, signal };
  await client.apply({ ...identityOf(xr), status }, options);
}

/**
 * Applies a status: fields applied before and not now are taken away. It holds what functions want and what the control
 * plane says, so that a pass costs one write and not two.
 */
export async function applyStatus(
  xr: KubeObject,
  status: JsonObject,
  client: ControllerClient,
  signal: AbortSignal,
): Promise<KubeObject> {
  const options = { subresource: "status", fieldManager: fieldManagers.composite, force: true, observed: xr, signal };
  return (await client.applyIfChanged({ ...identityOf(xr), status }, options)).object;
}
