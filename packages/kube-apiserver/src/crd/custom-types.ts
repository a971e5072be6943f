// SPDX-License-Identifier: Apache-2.0
import { createRuleSet, validatingRules } from "@purlin/cel";
import type { JsonObject } from "@purlin/kube-objects/json";
import { subdomainName } from "@purlin/kube-objects/metadata";
import { objectAt, objectsAt, optionalObjectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import type { Schema } from "@purlin/kube-objects/schema";
import type { ObjectConverter } from "../custom/conversion-webhook.ts";
import type { CustomKind, CustomVersion } from "../custom/custom-strategy.ts";
import type { RunRules } from "../custom/custom-validation.ts";
import type { RuleMetrics } from "../metrics/request-metrics.ts";
import { compareApiVersions, type ResourceType, type Subresource } from "../registry/registry.ts";
import { scaleFields } from "../scale/scale-object.ts";
import { acceptedNames, isConditionTrue } from "./crd-conditions.ts";

const allVerbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
/** The verbs in discovery of a kind that is being deleted; its objects can still be changed, so that finalizers can be removed. */
const leavingVerbs = ["delete", "deletecollection", "get", "list", "watch"];

const writeRules: ResourceType["rules"] = {
  name: subdomainName,
  createOnUpdate: false,
  unconditionalUpdate: false,
  generation: "outside-metadata",
  returnsDeleted: false,
  orphansByDefault: false,
  ttlSeconds: undefined,
};

/** Whether requests for a CRD's objects are answered. */
export function isServed(crd: JsonObject): boolean {
  return isConditionTrue(crd, "NamesAccepted") || isConditionTrue(crd, "Established");
}

/** What discovery and routing know of a CRD: one type for each version that is served. */
export function customTypes(crd: JsonObject): ResourceType[] {
  const spec = objectAt(crd, ["spec"]);
  const names = acceptedNames(crd);
  const group = stringAt(spec, ["group"]);
  const resource = stringAt(names, ["plural"]);
  const isLeaving = stringAt(crd, ["metadata", "deletionTimestamp"]) !== "";
  const versions = objectsAt(spec, ["versions"]);
  const storage = versions.find((version) => version["storage"] === true);
  return versions
    .filter((version) => version["served"] === true)
    .map((version) => ({
      group,
      version: stringAt(version, ["name"]),
      kind: stringAt(names, ["kind"]),
      listKind: stringAt(names, ["listKind"]),
      resource,
      singular: stringAt(names, ["singular"]),
      shortNames: textsAt(names, ["shortNames"]),
      categories: textsAt(names, ["categories"]),
      namespaced: stringAt(spec, ["scope"]) === "Namespaced",
      verbs: isLeaving ? leavingVerbs : allVerbs,
      subresources: subresourcesOf(version),
      custom: true,
      groupPriority: 1000,
      storage: { group, resource, version: stringAt(storage ?? {}, ["name"]) },
      rules: writeRules,
    }));
}

const partVerbs = ["get", "patch", "update"];

function subresourcesOf(version: JsonObject): Subresource[] {
  const declared = objectAt(version, ["subresources"]);
  const scale = { group: "autoscaling", version: "v1", kind: "Scale" };
  return [
    ...(optionalObjectAt(declared, ["status"]) ? [{ name: "status", verbs: partVerbs }] : []),
    ...(optionalObjectAt(declared, ["scale"]) ? [{ name: "scale", verbs: partVerbs, kind: scale }] : []),
  ];
}

/** What the objects of a CRD need beyond the CRD. */
interface CustomKindDeps {
  /** Converts objects between versions. Default: only the apiVersion changes. */
  readonly converter?: ObjectConverter | undefined;
  /** Observes the rules of schemas. */
  readonly metrics?: RuleMetrics | undefined;
}

/** A CRD's kind as its strategy needs it. */
export function customKind(crd: JsonObject, { converter, metrics }: CustomKindDeps = {}): CustomKind {
  const spec = objectAt(crd, ["spec"]);
  const group = stringAt(spec, ["group"]);
  const kind = stringAt(acceptedNames(crd), ["kind"]);
  const versions = objectsAt(spec, ["versions"]);
  const storage = versions.find((version) => version["storage"] === true);
  return {
    group,
    kind,
    storageVersion: stringAt(storage ?? {}, ["name"]),
    converter,
    versions: new Map(
      versions.map((version) => [
        stringAt(version, ["name"]),
        customVersion(version, { group, kind, versions, metrics }),
      ]),
    ),
  };
}

interface Around {
  readonly group: string;
  readonly kind: string;
  readonly versions: readonly JsonObject[];
  readonly metrics: RuleMetrics | undefined;
}

function customVersion(version: JsonObject, around: Around): CustomVersion {
  const schema = objectAt(version, ["schema", "openAPIV3Schema"]);
  let rules: { readonly run: RunRules | undefined } | undefined;
  return {
    name: stringAt(version, ["name"]),
    schema,
    scale: scaleFields(version),
    hasStatus: optionalObjectAt(version, ["subresources", "status"]) !== undefined,
    columns: objectsAt(version, ["additionalPrinterColumns"]),
    selectableFields: objectsAt(version, ["selectableFields"]).map((field) => stringAt(field, ["jsonPath"])),
    deprecationWarning: deprecationWarning(version, around),
    /** Made when the first object comes: a server with a thousand CRDs must not do it for all at its start. */
    get runRules() {
      rules ??= { run: rulesOf(schema, around.metrics) };
      return rules.run;
    },
  };
}

/** How to run the rules of a schema; undefined when it has none, so that no error says that rules were not checked. */
function rulesOf(schema: JsonObject, metrics: RuleMetrics | undefined): RunRules | undefined {
  const rules = createRuleSet(schema as Schema);
  if (rules === undefined) return undefined;
  return (object, old) => {
    const evaluation = validatingRules(rules, object, old === undefined ? {} : { oldValue: old });
    return metrics === undefined ? evaluation : metrics.evaluating(evaluation);
  };
}

function deprecationWarning(version: JsonObject, { group, kind, versions }: Around): string | undefined {
  if (version["deprecated"] !== true) return undefined;
  const own = stringAt(version, ["deprecationWarning"]);
  if (own !== "") return own;
  const name = stringAt(version, ["name"]);
  const [newest] = versions
    .filter((one) => one["served"] === true && one["deprecated"] !== true)
    .map((one) => stringAt(one, ["name"]))
    .filter((other) => compareApiVersions(other, name) < 0)
    .sort(compareApiVersions);
  const instead = newest === undefined ? "" : `; use ${group}/${newest} ${kind}`;
  return `${group}/${name} ${kind} is deprecated${instead}`;
}
