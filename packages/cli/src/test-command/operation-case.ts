// SPDX-License-Identifier: Apache-2.0
// What cases of an Operation have of their own.
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { type KubeObject, keyOf, objectAt, objectsAt, stringAt, withMember } from "@purlin/kube-objects/object";
import { isDone } from "@purlin/operations";
import { operationOf } from "@purlin/operations/render";
import type { Session } from "@purlin/preview";
import type { CompositeRecord } from "./case-record.ts";

/** No Operation is retried more often in a test. */
const maxAttempts = 100;
const scheduledTimeAnnotation = "purlin.dev/scheduled-time";

interface OperationInputs {
  readonly watched: KubeObject | undefined;
  readonly scheduledTime: JsonValue | undefined;
}

/** The Operation that a case runs: the one that is written, or that a CronOperation or WatchOperation would make. */
export function operationFor(written: KubeObject, { watched, scheduledTime }: OperationInputs): KubeObject {
  const operation = operationOf(written, watched);
  if (scheduledTime === undefined) return operation;
  return withMember(operation, ["metadata", "annotations", scheduledTimeAnnotation], String(scheduledTime));
}

/** Runs an Operation until it has succeeded or failed for good. */
export async function runUntilDone(session: Session, operation: KubeObject): Promise<void> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const stored = await session.client.get(operation, keyOf(operation));
    if (stored === undefined || isDone(stored)) return;
    await session.step(operation);
  }
}

/** The objects that an Operation has applied, by the names that functions gave them. */
export async function appliedResources(
  session: Session,
  operation: KubeObject | undefined,
  { desired }: CompositeRecord,
): Promise<ReadonlyMap<string, KubeObject>> {
  const applied = new Set(objectsAt(operation ?? {}, ["status", "appliedResourceRefs"]).map(refText));
  const found = new Map<string, KubeObject>();
  for (const [name, entry] of Object.entries(desired)) {
    const resource = isJsonObject(entry as JsonValue) ? (entry as JsonObject)["resource"] : undefined;
    if (resource === undefined || !isJsonObject(resource)) continue;
    const object = resource as KubeObject;
    if (!applied.has(refText({ ...resource, ...objectAt(resource, ["metadata"]) }))) continue;
    const stored = await session.client.get(object, keyOf(object));
    if (stored !== undefined) found.set(name, stored);
  }
  return found;
}

/** The outputs of an Operation, by step. */
export function outputsOf(operation: KubeObject | undefined): JsonObject {
  const steps = objectsAt(operation ?? {}, ["status", "pipeline"]);
  return Object.fromEntries(steps.map((entry) => [stringAt(entry, ["step"]), entry["output"] ?? {}])) as JsonObject;
}

function refText(ref: JsonObject): string {
  return ["apiVersion", "kind", "namespace", "name"].map((field) => stringAt(ref, [field])).join(" ");
}
