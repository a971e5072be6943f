// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import { subdomainName } from "@purlin/kube-objects/metadata";
import type { ResourceType, Subresource, WriteRules } from "../registry/resource-type.ts";
import type { KindDefinition, KindRules } from "./kind-rules.ts";

/** Every verb of a resource. */
export const allVerbs: readonly string[] = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
];

export const statusSubresource: Subresource = { name: "status", verbs: ["get", "patch", "update"] };

export const scaleSubresource: Subresource = {
  name: "scale",
  verbs: ["get", "patch", "update"],
  kind: { group: "autoscaling", version: "v1", kind: "Scale" },
};

const defaultRules: WriteRules = {
  name: subdomainName,
  createOnUpdate: false,
  unconditionalUpdate: true,
  generation: undefined,
  returnsDeleted: false,
  orphansByDefault: false,
  ttlSeconds: undefined,
};

/** The group and version of some kinds, and where discovery lists the group. */
interface KindGroup {
  readonly group: string;
  readonly version: string;
  /** Groups of a higher priority come first; groups of the same priority by name. */
  readonly priority: number;
}

/** One kind in a table of kinds. */
export interface KindRow {
  readonly resource: string;
  readonly kind: string;
  readonly short?: readonly string[];
  readonly categories?: readonly string[];
  readonly cluster?: true;
  readonly verbs?: readonly string[];
  readonly subresources?: readonly Subresource[];
  readonly unserved?: ResourceType["unserved"];
  readonly write?: Partial<WriteRules>;
  readonly rules?: KindRules;
  readonly initialObjects?: readonly JsonObject[];
  readonly admission?: KindDefinition["admission"];
  readonly reconcileInitial?: KindDefinition["reconcileInitial"];
  readonly controllers?: KindDefinition["controllers"];
  /** The group whose objects of the same resource these are. */
  readonly storedIn?: string;
  /** The storage version in discovery, if it is not the served one. */
  readonly storageVersion?: string;
}

/** The kinds of one group and version. */
export function defineKinds(group: KindGroup, rows: readonly KindRow[]): KindDefinition[] {
  return rows.map((row) => ({
    type: typeOf(group, row),
    ...(row.rules && { rules: row.rules }),
    ...(row.initialObjects && { initialObjects: row.initialObjects }),
    ...(row.admission && { admission: row.admission }),
    ...(row.reconcileInitial && { reconcileInitial: row.reconcileInitial }),
    ...(row.controllers && { controllers: row.controllers }),
  }));
}

function typeOf({ group, version, priority }: KindGroup, row: KindRow): ResourceType {
  const { resource, kind } = row;
  return {
    group,
    version,
    kind,
    listKind: `${kind}List`,
    resource,
    singular: kind.toLowerCase(),
    shortNames: row.short ?? [],
    categories: row.categories ?? [],
    namespaced: row.cluster !== true,
    verbs: row.verbs ?? allVerbs,
    subresources: row.subresources ?? [],
    ...(row.unserved && { unserved: row.unserved }),
    custom: false,
    groupPriority: priority,
    storage: { group: row.storedIn ?? group, version: row.storageVersion ?? "v1", resource },
    rules: { ...defaultRules, ...row.write },
  };
}
