// SPDX-License-Identifier: Apache-2.0

import type { CacheChange, InformerPool } from "@purlin/kube-client";
import { crdType } from "@purlin/kube-controller";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, textAt } from "@purlin/kube-objects/object";
import { type SensitiveKinds, sensitiveFieldsIn } from "@purlin/run-store";

const definitionType = { apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositeResourceDefinition" };

/**
 * Keeps the fields that schemas declare sensitive up to date, from XRDs and CRDs. A CRD has fewer keywords than the XRD it is derived
 * from. Returns a function that stops it.
 */
export function followSensitiveFields(informers: InformerPool, kinds: SensitiveKinds): () => Promise<void> {
  const leases = [definitionType, crdType].map((type) => {
    const lease = informers.acquire(type);
    const unsubscribe = lease.informer.subscribe((change) => note(change, kinds));
    return async () => {
      unsubscribe();
      await lease.release();
    };
  });
  return async () => {
    for (const release of leases) await release();
  };
}

function note({ type, object }: CacheChange, kinds: SensitiveKinds): void {
  // What was recorded of a kind that is gone stays hidden; so do its last objects.
  if (type === "deleted") return;
  const group = textAt(object, ["spec", "group"]) ?? "";
  for (const version of versionsOf(object)) {
    const schema = isJsonObject(version["schema"]) ? version["schema"] : {};
    const fields = sensitiveFieldsIn(schema["openAPIV3Schema"]);
    if (fields === undefined) continue;
    for (const kind of kindsOf(object)) kinds.set(`${group}/${String(version["name"])}`, kind, fields);
  }
}

function versionsOf(object: KubeObject): readonly JsonObject[] {
  const versions = memberAt(object, ["spec", "versions"]);
  return Array.isArray(versions) ? versions.filter(isJsonObject) : [];
}

function kindsOf(object: KubeObject): readonly string[] {
  const kind = (member: string): string | undefined => textAt(object, ["spec", member, "kind"]);
  return [kind("names"), kind("claimNames")].filter((name) => name !== undefined);
}
