// SPDX-License-Identifier: Apache-2.0

import type { JsonObject } from "@purlin/kube-objects/json";
import { fieldManagers } from "../../composite-resource/constants.ts";
import { identityOf } from "../apply/references.ts";
import type { CompositeContext } from "../context.ts";

/** Rejects when the API server would refuse a status that is about to be applied. Nothing is stored. */
export async function checkStatus(status: JsonObject, context: CompositeContext): Promise<void> {
  const { deps, stored } = context;
  await deps.client.apply({ ...identityOf(stored.object), status }, { ...optionsOf(context), dryRun: true });
}

/**
 * Applies a status: fields applied before and not now are removed. It holds what functions want and what the control plane reports,
 * so that a reconcile needs one write and not two.
 */
export async function applyStatus(status: JsonObject, context: CompositeContext): Promise<void> {
  const { deps, stored } = context;
  const options = { ...optionsOf(context), observed: stored.object };
  stored.object = (await deps.client.applyIfChanged({ ...identityOf(stored.object), status }, options)).object;
}

function optionsOf({ statusSignal: signal }: CompositeContext) {
  return { subresource: "status", fieldManager: fieldManagers.composite, force: true, signal };
}
