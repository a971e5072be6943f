// SPDX-License-Identifier: Apache-2.0
import { ownGroup } from "./fixtures.ts";
import type { Loose } from "./loose.ts";
import type { Session } from "./session.ts";

/** A small CRD of the session's group. */
export function smallCrd(s: Session, names: Loose = {}, spec: Loose = {}): Loose {
  const all = { plural: "widgets", kind: "Widget", ...names };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${all.plural}.${ownGroup(s)}` },
    spec: {
      group: ownGroup(s),
      scope: "Namespaced",
      names: all,
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
      ...spec,
    },
  };
}
