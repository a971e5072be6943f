// SPDX-License-Identifier: Apache-2.0
// What can change of a Job: little, and where its Pods run and what they get as long as none runs.
import { listAt } from "@purlin/kube-apiserver/kinds";
import { type FieldError, invalidPrinted, invalidValue } from "@purlin/kube-objects/errors";
import { goJson, isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { memberAt, numberAt, objectAt, stringAt, withMember } from "@purlin/kube-objects/object";
import { goForm } from "../checks/go-form.ts";

/** Members that never change, and their types where the reference prints those. */
const fixedTypes: Readonly<Record<string, string>> = {
  selector: "LabelSelector",
  completionMode: "",
  podFailurePolicy: "PodFailurePolicy",
  backoffLimitPerIndex: "",
  managedBy: "",
  successPolicy: "SuccessPolicy",
};

function printed(type: string, value: JsonValue | undefined): string {
  return type === "" || value === undefined || value === null ? goJson(value ?? null) : goForm(type, value);
}

function fixedErrors(job: JsonObject, old: JsonObject, name: string): FieldError[] {
  const type = fixedTypes[name] ?? "";
  const [now, before] = [job, old].map((one) => printed(type, memberAt(one, ["spec", name]))) as [string, string];
  return now === before ? [] : [invalidPrinted(`spec.${name}`, now, "field is immutable")];
}

/** A suspended Job whose Pods have ended. */
function isIdle(old: JsonObject): boolean {
  const suspended = listAt(old, "status", "conditions").some(
    (one) => stringAt(one, ["type"]) === "Suspended" && stringAt(one, ["status"]) === "True",
  );
  const hasPods = numberAt(old, ["status", "active"]) > 0;
  const notStarted = memberAt(old, ["status", "startTime"]) === undefined;
  return memberAt(old, ["spec", "suspend"]) === true && (notStarted || suspended) && !hasPods;
}

/** The old template with what decides about the nodes of its Pods as in the new one. */
function withPlacement(before: JsonObject, now: JsonObject): JsonObject {
  const nodeAffinity = memberAt(now, ["spec", "affinity", "nodeAffinity"]);
  const affinity = { ...objectAt(before, ["spec", "affinity"]), nodeAffinity };
  const others = Object.fromEntries(Object.entries(affinity).filter(([, value]) => value !== undefined)) as JsonObject;
  const isNone = Object.keys(others).length === 0 && !isJsonObject(memberAt(now, ["spec", "affinity"]));
  const paths = [
    ...["nodeSelector", "tolerations", "schedulingGates"].map((name) => ["spec", name]),
    ...["annotations", "labels"].map((name) => ["metadata", name]),
  ];
  const placed = paths.reduce((template, path) => withMember(template, path, memberAt(now, path)), before);
  return withMember(placed, ["spec", "affinity"], isNone ? undefined : others);
}

/** Containers with the resources that those of the same name have in the other list. */
function withResources(before: JsonObject, now: JsonObject, list: string): JsonObject {
  const others = listAt(now, list);
  const own = listAt(before, list);
  if (own.length === 0 || own.length !== others.length) return before;
  const changed = own.map((one, index) =>
    stringAt(one, ["name"]) === stringAt(others[index] ?? {}, ["name"])
      ? withMember(one, ["resources"], others[index]?.["resources"])
      : one,
  );
  return { ...before, [list]: changed };
}

function templateErrors(job: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [job, old].map((one) => objectAt(one, ["spec", "template"])) as [JsonObject, JsonObject];
  if (!isIdle(old)) return sameErrors("PodTemplateSpec", { now, before }, "spec.template");
  const placed = objectAt(withPlacement(before, now), ["spec"]);
  const spec = objectAt(now, ["spec"]);
  const sized = ["containers", "initContainers"].reduce((one, list) => withResources(one, spec, list), placed);
  return sameErrors("PodSpec", { now: spec, before: sized }, "spec.template.spec");
}

interface Change {
  readonly now: JsonObject;
  readonly before: JsonObject;
}

function sameErrors(type: string, { now, before }: Change, path: string): FieldError[] {
  return jsonEqual(now, before) ? [] : [invalidPrinted(path, goForm(type, now), "field is immutable")];
}

/** What a Job does and how it knows its Pods stays as it is. */
export function jobChangeErrors(job: JsonObject, old: JsonObject): FieldError[] {
  const isIndexed = memberAt(job, ["spec", "completionMode"]) === "Indexed";
  return [
    ...(isIndexed ? completionErrors(job, old) : fixedErrors(job, old, "completions")),
    ...fixedErrors(job, old, "selector"),
    ...templateErrors(job, old),
    ...Object.keys(fixedTypes)
      .filter((name) => name !== "selector")
      .flatMap((name) => fixedErrors(job, old, name)),
  ];
}

/** An indexed Job grows and shrinks with its parallelism. */
function completionErrors(job: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [memberAt(job, ["spec", "completions"]), memberAt(old, ["spec", "completions"])];
  const parallelism = memberAt(job, ["spec", "parallelism"]);
  if (typeof now !== "number" || now === before || now === parallelism || typeof parallelism !== "number") return [];
  return [invalidValue("spec.completions", now, "can only be modified in tandem with spec.parallelism")];
}
