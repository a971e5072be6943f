// SPDX-License-Identifier: Apache-2.0

import type { Clock, ControllerClient } from "@purlin/kube-controller";
import { jsonEqual } from "@purlin/kube-objects/json";
import {
  type ConditionText,
  conditionsOf,
  conditionTime,
  type KubeObject,
  memberAt,
  setCondition,
  stampCondition,
  withConditions,
} from "@purlin/kube-objects/object";
import { packageFieldManagers } from "./manager/package-manager-ports.ts";

/** The object with conditions, stamped now. */
export function withTexts(clock: Clock, object: KubeObject, texts: readonly ConditionText[]): KubeObject {
  const time = conditionTime(clock.now());
  const stamped = texts.map((text) => stampCondition(text, time, object.metadata.generation));
  return withConditions(object, stamped.reduce(setCondition, conditionsOf(object)));
}

/** Writes a status, if it says anything new. */
export async function writeStatus(
  client: ControllerClient,
  { before, after, signal }: { readonly before: KubeObject; readonly after: KubeObject; readonly signal: AbortSignal },
): Promise<void> {
  const [old, changed] = [memberAt(before, ["status"]) ?? {}, memberAt(after, ["status"]) ?? {}];
  if (jsonEqual(old, changed)) return;
  await client.update(after, { subresource: "status", fieldManager: packageFieldManagers.update, signal });
}
