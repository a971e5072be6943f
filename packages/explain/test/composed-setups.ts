// SPDX-License-Identifier: Apache-2.0
// Broken Compositions and composite resources: what a control plane makes of them differs from server to server, the cause does not.
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { compositionOf, definitionOf, doing, type Platform } from "./platform.ts";

/** The namespace of the set-ups. */
export const namespace = "default";

/** A composite resource and its Composition, and the cause to find. */
interface BrokenSetup {
  readonly code: string;
  readonly says: RegExp;
  /** The step of the Composition; without one there is no Composition. */
  readonly step?: JsonObject;
  readonly kind?: string;
  readonly crossplane?: JsonObject;
  readonly extra?: readonly KubeObject[];
  readonly object?: string;
}

const configMap = { apiVersion: "v1", kind: "ConfigMap" };

/** The kinds of the set-ups. */
export const setupDefinitions: readonly KubeObject[] = [
  definitionOf("App"),
  definitionOf("Lone"),
  definitionOf("Wide", { scope: "Cluster" }),
  definitionOf("XShop", { claim: "Shop" }),
];

/** A composite resource of one of the kinds. */
export function xr(kind: string, name: string, crossplane: JsonObject = {}): KubeObject {
  const where = kind === "Wide" ? { name } : { name, namespace };
  return { apiVersion: "example.org/v1", kind, metadata: where, spec: { crossplane } };
}

/** The objects of a set-up; the composite resource is the last one. */
export function setupObjects(
  title: string,
  { step, kind = "App", crossplane = {}, extra = [] }: BrokenSetup,
): KubeObject[] {
  const name = title.replaceAll(/[^a-z]+/gi, "-").toLowerCase();
  const ref = step === undefined || "compositionSelector" in crossplane ? {} : { compositionRef: { name } };
  const composition = step === undefined ? [] : [compositionOf(name, kind, step)];
  return [...extra, ...composition, xr(kind, name, { ...ref, ...crossplane })];
}

/** A ConfigMap that another one controls. */
export async function takeConfigMap(platform: Pick<Platform, "users" | "apply">): Promise<void> {
  const owner = { ...configMap, metadata: { name: "owner", namespace } };
  await platform.apply(owner);
  const { uid = "" } = (await platform.users.get(configMap, { name: "owner", namespace })).metadata;
  const ownerReferences = [{ ...configMap, name: "owner", uid, controller: true }];
  await platform.apply({ ...configMap, metadata: { name: "taken", namespace, ownerReferences } });
}

/** The set-ups by title. */
export const composedSetups: Readonly<Record<string, BrokenSetup>> = {
  "no Composition of the type": { code: "E01", kind: "Lone", says: /No Composition is for example\.org\/v1 Lone$/ },
  "labels that no Composition has": {
    code: "E02",
    step: doing("compose"),
    crossplane: { compositionSelector: { matchLabels: { tier: "gold" } } },
    says: /compositionSelector \{tier=gold\} matches none of \d+ Compositions/,
  },
  "a Composition that does not exist": {
    code: "E03",
    crossplane: { compositionRef: { name: "absent" } },
    says: /Composition absent, which does not exist/,
  },
  "a selector that no revision matches": {
    code: "E04",
    step: doing("compose"),
    crossplane: { compositionRevisionSelector: { matchLabels: { channel: "beta" } } },
    says: /none has the labels channel=beta/,
  },
  "a Composition of another kind": {
    code: "E06",
    kind: "Lone",
    crossplane: { compositionRef: { name: "foreign" } },
    extra: [compositionOf("foreign", "App", doing("compose"))],
    says: /Composition foreign is for example\.org\/v1 App; this is example\.org\/v1 Lone/,
  },
  "a step that selects revisions without the feature": {
    code: "E07",
    step: { functionRevisionRef: { name: "fn-1" } },
    says: /pipeline of CompositionRevision .* is invalid/,
  },
  "a Function that is not installed": {
    code: "E11",
    step: { functionRef: { name: "fm" } },
    says: /Step "render" uses Function fm, which is not installed; installed: fn/,
    object: "Function",
  },
  "a fatal result": {
    code: "E29",
    step: doing("fatal"),
    says: /Step "render" returned a fatal result: the port is missing$/,
  },
  "requirements that change": {
    code: "E30",
    step: doing("unstable"),
    says: /requires other resources on every call: recorder off/,
  },
  "credentials without a Secret": {
    code: "E34",
    step: { credentials: [{ name: "c", source: "Secret", secretRef: { namespace, name: "absent" } }] },
    says: /Step "render" requires .*absent/,
  },
  "a kind that is not served": {
    code: "E35",
    step: doing("kind"),
    says: /does not serve Bucket \(s3\.example\.org\/v1\)/,
  },
  "an invalid resource": { code: "E36", step: doing("invalid"), says: /Resource "map" is invalid: data/ },
  "a missing namespace": {
    code: "E41",
    kind: "Wide",
    step: doing("namespace"),
    says: /namespace nowhere, which does not exist/,
  },
  "a resource of another controller": {
    code: "E42",
    step: doing("taken"),
    says: /Resource "map" belongs to another controller/,
  },
  "an invalid name": { code: "E43", step: doing("name"), says: /has the invalid name "Web_1"/ },
  "a cluster-scoped resource in a namespaced XR": {
    code: "E43",
    step: doing("scope"),
    says: /cluster scoped composed resource "space"/,
  },
  "two resources that are one object": {
    code: "E43",
    step: doing("same"),
    says: /"one" and "two" are the same object/,
  },
  "a status that the schema refuses": {
    code: "E45",
    step: doing("status"),
    says: /refuses the status that the functions set: .*seen/,
  },
};
