// SPDX-License-Identifier: Apache-2.0

import { listAt, metaOf } from "@purlin/kube-apiserver/kinds";
import { keyPath } from "@purlin/kube-objects/errors";
import { goQuote, type JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { containerWarnings, portWarnings } from "./container-warnings.ts";
import { neighbourWarnings, placementWarnings } from "./placement-warnings.ts";
import { volumeWarnings } from "./volume-warnings.ts";

/** More than an answer has room for. */
const mostWarnings = 500;

/** Warnings about a Pod or a Pod template. `path` is that of the object with `metadata` and `spec`; it is empty for a Pod. */
export function podWarnings(pod: JsonObject, path: string): string[] {
  return [...allWarnings(pod, path === "" ? "" : `${path}.`).take(mostWarnings)];
}

function* allWarnings(pod: JsonObject, prefix: string): Generator<string> {
  const [spec, at] = [objectAt(pod, ["spec"]), `${prefix}spec`];
  yield* placementWarnings(spec, at);
  yield* annotationWarnings(pod, prefix);
  yield* volumeWarnings(spec, at);
  yield* repeated(spec, "hostAliases", { key: "ip", path: at });
  yield* repeated(spec, "imagePullSecrets", { key: "name", path: at });
  for (const [index, one] of listAt(spec, "imagePullSecrets").entries()) {
    if (stringAt(one, ["name"]) === "") yield `${at}.imagePullSecrets[${index}].name: invalid empty name ""`;
  }
  yield* profileWarnings(pod, prefix);
  yield* containerWarnings(pod, prefix);
  yield* portWarnings(spec, at);
  const seconds = memberAt(spec, ["terminationGracePeriodSeconds"]);
  if (typeof seconds === "number" && seconds < 0) {
    yield `${at}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`;
  }
  yield* neighbourWarnings(spec, at);
}

const oldAnnotations: readonly (readonly [name: string, text: string])[] = [
  ["scheduler.alpha.kubernetes.io/critical-pod", 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  ["security.alpha.kubernetes.io/sysctls", 'non-functional in v1.11+; use the "sysctls" field instead'],
  ["security.alpha.kubernetes.io/unsafe-sysctls", 'non-functional in v1.11+; use the "sysctls" field instead'],
];

function* annotationWarnings(pod: JsonObject, prefix: string): Generator<string> {
  const annotations = metaOf(pod).annotations ?? {};
  for (const [name, text] of oldAnnotations) {
    if (Object.hasOwn(annotations, name)) yield `${keyPath(`${prefix}metadata.annotations`, name)}: ${text}`;
  }
}

const profile = "seccomp.security.alpha.kubernetes.io/pod";

function* profileWarnings(pod: JsonObject, prefix: string): Generator<string> {
  const isSaid = memberAt(pod, ["spec", "securityContext", "seccompProfile"]) !== undefined;
  if (!isSaid && Object.hasOwn(metaOf(pod).annotations ?? {}, profile)) {
    const text = 'non-functional in v1.27+; use the "seccompProfile" field instead';
    yield `${keyPath(`${prefix}metadata.annotations`, profile)}: ${text}`;
  }
}

function* repeated(
  spec: JsonObject,
  member: string,
  { key, path }: { readonly key: string; readonly path: string },
): Generator<string> {
  const seen = new Set<string>();
  for (const [index, one] of listAt(spec, member).entries()) {
    const value = stringAt(one, [key]);
    if (seen.has(value)) yield `${path}.${member}[${index}].${key}: duplicate ${key} ${goQuote(value)}`;
    seen.add(value);
  }
}

/** A name that Pods are called after is best a label. `use` says what it is used in. */
export function nameWarnings(object: JsonObject, use: string): string[] {
  const problems = dns1123LabelProblems(metaOf(object).name ?? "");
  const advice = "which can result in surprising behavior; a DNS label is recommended";
  return problems.length === 0 ? [] : [`metadata.name: this is used in ${use}, ${advice}: [${problems.join(" ")}]`];
}
