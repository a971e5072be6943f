// SPDX-License-Identifier: Apache-2.0
import { type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import {
  type Condition,
  type ConditionText,
  conditionOf,
  conditionsOf,
  type KubeObject,
  memberAt,
  numberAt,
  objectsAt,
  stringAt,
  withMember,
} from "@purlin/kube-objects/object";
import { pipelineError } from "../names.ts";
import type { AppliedRef } from "./apply-desired.ts";

const defaultRetryLimit = 5;

/** How often an Operation may fail. */
function retryLimitOf(operation: KubeObject): number {
  const limit = memberAt(operation, ["spec", "retryLimit"]);
  return typeof limit === "number" ? limit : defaultRetryLimit;
}

/** How often it has failed. */
export function failuresOf(operation: KubeObject): number {
  return numberAt(operation, ["status", "failures"]);
}

/** The condition of an Operation that has failed too often, or may not fail at all; undefined while it may run. */
export function limitReached(operation: KubeObject): ConditionText | undefined {
  const limit = retryLimitOf(operation);
  if (failuresOf(operation) < limit) return undefined;
  const { status, message } = conditionOf(conditionsOf(operation), "Synced");
  const cause = status === "False" && message ? `: ${message}` : "";
  return pipelineError(`failure limit of ${limit} reached${cause}`);
}

/** The condition Succeeded; its status is Unknown while the Operation runs or has not started. */
function succeededOf(operation: KubeObject): Condition {
  return conditionOf(conditionsOf(operation), "Succeeded");
}

/** Whether an Operation has succeeded or failed. It never runs again, whatever is edited. */
export function isDone(operation: KubeObject): boolean {
  const { status } = succeededOf(operation);
  return status === "True" || status === "False";
}

/** Whether an update changed neither the spec nor annotations. */
export function isSameRequest(before: KubeObject, after: KubeObject): boolean {
  const { generation, annotations = {} } = after.metadata;
  return before.metadata.generation === generation && jsonEqual(before.metadata.annotations ?? {}, annotations);
}

/** What an attempt adds to the status. */
export interface AttemptProgress {
  /** The outputs of steps, by name of the step. */
  readonly outputs: ReadonlyMap<string, JsonObject>;
  readonly applied: readonly AppliedRef[];
}

/** The Operation with the outputs and applied resources of an attempt. A later attempt overwrites the output of a step. */
export function withProgress(operation: KubeObject, { outputs, applied }: AttemptProgress): KubeObject {
  const known = objectsAt(operation, ["status", "pipeline"]).map(
    (entry) => [stringAt(entry, ["step"]), entry] as const,
  );
  const pipeline = new Map<string, JsonObject>(known);
  for (const [step, output] of outputs) pipeline.set(step, { step, output });
  const refs = new Map<string, JsonObject>();
  for (const ref of [...objectsAt(operation, ["status", "appliedResourceRefs"]), ...applied])
    refs.set(textOfRef(ref), ref);
  const sorted = [...refs].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, ref]) => ref);
  const withOutputs =
    pipeline.size === 0 ? operation : withMember(operation, ["status", "pipeline"], [...pipeline.values()]);
  return sorted.length === 0 ? withOutputs : withMember(withOutputs, ["status", "appliedResourceRefs"], sorted);
}

function textOfRef(ref: JsonObject): string {
  return ["apiVersion", "kind", "namespace", "name"].map((field) => stringAt(ref, [field])).join("");
}
