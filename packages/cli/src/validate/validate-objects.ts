// SPDX-License-Identifier: Apache-2.0
import { type KubeObject, keyOf, keyText } from "@purlin/kube-objects/object";
import { compareDefinitions } from "@purlin/preview";
import type { Manifest } from "../manifests/manifest.ts";
import { isCrd, isDefinition } from "../tree/defined-kinds.ts";
import { compositionFindings } from "./composition-findings.ts";
import { defineKinds } from "./definition-findings.ts";
import { type Finding, placeOf } from "./finding.ts";
import { objectFindings } from "./object-findings.ts";
import type { KnownPackage } from "./packages.ts";
import { type ScratchServer, startScratchServer } from "./scratch-server.ts";

/** What is validated, and what may be known about it. */
interface ValidateInput {
  readonly manifests: readonly Manifest[];
  /** Packages whose CRDs and XRDs count as schemas. */
  readonly packages: readonly KnownPackage[];
  /** What objects were before, for rules about changes. */
  readonly old: readonly Manifest[];
  readonly signal: AbortSignal;
}

/** An object and what is wrong with it. */
export interface Judged {
  readonly manifest: Manifest;
  readonly findings: readonly Finding[];
}

/** Validates all objects together: what one defines is known to the others. */
export async function validateObjects({ manifests, packages, old, signal }: ValidateInput): Promise<Judged[]> {
  await using scratch = await startScratchServer();
  const definitions = manifests.filter(({ object }) => isDefinition(object) || isCrd(object));
  const findings: Finding[] = [];
  // The files come first: what they define is newer than what was packaged.
  findings.push(...(await defineKinds(definitions, scratch)));
  await definePackages(packages, scratch);
  const before = new Map(
    old.flatMap((manifest) => [
      [identity(manifest.object), manifest],
      [definitionIdentity(manifest.object), manifest],
    ]),
  );
  for (const manifest of definitions) {
    const old = before.get(definitionIdentity(manifest.object));
    if (old !== undefined) findings.push(...changeFindings(manifest, old));
  }
  for (const manifest of manifests) {
    signal.throwIfAborted();
    // The definition of a kind is judged as the CRD that it is or becomes.
    if (isCrd(manifest.object)) continue;
    findings.push(...(await objectFindings(manifest, scratch, before.get(identity(manifest.object)))));
  }
  findings.push(...(await compositionFindings({ manifests, packages, scratch })));
  const byManifest = Map.groupBy(findings, ({ manifest }) => manifest);
  return manifests.map((manifest) => ({ manifest, findings: (byManifest.get(manifest) ?? []).toSorted(inOrder) }));
}

/** As the file is read. */
function inOrder(a: Finding, b: Finding): number {
  const [one, other] = [placeOf(a), placeOf(b)];
  return one.line - other.line || one.column - other.column || a.code.localeCompare(b.code);
}

const identity = (object: KubeObject): string => `${object.apiVersion} ${object.kind} ${keyText(keyOf(object))}`;

/** A definition may move to another version of its own kind. */
const definitionIdentity = ({ apiVersion, kind, metadata }: KubeObject): string =>
  `${apiVersion.split("/")[0] ?? ""} ${kind} ${metadata.name ?? ""}`;

/** What a new version of an XRD or CRD breaks. */
function changeFindings(manifest: Manifest, old: Manifest): Finding[] {
  return compareDefinitions(old.object, manifest.object).map(({ path, level, text }) => ({
    ...{ code: "V04", type: "schema", manifest, path, text },
    level: level === "breaking" ? "error" : "warning",
  }));
}

/** Definitions of packages were valid when they were built: one that is not is left out, and its objects have no schema. */
async function definePackages(packages: readonly KnownPackage[], scratch: ScratchServer): Promise<void> {
  const definitions = packages.flatMap(({ manifests }) =>
    manifests.filter(({ object }) => isDefinition(object) || isCrd(object)),
  );
  await defineKinds(definitions, scratch);
}
