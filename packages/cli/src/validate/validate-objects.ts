// SPDX-License-Identifier: Apache-2.0

import { deriveCrds, storedDefinition } from "@purlin/composition";
import { findStatusError } from "@purlin/kube-objects/errors";
import {
  groupOf,
  type KubeObject,
  keyOf,
  keyText,
  objectsAt,
  stringAt,
  type TypeRef,
} from "@purlin/kube-objects/object";
import { compareDefinitions } from "@purlin/preview";
import { parseFieldPath } from "../files/yaml-position.ts";
import { keywordProblems, objectProblems } from "../manifests/apply-problem.ts";
import type { Manifest } from "../manifests/manifest.ts";
import { isCrd, isDefinition } from "../tree/defined-kinds.ts";
import { textOf } from "../user-error.ts";
import { compositionFindings } from "./composition-findings.ts";
import { type Finding, placeOf } from "./finding.ts";
import { type ScratchServer, startScratchServer } from "./kind-schemas.ts";
import { objectFindings, transitionRules } from "./object-findings.ts";
import type { KnownPackage } from "./packages.ts";

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
  /** How many CEL rules about changes of its kind were not evaluated: what it was before is not known. */
  readonly skippedRules: number;
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
  const known = [...definitions, ...packages.flatMap((one) => one.manifests)].map(({ object }) => object);
  const composites = claimedKinds(known);
  const rendered = new Set(known.filter(isDefinition).map(compositeKind));
  for (const manifest of manifests) {
    signal.throwIfAborted();
    // The definition of a kind is judged as the CRD that it is or becomes.
    if (isCrd(manifest.object)) continue;
    const facts = { old: before.get(identity(manifest.object)), composite: composites.get(kindOf(manifest.object)) };
    const found = await objectFindings(manifest, scratch, facts);
    // Of a composite resource purlin render prints the status and its references: the rest of the spec is in the file that was rendered.
    findings.push(
      ...(isRenderedComposite(manifest, rendered) ? found.filter(({ path }) => path[0] !== "spec") : found),
    );
  }
  findings.push(...(await compositionFindings({ manifests, packages, scratch })));
  const byManifest = Map.groupBy(findings, ({ manifest }) => manifest);
  return manifests.map((manifest) => ({
    manifest,
    findings: (byManifest.get(manifest) ?? []).toSorted(inOrder),
    skippedRules: before.has(identity(manifest.object)) ? 0 : definedRules(manifest.object, scratch),
  }));
}

/** The rules about changes of kinds that are defined by users. Those of Crossplane's own kinds are not theirs to check. */
function definedRules(object: KubeObject, { schemas }: ScratchServer): number {
  const [group = ""] = object.apiVersion.split("/");
  return group.endsWith(".crossplane.io") ? 0 : transitionRules(schemas.of(object));
}

/** As the file is read. */
function inOrder(a: Finding, b: Finding): number {
  const [one, other] = [placeOf(a), placeOf(b)];
  return one.line - other.line || one.column - other.column || a.code.localeCompare(b.code);
}

const identity = (object: KubeObject): string => `${object.apiVersion} ${object.kind} ${keyText(keyOf(object))}`;

const kindOf = ({ apiVersion, kind }: KubeObject): string => `${apiVersion} ${kind}`;

const compositeKind = (definition: KubeObject): string =>
  `${stringAt(definition, ["spec", "group"])} ${stringAt(definition, ["spec", "names", "kind"])}`;

function isRenderedComposite({ file, object }: Manifest, composites: ReadonlySet<string>): boolean {
  const spec = Object.keys((object["spec"] ?? {}) as object);
  const isPartial = object["status"] !== undefined && spec.every((key) => ["crossplane", "resourceRefs"].includes(key));
  return file === "-" && isPartial && composites.has(`${groupOf(object.apiVersion)} ${object.kind}`);
}

/** The kinds of the composite resources of claims, by the kinds of claims. */
function claimedKinds(objects: readonly KubeObject[]): ReadonlyMap<string, TypeRef> {
  const kinds = new Map<string, TypeRef>();
  for (const object of objects.filter(isDefinition)) {
    const claim = stringAt(object, ["spec", "claimNames", "kind"]);
    for (const version of claim === "" ? [] : objectsAt(object, ["spec", "versions"])) {
      const apiVersion = `${stringAt(object, ["spec", "group"])}/${stringAt(version, ["name"])}`;
      kinds.set(`${apiVersion} ${claim}`, { apiVersion, kind: stringAt(object, ["spec", "names", "kind"]) });
    }
  }
  return kinds;
}

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

/** Makes the kinds of XRDs and CRDs known, and says what is wrong with definitions. Their own fields are checked as those of any object. */
async function defineKinds(definitions: readonly Manifest[], scratch: ScratchServer): Promise<Finding[]> {
  const findings: Finding[] = [];
  const defined = new Map<string, Manifest>();
  for (const manifest of definitions) {
    if (isDefinition(manifest.object)) findings.push(...keywordProblems(manifest.object).map(findingOf(manifest)));
    const crds = crdsOf(manifest);
    if (!Array.isArray(crds)) {
      findings.push(crds);
      continue;
    }
    for (const crd of crds) {
      const name = crd.metadata.name ?? "";
      const other = defined.get(name);
      if (other !== undefined) {
        findings.push(duplicate(manifest, name, other));
        continue;
      }
      defined.set(name, manifest);
      findings.push(...(await define(crd, manifest, scratch)));
    }
  }
  return findings;
}

function crdsOf(manifest: Manifest): KubeObject[] | Finding {
  const { object } = manifest;
  if (!isDefinition(object)) return [object];
  try {
    return deriveCrds(storedDefinition(object) ?? object, { functionRevisions: true });
  } catch (error) {
    const text = textOf(error);
    const [field = ""] = /\bspec(\.[\w-]+|\[\w+\])*(?=:)/.exec(text) ?? [];
    const rest = field === "" ? text : text.slice(text.indexOf(field));
    return findingOf(manifest)({ path: parseFieldPath(field), text: rest });
  }
}

/** The server answers about a CRD; the fields of its versions are in the same place in the XRD. */
async function define(crd: KubeObject, manifest: Manifest, scratch: ScratchServer): Promise<Finding[]> {
  try {
    // Without an owner and a status, which only stored objects have.
    const { status: _status, ...rest } = crd;
    const written: KubeObject = { ...rest, metadata: { name: crd.metadata.name ?? "" } };
    await scratch.client.create(written, { dryRun: true, fieldValidation: "Ignore" });
    await scratch.define([written]);
    return [];
  } catch (error) {
    if (findStatusError(error) === undefined) return [findingOf(manifest)({ path: [], text: textOf(error) })];
    return objectProblems(manifest, error).map(findingOf(manifest));
  }
}

const findingOf =
  (manifest: Manifest) =>
  ({ path, text }: Pick<Finding, "path" | "text">): Finding => ({
    code: "V04",
    level: "error",
    type: "schema",
    manifest,
    path,
    text,
  });

function duplicate(manifest: Manifest, name: string, other: Manifest): Finding {
  const at = other.at(["spec", "names"]);
  return findingOf(manifest)({
    path: ["spec", "names"],
    text: `spec.names: ${name} is also defined at ${at}: remove one of them`,
  });
}
