// SPDX-License-Identifier: Apache-2.0

import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { objectAt, stringAt } from "@purlin/kube-objects/object";
import type { FunctionTarget } from "../function-runner.ts";

/** The label that ties a revision to its Function. */
export const packageLabel = "pkg.crossplane.io/package";
/** On a revision that only a rollout may choose. Its value is the reason. */
export const withheldAnnotation = "pkg.crossplane.io/withheld";

/** The parts of a FunctionRevision that decide whether it serves. */
export interface FunctionRevision {
  readonly name: string;
  readonly labels: JsonObject;
  readonly created: string;
  readonly number: number;
  readonly image: string;
  readonly digest: string;
  /** Never that of a revision that another object than its Function controls: it was composed, and answers for nothing. */
  readonly isActive: boolean;
  readonly endpoint: string;
  /** What its package declares that it can do; empty while that is not recorded. */
  readonly capabilities: readonly string[];
  /** Whether a rollout decides who gets it: unless nothing else serves, it is not chosen for being the newest. */
  readonly isWithheld: boolean;
  /** Whether the package has been read, so that a capability that is not listed is really missing. */
  readonly isExamined: boolean;
}

/** Reads a FunctionRevision; what is missing or of a wrong type counts as not set. */
export function readRevision(object: JsonObject): FunctionRevision {
  const metadata = objectAt(object, ["metadata"]);
  const spec = objectAt(object, ["spec"]);
  const status = objectAt(object, ["status"]);
  const { revision } = spec;
  const { capabilities } = status;
  return {
    name: stringAt(metadata, ["name"]),
    labels: objectAt(metadata, ["labels"]),
    created: stringAt(metadata, ["creationTimestamp"]),
    number: typeof revision === "number" ? revision : 0,
    image: stringAt(spec, ["image"]),
    digest: stringAt(spec, ["digest"]),
    isActive: spec["desiredState"] === "Active" && !isComposed(metadata),
    endpoint: stringAt(status, ["endpoint"]),
    capabilities: Array.isArray(capabilities) ? capabilities.map(String) : [],
    isWithheld: Object.hasOwn(objectAt(metadata, ["annotations"]), withheldAnnotation),
    isExamined: Array.isArray(capabilities) || isHealthy(status),
  };
}

/** Functions control their revisions. A revision without a controller is kept by hand. */
function isComposed(metadata: JsonObject): boolean {
  const { ownerReferences } = metadata;
  const owners = (Array.isArray(ownerReferences) ? ownerReferences : []).filter(isJsonObject);
  const controller = owners.find((owner) => owner["controller"] === true);
  if (controller === undefined) return false;
  const isFunction =
    stringAt(controller, ["apiVersion"]).startsWith("pkg.crossplane.io/") && controller["kind"] === "Function";
  return !isFunction || controller["name"] !== stringAt(metadata, ["labels", packageLabel]);
}

function isHealthy({ conditions }: JsonObject): boolean {
  if (!Array.isArray(conditions)) return false;
  return conditions.some((one) => isJsonObject(one) && one["type"] === "RevisionHealthy" && one["status"] === "True");
}

/** Whether a revision can take the calls of steps that do not name it: it answers, what it can do has been recorded, and it is not withheld. */
export function isServing({ isActive, isWithheld, endpoint, capabilities }: FunctionRevision): boolean {
  return isActive && !isWithheld && endpoint !== "" && capabilities.length > 0;
}

/** The revision to prefer: the highest number, then the newest, then by name. */
export function highest(revisions: readonly FunctionRevision[]): FunctionRevision | undefined {
  return revisions.toSorted(
    (a, b) => b.number - a.number || compare(b.created, a.created) || compare(a.name, b.name),
  )[0];
}

/** The revision as runners take it. */
export function targetOf(functionName: string, revision: FunctionRevision): FunctionTarget {
  const { name, image, endpoint, number } = revision;
  return { functionName, revisionName: name, packageRef: image, endpoint, revision: number };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
