// SPDX-License-Identifier: Apache-2.0
import {
  ageColumn,
  type Column,
  checked,
  column,
  conditionColumn,
  conditions,
  createCrd,
  defaulted,
  integer,
  listOf,
  nameRef,
  object,
  text,
  wideColumn,
} from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Schema } from "@purlin/kube-objects/schema";
import {
  crossplaneCategory,
  defaultRuntimeConfigRef,
  hasRuntime,
  imageConfigRefs,
  type PackageKind,
  packageDocs,
  packageGroup,
  packageReference,
  packageRevisionDocs,
  pullFields,
  versionsOf,
} from "./package-shapes.ts";

function specOf(kind: PackageKind, { functionRevisionSelectors, functionRollouts }: PackageCrdOptions): Schema {
  const isFunction = kind === "Function";
  const limit = { ...integer, minimum: 1, ...(!isFunction && { maximum: 1 }) };
  const spec = object({
    ...pullFields,
    // Several revisions at a time are for functions, which are called by revision; everything else installs CRDs.
    activeRevisionLimit: functionRevisionSelectors ? defaulted(limit, 1) : limit,
    "package*": packageReference,
    revisionActivationPolicy: defaulted(text, "Automatic"),
    revisionHistoryLimit: defaulted(integer, 1),
    ...(isFunction && functionRollouts && { rolloutPolicy: object({ "templateRef*": nameRef }) }),
    ...(hasRuntime(kind) && { runtimeConfigRef: defaultRuntimeConfigRef }),
  });
  if (!isFunction) return spec;
  return checked(spec, {
    "self.revisionHistoryLimit == 0 || !has(self.activeRevisionLimit) || self.activeRevisionLimit <= self.revisionHistoryLimit":
      "activeRevisionLimit must not be greater than revisionHistoryLimit",
  });
}

function statusOf(kind: PackageKind): Schema {
  return object({
    ...(kind === "Function" && { activeRevisions: listOf(text, "atomic") }),
    appliedImageConfigRefs: imageConfigRefs,
    conditions,
    currentIdentifier: text,
    currentRevision: text,
    resolvedPackage: text,
  });
}

/** What the CRDs of packages depend on. */
export interface PackageCrdOptions {
  /** Fields for several active revisions get their defaults only where that is on: otherwise packages stay as Crossplane has them. */
  readonly functionRevisionSelectors: boolean;
  /** Whether FunctionRollouts are served, and Functions may start them. */
  readonly functionRollouts?: boolean | undefined;
}

/** The CRD of a kind of package. */
export function packageCrd(kind: PackageKind, options: PackageCrdOptions): KubeObject {
  const shape = {
    fields: { spec: specOf(kind, options), status: statusOf(kind) },
    columns: [
      conditionColumn("INSTALLED", "Installed"),
      conditionColumn("HEALTHY", "Healthy"),
      column("PACKAGE", ".spec.package"),
      ageColumn,
    ],
    hasStatus: true,
  };
  return createCrd({
    group: packageGroup,
    kind,
    docs: packageDocs(kind),
    plural: `${kind.toLowerCase()}s`,
    categories: [crossplaneCategory, "pkg"],
    versions: versionsOf(kind).map((name, index) => ({ name, isStored: index === 0, ...shape })),
  });
}

const tlsFields = { tlsClientSecretName: text, tlsServerSecretName: text };

function revisionSpecOf(kind: PackageKind): Schema {
  return object({
    ...pullFields,
    "desiredState*": text,
    ...(kind === "Function" && { digest: { ...text, pattern: "^sha256:[0-9a-f]{64}$" } }),
    "image*": text,
    "revision*": integer,
    ...(hasRuntime(kind) && { runtimeConfigRef: defaultRuntimeConfigRef, ...tlsFields }),
  });
}

function revisionStatusOf(kind: PackageKind): Schema {
  return object({
    appliedImageConfigRefs: imageConfigRefs,
    capabilities: listOf(text),
    conditions,
    ...(kind === "Function" && { endpoint: text }),
    foundDependencies: integer,
    installedDependencies: integer,
    invalidDependencies: integer,
    objectRefs: listOf(object({ "apiVersion*": text, "kind*": text, "name*": text, uid: text })),
    resolvedImage: text,
    ...(hasRuntime(kind) && tlsFields),
  });
}

function columnsOf(kind: PackageKind): readonly Column[] {
  const runtime = [
    conditionColumn("RUNTIME-HEALTHY", "RuntimeHealthy"),
    conditionColumn("RUNTIME-ACTIVE", "RuntimeActive"),
  ];
  return [
    conditionColumn("HEALTHY", "RevisionHealthy"),
    ...(hasRuntime(kind) ? runtime : []),
    column("IMAGE", ".spec.image"),
    column("STATE", ".spec.desiredState"),
    ageColumn,
    wideColumn("REVISION", ".spec.revision"),
    wideColumn("DEP-FOUND", ".status.foundDependencies"),
    wideColumn("DEP-INSTALLED", ".status.installedDependencies"),
  ];
}

/** The CRD of the revisions of a kind of package. */
export function packageRevisionCrd(kind: PackageKind): KubeObject {
  const shape = {
    fields: { spec: revisionSpecOf(kind), status: revisionStatusOf(kind) },
    columns: columnsOf(kind),
    hasStatus: true,
  };
  return createCrd({
    group: packageGroup,
    kind: `${kind}Revision`,
    docs: packageRevisionDocs(kind),
    plural: `${kind.toLowerCase()}revisions`,
    categories: [crossplaneCategory, "pkgrev"],
    versions: versionsOf(kind).map((name, index) => ({ name, isStored: index === 0, ...shape })),
  });
}
