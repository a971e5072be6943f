// SPDX-License-Identifier: Apache-2.0
import { compositionCrds, keptCrds } from "@purlin/composition";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { packageCrds } from "@purlin/package-manager";

/** One version of a kind. */
export interface KindVersion {
  readonly name: string;
  readonly storage: boolean;
  readonly deprecationWarning?: string;
  readonly schema: { readonly openAPIV3Schema: JsonObject };
}

/** A kind of ours, as its CRD has it. */
export interface Kind {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly scope: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly versions: readonly KindVersion[];
}

/** Every kind that we have a CRD for, in the order of groups and names. */
export function kindsOfOurs(): readonly Kind[] {
  const crds = [...compositionCrds(), ...keptCrds(), ...packageCrds({ functionRevisionSelectors: false })];
  return crds.map(kindOf).sort((a, b) => compareTexts(a.group, b.group) || compareTexts(a.kind, b.kind));
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

interface CrdSpec {
  readonly group: string;
  readonly scope: string;
  readonly names: {
    readonly kind: string;
    readonly plural: string;
    readonly shortNames?: readonly string[];
    readonly categories?: readonly string[];
  };
  readonly versions: readonly KindVersion[];
}

function kindOf(crd: KubeObject): Kind {
  const { group, scope, names, versions } = (crd as KubeObject & { readonly spec: CrdSpec }).spec;
  const { kind, plural, shortNames = [], categories = [] } = names;
  return { group, kind, plural, scope, shortNames, categories, versions };
}
