// SPDX-License-Identifier: Apache-2.0

/** An API group and one of its versions. The core group is the empty string. */
export type GroupVersion = {
  readonly group: string;
  readonly version: string;
};

/** The type of a Kubernetes object. */
export type GroupVersionKind = GroupVersion & {
  readonly kind: string;
};

/**
 * Reads an `apiVersion`: `v1` is the core group, `apps/v1` names its group, the empty string is the core group without
 * a version. Two or more slashes throw, in the words of the reference server.
 */
export function parseApiVersion(apiVersion: string): GroupVersion {
  if (apiVersion === "" || apiVersion === "/") return { group: "", version: "" };
  const parts = apiVersion.split("/");
  const [first = "", second] = parts;
  if (parts.length > 2) throw new Error(`unexpected GroupVersion string: ${apiVersion}`);
  return second === undefined ? { group: "", version: first } : { group: first, version: second };
}

/** The group of an `apiVersion`, malformed ones included; empty for the core group. */
export function groupOf(apiVersion: string): string {
  const end = apiVersion.indexOf("/");
  return end < 0 ? "" : apiVersion.slice(0, end);
}

/** Writes an `apiVersion`; the opposite of {@link parseApiVersion}. */
export function formatApiVersion({ group, version }: GroupVersion): string {
  return group === "" ? version : `${group}/${version}`;
}

/**
 * The type of an object, read from its `apiVersion` and `kind`. Throws, naming the field, when one is missing or not a
 * non-empty string.
 */
export function gvkOf(object: { readonly apiVersion?: unknown; readonly kind?: unknown }): GroupVersionKind {
  const { apiVersion, kind } = object;
  if (typeof apiVersion !== "string" || apiVersion === "") throw new Error("object has no apiVersion");
  if (typeof kind !== "string" || kind === "") throw new Error("object has no kind");
  return { ...parseApiVersion(apiVersion), kind };
}

/** One line for messages, as Kubernetes prints types: `apps/v1, Kind=Deployment`. */
export function formatGvk(gvk: GroupVersionKind): string {
  return `${formatApiVersion(gvk)}, Kind=${gvk.kind}`;
}

/** Whether two types are the same. */
export function equalGvk(a: GroupVersionKind, b: GroupVersionKind): boolean {
  return a.kind === b.kind && a.version === b.version && a.group === b.group;
}
