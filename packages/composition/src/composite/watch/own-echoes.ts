// SPDX-License-Identifier: Apache-2.0
import { type CacheChange, type KubeObject, keyOf, keyText } from "@purlin/kube-client";
import { type JsonValue, jsonEqual } from "@purlin/kube-objects";

/**
 * The events our own status writes cause. A pass that ends by writing conditions has seen everything there is to see;
 * being woken by that write would run the functions once more for nothing.
 */
export interface OwnEchoes {
  /** The last write of a pass, which changed nothing but conditions. */
  expect(written: KubeObject): void;
  /** Whether the change is that write and nothing else. Each write is recognized once. */
  isEcho(change: CacheChange): boolean;
}

/** Remembers one write for each XR until its event comes. */
export function createOwnEchoes(): OwnEchoes {
  const expected = new Map<string, string>();
  return {
    expect(written) {
      expected.set(keyText(keyOf(written)), written.metadata.resourceVersion ?? "");
    },
    isEcho(change) {
      const key = keyText(keyOf(change.object));
      if (change.type === "deleted") expected.delete(key);
      if (change.type !== "updated") return false;
      if (expected.get(key) !== change.object.metadata.resourceVersion) return false;
      expected.delete(key);
      // Several versions may come as one change; then it is more than ours.
      return jsonEqual(withoutEcho(change.previous), withoutEcho(change.object));
    },
  };
}

function withoutEcho({ status: _, metadata, ...rest }: KubeObject): JsonValue {
  const { resourceVersion: _version, managedFields: _managed, ...kept } = metadata;
  return { ...rest, metadata: kept } as unknown as JsonValue;
}
