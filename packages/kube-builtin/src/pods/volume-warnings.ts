// SPDX-License-Identifier: Apache-2.0
// Warnings about the volumes of a Pod or of a Pod template.

import { listAt } from "@purlin/kube-apiserver/kinds";
import { goQuote, isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";

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
export function* volumeWarnings(spec: JsonObject, path: string): Generator<string> {
  const volumes = listAt(spec, "volumes");
  for (const [index, volume] of volumes.entries()) {
    for (const [member, shown, text] of oldVolumes) {
      if (isJsonObject(memberAt(volume, [member]))) yield `${path}.volumes[${index}].${shown}: ${text}`;
    }
  }
  const limit = { left: mostComparisons };
  for (const volume of volumes) yield* overlapWarnings(volume, limit);
}

/** A file, and which of several sources it comes from. */
interface File {
  readonly path: string;
  readonly source: string;
}

/** All pairs of files are compared, so of very many only the first ones are. */
const mostComparisons = 20_000;

function* overlapWarnings(volume: JsonObject, limit: { left: number }): Generator<string> {
  const { kind, files } = filesOf(volume);
  const text = ({ path, source }: File): string => `${goQuote(path)}${source === "" ? "" : ` (${source})`}`;
  for (const [index, file] of files.entries()) {
    for (const other of files.slice(0, index)) {
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
  const [a, b] = [one.replace(/\/+$/, ""), other.replace(/\/+$/, "")];
  return a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
}

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
  return listAt(source, "items").map((item) => ({ path: stringAt(item, ["path"]), source: name }));
}

function projectedFiles(source: JsonObject): File[] {
  const [secret, config] = [objectAt(source, ["secret"]), objectAt(source, ["configMap"])];
  const token = stringAt(source, ["serviceAccountToken", "path"]);
  return [
    ...pathsOf(config, `ConfigMap ${goQuote(stringAt(config, ["name"]))}`),
    ...pathsOf(secret, `Secret ${goQuote(stringAt(secret, ["name"]))}`),
    ...pathsOf(objectAt(source, ["downwardAPI"]), "DownwardAPI"),
    ...(token === "" ? [] : [{ path: token, source: "ServiceAccountToken" }]),
  ];
}
