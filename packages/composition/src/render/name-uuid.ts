// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { formatGvk, gvkOf, type KubeObject } from "@purlin/kube-objects/object";

const nilNamespace = Buffer.alloc(16);

/** The UUID (version 5, nil namespace) of a text: the same text, the same UUID. */
export function nameUuid(text: string): string {
  const bytes = createHash("sha1").update(nilNamespace).update(text).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** The uid of an object that was never stored. It is derived from its name, so that names derived from the uid are stable. */
export function uidOf(object: KubeObject): string {
  const { name = "", namespace = "", uid } = object.metadata;
  return uid || nameUuid([formatGvk(gvkOf(object)), namespace, name].join("\0"));
}
