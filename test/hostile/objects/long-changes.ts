// SPDX-License-Identifier: Apache-2.0
// Changes that make a list or map of an object as long as a request allows: one for each way to write an object.
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { gvkOf } from "@purlin/kube-objects/object";
import { sampleObjects } from "../../conformance/random-kinds/samples.ts";
import type { CreatedKind, LongObject } from "./every-list.ts";

/** A request that changes an object. */
export interface LongChange {
  /** The field and the way, such as `spec.ports by a merge patch`. */
  readonly what: string;
  readonly method: "PUT" | "PATCH";
  /** Below the path of the object, such as `/status`. */
  readonly below: string;
  readonly contentType: string;
  readonly body: JsonValue;
}

const samples = sampleObjects() as readonly JsonObject[];

const apiService: JsonObject = {
  apiVersion: "apiregistration.k8s.io/v1",
  kind: "APIService",
  metadata: { name: "v1.long.example.org" },
  spec: {
    ...{ group: "long.example.org", version: "v1", groupPriorityMinimum: 1, versionPriority: 1 },
    ...{ service: { name: "a", namespace: "default" }, insecureSkipTLSVerify: true },
  },
};

/** A small valid object of a kind; undefined for a kind that stores none. */
export function smallObject(created: CreatedKind): JsonObject | undefined {
  const found = [...samples, apiService].find((one) => {
    const { group, version, kind } = gvkOf(one as JsonObject & { apiVersion: string; kind: string });
    return kind === created.kind && group === created.group && version === created.version;
  });
  if (found === undefined) return undefined;
  const { finalizers: _finalizers, ownerReferences: _owners, ...metadata } = objectOf(found["metadata"]);
  return { ...found, metadata: { name: "small", ...metadata } };
}

/** A change of a small object to a long one, for each way to write an object. */
export function longChanges(small: JsonObject, { field, object }: LongObject): LongChange[] {
  const below = field.startsWith("status") ? "/status" : "";
  const { apiVersion, kind, metadata, ...members } = object;
  const { name: _name, ...meta } = objectOf(metadata);
  const change: JsonObject = { ...members, ...(Object.keys(meta).length > 0 && { metadata: meta }) };
  const { name } = objectOf(small["metadata"]);
  const applied = { apiVersion, kind, ...change, metadata: { ...meta, name } };
  const patch = (type: string, more: Pick<LongChange, "body"> & Partial<LongChange>): LongChange => ({
    what: `${field} by a patch of type ${type}`,
    method: "PATCH",
    below,
    contentType: `application/${type}-patch+json`,
    ...more,
  });
  const whole = mergedOver(small, change);
  return [
    { what: `${field} by PUT`, method: "PUT", below, contentType: "application/json", body: whole },
    patch("merge", { body: change }),
    patch("strategic-merge", { body: change }),
    patch("json", { body: operations(change, whole) }),
    patch("apply", {
      below: `${below}?fieldManager=long&force=true`,
      contentType: "application/apply-patch+yaml",
      body: applied as JsonObject,
    }),
  ];
}

/** Operations that add each changed member: all of it, as the object may not have it. Of the metadata, its members. */
function operations(change: JsonObject, whole: JsonObject): JsonObject[] {
  return Object.keys(change).flatMap((name) => {
    if (name !== "metadata") return [{ op: "add", path: `/${name}`, value: whole[name] ?? null }];
    const meta = objectOf(change[name]);
    return Object.keys(meta).map((member) => ({ op: "add", path: `/metadata/${member}`, value: meta[member] ?? null }));
  });
}

function mergedOver(small: JsonObject, change: JsonObject): JsonObject {
  const merged: Record<string, JsonValue> = { ...small };
  for (const name of Object.keys(change)) {
    const [before, after] = [small[name], change[name] ?? null];
    merged[name] = isJsonObject(before ?? null) && isJsonObject(after) ? mergedOver(objectOf(before), after) : after;
  }
  return merged;
}

const objectOf = (value: JsonValue | undefined): JsonObject =>
  isJsonObject(value ?? null) ? (value as JsonObject) : {};
