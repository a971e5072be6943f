// SPDX-License-Identifier: Apache-2.0

import { listAt } from "@purlin/kube-apiserver/kinds";
import { type FieldError, forbiddenValue, invalidValue } from "@purlin/kube-objects/errors";
import { type JsonObject, type JsonValue, jsonEqual, printJson } from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";

const allowed =
  "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/** What is wrong with changing a Pod: hardly anything of its spec can be. */
export function podChangeErrors(pod: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [objectAt(pod, ["spec"]), objectAt(old, ["spec"])];
  const lists = ["containers", "initContainers"].filter(
    (name) => listAt(now, name).length !== listAt(before, name).length,
  );
  if (lists.length > 0) return [forbiddenValue(`spec.${lists[0]}`, "pod updates may not add or remove containers")];
  return [...deadlineErrors(now, before), ...tolerationErrors(now, before), ...otherErrors(now, before)];
}

function deadlineErrors(now: JsonObject, before: JsonObject): FieldError[] {
  const [deadline, was] = [memberAt(now, ["activeDeadlineSeconds"]), memberAt(before, ["activeDeadlineSeconds"])];
  const path = "spec.activeDeadlineSeconds";
  if (typeof was !== "number") return [];
  if (typeof deadline !== "number") {
    return [invalidValue(path, null, "must not update from a positive integer to nil value")];
  }
  return deadline > was ? [invalidValue(path, deadline, "must be less than or equal to previous value")] : [];
}

/** Tolerations may be added, and be given other times. */
function tolerationErrors(now: JsonObject, before: JsonObject): FieldError[] {
  const present = new Set(listAt(now, "tolerations").map(textWithoutTime));
  return listAt(before, "tolerations").every((one) => present.has(textWithoutTime(one)))
    ? []
    : [forbiddenValue("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")];
}

/** Two that differ at most in their times have the same text: all other members are texts. */
function textWithoutTime({ tolerationSeconds: _, ...toleration }: JsonObject): string {
  return JSON.stringify(Object.entries(toleration).sort());
}

function otherErrors(now: JsonObject, before: JsonObject): FieldError[] {
  const [next, last] = [withAllowed(now, before), before];
  const names = [...new Set([...Object.keys(last), ...Object.keys(next)])].filter(
    (name) => !jsonEqual((next[name] ?? null) as JsonValue, (last[name] ?? null) as JsonValue),
  );
  // The reference shows the difference in the form its own types have; ours is that of the object.
  const lines = names.flatMap((name) => [...shown("-", name, last[name]), ...shown("+", name, next[name])]);
  return names.length === 0 ? [] : [forbiddenValue("spec", `${allowed}\n${lines.join("\n")}\n`)];
}

function shown(sign: string, name: string, value: JsonValue | undefined): string[] {
  return value === undefined ? [] : [`${sign} ${JSON.stringify(name)}: ${printJson(value)}`];
}

/** The new spec with everything that may change as it was. */
function withAllowed(now: JsonObject, before: JsonObject): JsonObject {
  const images = (name: string): JsonObject => {
    const olds = listAt(before, name);
    const list = listAt(now, name).map((one, index) => ({ ...one, image: stringAt(olds[index] ?? {}, ["image"]) }));
    return list.length === 0 ? {} : { [name]: list };
  };
  const { activeDeadlineSeconds: _d, tolerations: _t, ...rest } = now;
  const kept = Object.entries({
    activeDeadlineSeconds: before["activeDeadlineSeconds"],
    tolerations: before["tolerations"],
  }).filter(([, value]) => value !== undefined);
  const grace = before["terminationGracePeriodSeconds"];
  const isRelaxed = typeof grace === "number" && grace < 0 && now["terminationGracePeriodSeconds"] === 1;
  return {
    ...(rest as JsonObject),
    ...images("containers"),
    ...images("initContainers"),
    ...(Object.fromEntries(kept) as JsonObject),
    ...(isRelaxed ? { terminationGracePeriodSeconds: grace } : {}),
  };
}
