// SPDX-License-Identifier: Apache-2.0
import { crossplaneAnnotations } from "@purlin/composition";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import {
  annotationOf,
  conditionsOf,
  type KubeObject,
  parseApiVersion,
  withConditions,
} from "@purlin/kube-objects/object";
import { applyMergePatch } from "@purlin/kube-objects/patch";
import type { Pass } from "./run-pass.ts";

/** What composed resources report once they are ready, beyond their conditions. */
interface AssumedStatus {
  readonly match: {
    readonly apiVersion?: string;
    readonly kind?: string;
    readonly resource?: string;
    readonly name?: string;
  };
  readonly status: JsonObject;
}

/** What a forecast assumes: every composed resource becomes ready, and reports these fields. */
export type Assumptions = readonly AssumedStatus[];

const time = "2024-01-01T00:00:00Z";

/** Makes composed resources ready. Resolves to whether that changed anything. */
export async function assumeReady(
  pass: Pass,
  composed: readonly KubeObject[],
  assumptions: Assumptions,
): Promise<boolean> {
  let changed = false;
  for (const object of composed) {
    if (object.metadata.deletionTimestamp) continue;
    const ready = await withReadyStatus(pass, object, assumptions);
    if (ready === object) continue;
    const stored = await pass.overlay.store(object, ready, true);
    changed ||= stored !== object;
  }
  return changed;
}

async function withReadyStatus(pass: Pass, object: KubeObject, assumptions: Assumptions): Promise<KubeObject> {
  const assumed = assumptions
    .filter(({ match }) => matches(object, match))
    .reduce((status, one) => merge(status, one.status), {} as JsonObject);
  const before = isJsonObject(object["status"]) ? object["status"] : {};
  const merged =
    Object.keys(assumed).length === 0 ? object : ({ ...object, status: merge(before, assumed) } as KubeObject);
  return (await hasConditions(pass, object)) ? withReadyConditions(merged) : merged;
}

function merge(status: JsonObject, patch: JsonObject): JsonObject {
  return applyMergePatch(status, patch) as JsonObject;
}

/** Built-in kinds do not report readiness by these conditions. */
async function hasConditions({ overlay }: Pass, object: KubeObject): Promise<boolean> {
  const { group } = parseApiVersion(object.apiVersion);
  if (!group.includes(".") || group.endsWith(".k8s.io")) return false;
  return (await overlay.definitionOf(object)) !== undefined;
}

function withReadyConditions(object: KubeObject): KubeObject {
  const conditions = conditionsOf(object);
  const isTrue = (type: string): boolean => conditions.some((one) => one.type === type && one.status === "True");
  const missing = [
    { type: "Synced", status: "True", reason: "ReconcileSuccess", lastTransitionTime: time },
    { type: "Ready", status: "True", reason: "Available", lastTransitionTime: time },
  ].filter(({ type }) => !isTrue(type));
  if (missing.length === 0) return object;
  const kept = conditions.filter(({ type }) => !missing.some((one) => one.type === type));
  return withConditions(object, [...kept, ...missing] as never);
}

function matches(object: KubeObject, { apiVersion, kind, resource, name }: AssumedStatus["match"]): boolean {
  const isIt = (wanted: string | undefined, value: JsonValue | undefined): boolean =>
    wanted === undefined || wanted === value;
  const resourceName = annotationOf(object, crossplaneAnnotations.resourceName);
  return (
    isIt(apiVersion, object.apiVersion) &&
    isIt(kind, object.kind) &&
    isIt(name, object.metadata.name) &&
    isIt(resource, resourceName)
  );
}
