// SPDX-License-Identifier: Apache-2.0

import type { Clock } from "@purlin/base";
import { jsonEqual } from "@purlin/kube-objects/json";
import {
  type ConditionText,
  conditionsOf,
  conditionTime,
  type KubeObject,
  memberAt,
  setConditions,
  stampCondition,
  withConditions,
} from "@purlin/kube-objects/object";
import type { ControllerClient } from "../client/controller-client.ts";

/** The field manager of plain updates: Crossplane's, so that a control plane that takes over continues with the same owner. */
const fieldManager = "crossplane";

/** An object before and after a change of its status. */
interface StatusChange {
  readonly before: KubeObject;
  readonly after: KubeObject;
  readonly signal: AbortSignal;
}

/** Stores the status of an object; sends nothing when it equals the stored one. Resolves to the object as it is stored now. */
export async function writeStatus(
  client: Pick<ControllerClient, "update">,
  { before, after, signal }: StatusChange,
): Promise<KubeObject> {
  const [stored, wanted] = [memberAt(before, ["status"]) ?? {}, memberAt(after, ["status"]) ?? {}];
  if (jsonEqual(stored, wanted)) return before;
  return client.update(after, { subresource: "status", fieldManager, signal });
}

/** The object with conditions that its controller sets, stamped with the time and the generation. Unchanged when they all hold already. */
export function withConditionTexts<T extends KubeObject>(
  object: T,
  texts: readonly ConditionText[],
  clock: Pick<Clock, "now">,
): T {
  const time = conditionTime(clock.now());
  const before = conditionsOf(object);
  const after = setConditions(
    before,
    texts.map((text) => stampCondition(text, time, object.metadata.generation)),
  );
  return after === before ? object : withConditions(object, after);
}
