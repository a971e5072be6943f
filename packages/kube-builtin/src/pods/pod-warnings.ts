// SPDX-License-Identifier: Apache-2.0
import { listAt, metaOf } from "@purlin/kube-apiserver/kinds";
import { keyPath } from "@purlin/kube-objects/errors";
import { goQuote, isJsonObject, isNumber, type JsonObject } from "@purlin/kube-objects/json";

import { dns1123LabelProblems } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { firstWarnings, type Placed } from "../checks/addresses.ts";
import { fractionOfBytes } from "../checks/resource-names.ts";
import { deprecatedNodeLabel, oldLabel, termWarnings } from "../checks/rule-checks.ts";
import { containerWarnings, portWarnings } from "./container-warnings.ts";

// Warnings about the volumes of a Pod or of a Pod template.

const since25 = "deprecated in v1.22, non-functional in v1.25+";
const since31 = "deprecated in v1.28, non-functional in v1.31+";

/** Removed and deprecated kinds of volumes, by member, with the name used in warnings. */
const oldVolumes: readonly (readonly [member: string, shown: string, text: string])[] = [
  ["photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"],
  ["gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"],
  ["scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"],
  ["flocker", "flocker", since25],
  ["storageos", "storageOS", since25],
  ["quobyte", "quobyte", since25],
  ["glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"],
  ["cephfs", "cephfs", since31],
  ["rbd", "rbd", since31],
];

/** Volumes that no longer work, and files of a volume that are in each other's way. */
function* volumeWarnings(spec: JsonObject, path: string): Generator<string> {
  const volumes = listAt(spec, "volumes");
  for (const [index, volume] of volumes.entries()) {
    for (const [member, shown, text] of oldVolumes) {
      if (isJsonObject(memberAt(volume, [member]))) yield `${path}.volumes[${index}].${shown}: ${text}`;
    }
    yield* claimFractions(volume, `${path}.volumes[${index}]`);
  }
  const limit = { left: mostComparisons };
  for (const volume of volumes) yield* overlapWarnings(volume, limit);
}

/** Fractions of bytes that the template of a claim asks for. */
function* claimFractions(volume: JsonObject, path: string): Generator<string> {
  const template = ["ephemeral", "volumeClaimTemplate", "spec", "resources"];
  for (const member of ["requests", "limits"]) {
    const at = `${path}.${template.join(".")}`;
    yield* fractionOfBytes(objectAt(volume, template), { member, name: "storage", path: at });
  }
}

/** A file, and which of several sources it comes from. */
interface File {
  /** Empty for a source that does not say what it is. */
  readonly path: string;
  readonly source: string;
}

/** All pairs of files are compared, so of very many only the first ones are. */
const mostComparisons = 20_000;

function* overlapWarnings(volume: JsonObject, limit: { left: number }): Generator<string> {
  const { kind, files } = filesOf(volume);
  const text = ({ path, source }: File): string => `${goQuote(path)}${source === "" ? "" : ` (${source})`}`;
  for (const [index, file] of files.entries()) {
    if (file.path === "") yield `volume ${goQuote(stringAt(volume, ["name"]))} (${kind}) has no sources provided`;
    for (const other of file.path === "" ? [] : files.slice(0, index)) {
      limit.left -= 1;
      if (limit.left < 0) return;
      if (overlap(file.path, other.path)) {
        yield `volume ${goQuote(stringAt(volume, ["name"]))} (${kind}): overlapping paths: ${text(file)} with ${text(other)}`;
      }
    }
  }
}

