// SPDX-License-Identifier: Apache-2.0

import { isClusterScoped } from "@purlin/function-runner";
import type { KubeReader } from "@purlin/kube-client/objects";
import type { ControllerClient } from "@purlin/kube-controller";
import { alreadyExists, notFound } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue, ownValue, setOwnValue } from "@purlin/kube-objects/json";
import {
  deepFreeze,
  type KubeObject,
  keyOf,
  type ObjectKey,
  parseApiVersion,
  type TypeRef,
  withMember,
} from "@purlin/kube-objects/object";
import { applyJsonPatch, applyMergePatch } from "@purlin/kube-objects/patch";
import { carries } from "../composite/select/select-revision.ts";

/** One apply request. */
interface AppliedObject {
  readonly object: KubeObject;
  readonly subresource: string;
}

/** A client of objects in memory. Without schemas it neither validates nor defaults. */
export interface MemoryClient extends ControllerClient {
  /** Every apply in its order. */
  readonly applied: readonly AppliedObject[];
}

/** Makes a client over objects. */
export function createMemoryClient(objects: readonly KubeObject[]): MemoryClient {
  const stored = new Map(objects.map((object) => [pathOf(object, keyOf(object)), deepFreeze(object)]));
  const applied: AppliedObject[] = [];
  let version = 0;

  function put(object: KubeObject): KubeObject {
    const metadata = { ...object.metadata, resourceVersion: String(++version) };
    const kept = deepFreeze({ ...object, metadata });
    stored.set(pathOf(kept, keyOf(kept)), kept);
    return kept;
  }

  function find(type: TypeRef, key: ObjectKey): KubeObject {
    const found = stored.get(pathOf(type, key));
    if (found === undefined) throw notFound({ group: "", resource: type.kind.toLowerCase() }, key.name);
    return found;
  }

  const get = async (type: TypeRef, key: ObjectKey): Promise<KubeObject | undefined> => stored.get(pathOf(type, key));
  const apply: ControllerClient["apply"] = async (object, { subresource = "" }) => {
    applied.push({ object, subresource });
    return put(mergeApplied(stored.get(pathOf(object, keyOf(object))), object, subresource));
  };
  const live: KubeReader = {
    get: async (type, key) => find(type, key),
    list: async () => ({ items: [], resourceVersion: "" }),
    watch: () => Promise.reject(new Error("objects in memory cannot be watched")),
  };
  return {
    applied,
    get,
    live,
    apply,
    async applyIfChanged(object, options) {
      await options.beforeSend?.(stored.get(pathOf(object, keyOf(object))));
      return { object: await apply(object, options), sent: true };
    },
    mapper: {
      mapping: async (type) => ({
        ...type,
        resource: type.kind.toLowerCase(),
        namespaced: !isClusterScoped({ ...parseApiVersion(type.apiVersion), kind: type.kind }),
      }),
      forget() {},
    },
    async list(type, { namespace, labels = {} } = {}) {
      const ofType = [...stored.values()].filter((o) => o.apiVersion === type.apiVersion && o.kind === type.kind);
      return ofType.filter((o) => (!namespace || o.metadata.namespace === namespace) && carries(o, labels));
    },
    async create(object) {
      if (!stored.has(pathOf(object, keyOf(object)))) return put(object);
      throw alreadyExists({ group: "", resource: object.kind.toLowerCase() }, object.metadata.name ?? "");
    },
    async update(object, { subresource } = {}) {
      const before = find(object, keyOf(object));
      if (subresource !== undefined) return put(withMember(before, [subresource], object[subresource]));
      return put("status" in before ? withMember(object, ["status"], before["status"]) : object);
    },
    async patch(type, patch, { type: kind }) {
      const before = find(type, type);
      const after =
        kind === "json" ? applyJsonPatch(before, patch as never) : applyMergePatch(before, patch as JsonObject);
      return put(after as KubeObject);
    },
    async delete(type) {
      stored.delete(pathOf(type, type));
      return undefined;
    },
    deleteCollection: () => Promise.reject(new Error("nothing here deletes collections")),
  };
}

function pathOf({ apiVersion, kind }: TypeRef, { namespace, name }: ObjectKey): string {
  return [apiVersion, kind, namespace ?? "", name].join("\n");
}

/**
 * The result of applying an object without a schema: objects are merged, other values replaced. A subresource has one writer here, so
 * fields that an apply leaves out are removed.
 */
export function mergeApplied(stored: KubeObject | undefined, wanted: KubeObject, subresource: string): KubeObject {
  if (subresource !== "") return { ...(stored ?? wanted), [subresource]: wanted[subresource] ?? {} };
  return merge(stored ?? {}, wanted) as KubeObject;
}

/** One value merged into another: members of objects one by one, everything else replaced. */
export function merge(stored: JsonValue | undefined, wanted: JsonValue): JsonValue {
  if (!isJsonObject(stored) || !isJsonObject(wanted)) return wanted;
  const merged = { ...stored };
  for (const [key, value] of Object.entries(wanted)) setOwnValue(merged, key, merge(ownValue(stored, key), value));
  return merged;
}
