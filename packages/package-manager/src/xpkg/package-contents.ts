// SPDX-License-Identifier: Apache-2.0
import { type JsonObject, parseApiVersion } from "@purlin/kube-objects";
import { PackageError } from "./package-error.ts";
import { isPackageMeta, metaGroup, type PackageKind, type PackageMeta, readPackageMeta } from "./package-meta.ts";
import { type PackageDocument, parsePackageStream } from "./package-stream.ts";

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

/** Reads a `package.yaml`: exactly one metadata object, and objects of kinds we know. */
export async function parsePackage(text: string, name = "package.yaml"): Promise<PackageContents> {
  const documents = await parsePackageStream(text, name);
  const metas = documents.filter(({ object }) => isPackageMeta(object));
  const [meta] = metas;
  const others = documents.filter((document) => !metas.includes(document));
  for (const document of others) requireKnown(document, name);
  if (meta === undefined || metas.length > 1) {
    throw new PackageError(
      `${name}: expected exactly one object of ${metaGroup} (Configuration, Function or Provider), found ${metas.length}`,
    );
  }
  const read = readPackageMeta(meta.object, `${name}:${meta.line}`);
  const strangers = others.filter((document) => !belongs(document, read.kind));
  const findings = strangers.map(
    ({ object, line }) => `${name}:${line}: ${String(object["kind"])} does not belong in a ${read.kind} package`,
  );
  const objects = others.filter((document) => !strangers.includes(document)).map(({ object }) => object);
  return { meta: read, objects, findings };
}

function requireKnown({ object, line }: PackageDocument, name: string): void {
  const { apiVersion, kind } = object;
  if (typeof apiVersion !== "string" || typeof kind !== "string") {
    throw new PackageError(`${name}:${line}: expected an object with apiVersion and kind`);
  }
  const { group, version } = parseApiVersion(apiVersion);
  if (known[group]?.includes(version)) return;
  throw new PackageError(`${name}:${line}: a package cannot hold ${kind} of ${apiVersion}`);
}

function belongs({ object }: PackageDocument, kind: PackageKind): boolean {
  const { group } = parseApiVersion(String(object["apiVersion"]));
  return allowed[kind].includes(`${String(object["kind"])}.${group}`);
}
