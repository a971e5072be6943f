// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, namespaceTerminating, notFound } from "@purlin/kube-objects";
import type { Entry } from "../store/store.ts";
import { isDeleting } from "./object-meta.ts";
import type { RestRequest } from "./rest-context.ts";

const NAMESPACES = { group: "", resource: "namespaces" };

/** The key of a namespace. */
export function namespaceKey(name: string): string {
  return `//namespaces/${name}`;
}

/** Refuses to create something in a namespace that is not there, or is going away. */
export function requireNamespace(
  { target, type }: RestRequest,
  name: string,
  read: (key: string) => Entry<JsonObject> | undefined,
): void {
  const namespace = read(namespaceKey(target.namespace))?.value;
  if (namespace === undefined) {
    throw notFound(NAMESPACES, target.namespace);
  }
  const { status } = namespace;
  if (isDeleting(namespace) || (isJsonObject(status) && status["phase"] === "Terminating")) {
    throw namespaceTerminating(type, name, target.namespace);
  }
}
