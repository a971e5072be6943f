// SPDX-License-Identifier: Apache-2.0

import { Turns } from "@purlin/base";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { parseApiVersion } from "@purlin/kube-objects/object";
import { isBlankDocument, isBounded, kubectlSchema, splitDocuments } from "@purlin/kube-objects/yaml";
import { load, YAMLException } from "js-yaml";
import {
  isPackageMeta,
  metaGroup,
  PackageError,
  type PackageKind,
  type PackageMeta,
  readPackageMeta,
} from "./package-meta.ts";

/** What is in a package. */
export interface PackageContents {
  readonly meta: PackageMeta;
  /** What belongs in a package of this kind. */
  readonly objects: readonly JsonObject[];
  /** What should not be in a package of this kind: no reason to refuse an installed one, but one not to build it. */
  readonly findings: readonly string[];
}

/** The groups and versions an object in a package may have. */
const known: Readonly<Record<string, readonly string[]>> = {
  "apiextensions.crossplane.io": ["v1", "v1alpha1", "v2"],
  "ops.crossplane.io": ["v1alpha1"],
  "apiextensions.k8s.io": ["v1", "v1beta1"],
  "admissionregistration.k8s.io": ["v1"],
};

const crd = "CustomResourceDefinition.apiextensions.k8s.io";
const allowed: Readonly<Record<PackageKind, readonly string[]>> = {
  Provider: [
    crd,
    "ManagedResourceDefinition.apiextensions.crossplane.io",
    "ValidatingWebhookConfiguration.admissionregistration.k8s.io",
    "MutatingWebhookConfiguration.admissionregistration.k8s.io",
  ],
  Configuration: [
    "CompositeResourceDefinition.apiextensions.crossplane.io",
    "Composition.apiextensions.crossplane.io",
    "ManagedResourceActivationPolicy.apiextensions.crossplane.io",
    "Operation.ops.crossplane.io",
    "CronOperation.ops.crossplane.io",
    "WatchOperation.ops.crossplane.io",
  ],
  Function: [crd],
};

/**
 * Reads a `package.yaml`: exactly one metadata object, and objects of kinds we know. `name` is what errors call the stream, or a
 * function that returns the name of a line of it.
 */
export async function parsePackage(
  text: string,
  name: string | StreamPlace = "package.yaml",
): Promise<PackageContents> {
  const place: StreamPlace =
    typeof name === "string" ? (line) => (line === undefined ? name : `${name}:${line}`) : name;
  const documents = await parsePackageStream(text, place);
  const metas = documents.filter(({ object }) => isPackageMeta(object));
  const [meta] = metas;
  const others = documents.filter(({ object }) => !isPackageMeta(object));
  for (const document of others) requireKnown(document, place);
  if (meta === undefined || metas.length > 1) throw notOneMeta(metas, place);
  const read = readPackageMeta(meta.object, place(meta.line));
  const findings: string[] = [];
  const objects: JsonObject[] = [];
  for (const document of others) {
    const { object, line } = document;
    if (belongs(document, read.kind)) objects.push(object);
    else findings.push(`${place(line)}: ${String(object["kind"])} does not belong in a ${read.kind} package`);
  }
  return { meta: read, objects, findings };
}

function notOneMeta(metas: readonly PackageDocument[], place: StreamPlace): PackageError {
  const places = metas.length === 0 ? "" : `: ${metas.map(({ line }) => place(line)).join(", ")}`;
  const kinds = "Configuration, Function or Provider";
  return new PackageError(
    `${place()}: expected exactly one object of ${metaGroup} (${kinds}), found ${metas.length}${places}`,
  );
}

function requireKnown({ object, line }: PackageDocument, place: StreamPlace): void {
  const { apiVersion, kind } = object;
  if (typeof apiVersion !== "string" || typeof kind !== "string") {
    throw new PackageError(`${place(line)}: expected an object with apiVersion and kind`);
  }
  if (!isKnown(apiVersion)) throw new PackageError(`${place(line)}: a package cannot hold ${kind} of ${apiVersion}`);
  // generateName would create another object at each reconcile.
  const { name } = isJsonObject(object["metadata"]) ? object["metadata"] : {};
  if (typeof name === "string" && name !== "") return;
  throw new PackageError(`${place(line)}: metadata.name: expected the name of the ${kind}`);
}

function isKnown(apiVersion: string): boolean {
  if (apiVersion.split("/").length !== 2) return false;
  const { group, version } = parseApiVersion(apiVersion);
  return Object.hasOwn(known, group) && known[group]?.includes(version) === true;
}

function belongs({ object }: PackageDocument, kind: PackageKind): boolean {
  const { group } = parseApiVersion(String(object["apiVersion"]));
  return allowed[kind].includes(`${String(object["kind"])}.${group}`);
}

/** One object of a package and the line of the stream on which its document begins. */
interface PackageDocument {
  readonly object: JsonObject;
  readonly line: number;
}

/** What errors call a line of the stream, and the stream itself where no line is meant. */
export type StreamPlace = (line?: number) => string;

/** The stream of a package is not read beyond this. */
export const maxPackageBytes: number = 200 * 1024 * 1024;
const maxDocumentLength = 8 * 1024 * 1024;
const maxDepth = 1_000;
/** Reasons can repeat what the document says. */
const maxReasonLength = 200;
/** Aliases may repeat parts of a document, as long as it stands for little more than documents may have. */
const expansion = { size: 2 * maxDocumentLength, depth: maxDepth + 1 };

/**
 * Reads the documents of `package.yaml` one by one, and lets other work run in between: a package of a provider has hundreds of CRDs.
 * Documents of blanks and comments are skipped.
 */
export async function parsePackageStream(text: string, place: StreamPlace): Promise<PackageDocument[]> {
  const documents: PackageDocument[] = [];
  const turns = new Turns();
  for (const { body, line } of splitDocuments(text)) {
    if (isBlankDocument(body)) continue;
    if (body.length > maxDocumentLength) throw new PackageError(`${place(line)}: the document is larger than 8 MiB`);
    documents.push({ object: parseDocument(body, line, place), line });
    if (turns.isOver) await turns.next();
  }
  return documents;
}

function parseDocument(body: string, line: number, place: StreamPlace): JsonObject {
  let value: unknown;
  try {
    value = load(body, { schema: kubectlSchema, maxDepth });
  } catch (error) {
    const { reason = String(error), mark } = error instanceof YAMLException ? error : {};
    const where = place(line + (mark?.line ?? 0));
    throw new PackageError(`${where}: invalid YAML: ${reason.slice(0, maxReasonLength)}`, { cause: error });
  }
  if (!isJsonObject(value)) throw new PackageError(`${place(line)}: expected an object with apiVersion and kind`);
  if (!isBounded(value, expansion)) {
    throw new PackageError(`${place(line)}: its aliases stand for more than 16 MiB, or for themselves`);
  }
  return value;
}