/** One is the other, or lies below it. */
function overlap(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}/`) || (other !== "" && other.startsWith(`${one}/`));
}

const trimmed = (path: string): string => path.replace(/(?<!\/)\/+$/, "");

function filesOf(volume: JsonObject): { readonly kind: string; readonly files: readonly File[] } {
  const [secret, config] = [objectAt(volume, ["secret"]), objectAt(volume, ["configMap"])];
  const kinds: readonly (readonly [kind: string, files: readonly File[]])[] = [
    [`Secret ${goQuote(stringAt(secret, ["secretName"]))}`, pathsOf(secret, "")],
    [`ConfigMap ${goQuote(stringAt(config, ["name"]))}`, pathsOf(config, "")],
    ["DownwardAPI", pathsOf(objectAt(volume, ["downwardAPI"]), "")],
    ["Projected", listAt(volume, "projected", "sources").flatMap(projectedFiles)],
  ];
  const [kind, files] = kinds.find(([, some]) => some.length > 0) ?? ["", []];
  return { kind, files };
}

function pathsOf(source: JsonObject, name: string): File[] {
  return listAt(source, "items").map((item) => ({ path: trimmed(stringAt(item, ["path"])), source: name }));
}

function projectedFiles(source: JsonObject): File[] {
  const [secret, config] = [objectAt(source, ["secret"]), objectAt(source, ["configMap"])];
  const token = trimmed(stringAt(source, ["serviceAccountToken", "path"]));
  if (Object.keys(source).length === 0) return [{ path: "", source: "" }];
  return [
    ...pathsOf(config, `ConfigMap ${goQuote(stringAt(config, ["name"]))}`),
    ...pathsOf(secret, `Secret ${goQuote(stringAt(secret, ["name"]))}`),
    ...pathsOf(objectAt(source, ["downwardAPI"]), "DownwardAPI"),
    ...(token === "" ? [] : [{ path: token, source: "ServiceAccountToken" }]),
  ];
}

// Warnings about the placement of a Pod or of a Pod template.

const required = "requiredDuringSchedulingIgnoredDuringExecution";
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
const nullSelector = "a null labelSelector results in matching no pod";

/** Labels of nodes that have other names now, and constraints that count no Pod. */
function* placementWarnings(spec: JsonObject, path: string): Generator<string> {
  for (const name of Object.keys(objectAt(spec, ["nodeSelector"]))) {
    const text = deprecatedNodeLabel(name);
    if (text !== undefined) yield `${keyPath(`${path}.nodeSelector`, name)}: ${text}`;
  }
  yield* nodeAffinityWarnings(objectAt(spec, ["affinity", "nodeAffinity"]), `${path}.affinity.nodeAffinity`);
  for (const [index, constraint] of listAt(spec, "topologySpreadConstraints").entries()) {
    const at = `${path}.topologySpreadConstraints[${index}]`;
    yield* oldLabel(stringAt(constraint, ["topologyKey"]), `${at}.topologyKey`);
    yield* noSelector(constraint, at);
  }
}

function* nodeAffinityWarnings(affinity: JsonObject, path: string): Generator<string> {
  for (const [index, term] of listAt(affinity, required, "nodeSelectorTerms").entries()) {
    yield* termWarnings(term, `${path}.${required}.nodeSelectorTerms[${index}]`);
  }
  for (const [index, one] of listAt(affinity, preferred).entries()) {
    yield* termWarnings(objectAt(one, ["preference"]), `${path}.${preferred}[${index}].preference`, {
      checksValues: true,
    });
  }
}

/** Pods that are to be near others, or far from them, and do not say which. */
function* neighbourWarnings(spec: JsonObject, path: string): Generator<string> {
  for (const kind of ["podAffinity", "podAntiAffinity"]) {
    const affinity = objectAt(spec, ["affinity", kind]);
    const at = `${path}.affinity.${kind}`;
    for (const [index, term] of listAt(affinity, required).entries()) {
      yield* noSelector(term, `${at}.${required}[${index}]`);
    }
    for (const [index, one] of listAt(affinity, preferred).entries()) {
      yield* noSelector(objectAt(one, ["podAffinityTerm"]), `${at}.${preferred}[${index}].podAffinityTerm`);
    }
  }
}

function* noSelector(object: JsonObject, path: string): Generator<string> {
  const selector = memberAt(object, ["labelSelector"]);
  if (selector === undefined || selector === null) yield `${path}.labelSelector: ${nullSelector}`;
}

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
  for (const name of ["memory", "ephemeral-storage"]) {
    yield* fractionOfBytes(spec, { member: "overhead", name, path: at });
  }
  yield* profileWarnings(pod, prefix);
  yield* containerWarnings(pod, prefix);
  yield* portWarnings(spec, at);
  const seconds = memberAt(spec, ["terminationGracePeriodSeconds"]);
  if (isNumber(seconds) && seconds < 0) {
    yield `${at}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`;
  }
  yield* neighbourWarnings(spec, at);
  yield* firstWarnings(addresses(spec, at));
}

function* addresses(spec: JsonObject, at: string): Generator<Placed> {
  for (const [index, address] of textsAt(spec, ["dnsConfig", "nameservers"]).entries()) {
    yield [address, `${at}.dnsConfig.nameservers[${index}]`];
  }
  for (const [index, alias] of listAt(spec, "hostAliases").entries()) {
    yield [stringAt(alias, ["ip"]), `${at}.hostAliases[${index}].ip`];
  }
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
