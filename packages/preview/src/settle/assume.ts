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
  /** Merged into the status. `$like: live` takes the status of a live object of the same kind and resource name first. */
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
  let assumed: JsonObject = {};
  for (const { match, status } of assumptions) {
    if (!matches(object, match)) continue;
    const { $like: like, ...rest } = status;
    if (like === "live") assumed = merge(assumed, await siblingStatus(pass, object));
    assumed = merge(assumed, rest);
  }
  const before = isJsonObject(object["status"]) ? object["status"] : {};
  const merged =
    Object.keys(assumed).length === 0 ? object : ({ ...object, status: merge(before, assumed) } as KubeObject);
  return (await hasConditions(pass, object)) ? withReadyConditions(merged) : merged;
}

/** The status of a live object of the same kind and resource name, with its texts hidden: those of this one are not known yet. */
async function siblingStatus({ overlay }: Pass, object: KubeObject): Promise<JsonObject> {
  const resource = annotationOf(object, crossplaneAnnotations.resourceName);
  if (resource === undefined || !(await overlay.live.serves(object))) return {};
  const like = (await overlay.live.list(object)).find(
    (one) =>
      annotationOf(one, crossplaneAnnotations.resourceName) === resource &&
      one.metadata.uid !== object.metadata.uid &&
      isJsonObject(one["status"]),
  );
  const { conditions: _conditions, ...status } = (like?.["status"] ?? {}) as JsonObject;
  return withoutTexts(status) as JsonObject;
}

const unknown = "(known after apply)";

function withoutTexts(value: JsonValue): JsonValue {
  if (typeof value === "string") return unknown;
  if (Array.isArray(value)) return value.map(withoutTexts);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutTexts(one ?? null)]));
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
