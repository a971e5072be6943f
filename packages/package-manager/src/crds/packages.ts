// SPDX-License-Identifier: Apache-2.0
import {
  ageColumn,
  type Column,
  checked,
  choice,
  column,
  conditionColumn,
  conditions,
  createCrd,
  defaulted,
  type FieldTexts,
  flag,
  integer,
  type KindDocs,
  listOf,
  nameRef,
  object,
  text,
  under,
  wideColumn,
} from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Schema } from "@purlin/kube-objects/schema";
import {
  crossplaneCategory,
  defaultRuntimeConfigRef,
  hasRuntime,
  imageConfigRefs,
  localSecretRef,
  type PackageKind,
  packageDocs,
  packageGroup,
  packageReference,
  packageRevisionDocs,
  pullFields,
  runtimeConfigRef,
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

const authorityTexts: FieldTexts = {
  name: "Name of the authority, for messages.",
  key: "A public key that signatures must match.",
  "key.hashAlgorithm": "Hash algorithm of the key's signatures.",
  "key.secretRef": "The Secret that holds the key.",
  "key.secretRef.name": "Name of the Secret.",
  "key.secretRef.key": "Key of the Secret with the PEM text.",
  keyless: "Signatures with short-lived certificates of a certificate authority.",
  "keyless.identities": "Who may have signed. One of them must match.",
  "keyless.identities.issuer": "Exact issuer of the identity.",
  "keyless.identities.issuerRegExp": "Regular expression for the issuer.",
  "keyless.identities.subject": "Exact subject of the identity.",
  "keyless.identities.subjectRegExp": "Regular expression for the subject.",
  "keyless.insecureIgnoreSCT": "Whether to accept certificates that are in no transparency log.",
  attestations: "Attestations that the image must have in addition to a signature.",
  "attestations.name": "Name of the attestation, for messages.",
  "attestations.predicateType": "Type of the attestation's predicate.",
};

const imageConfigDocs: KindDocs = {
  about:
    "An ImageConfig says how images of packages are fetched and run: pull Secrets, mirrors, runtimes and signatures, for all images whose name begins with a prefix.",
  fields: {
    "spec.matchImages": "Which images it is for. Of several ImageConfigs the longest prefix counts.",
    "spec.matchImages.prefix": "How the name of the image begins.",
    "spec.matchImages.type": "How names are compared. Prefix is the only type.",
    "spec.registry": "Access to the registry.",
    "spec.registry.authentication": "Credentials of the registry.",
    "spec.registry.authentication.pullSecretRef":
      "The Secret with the credentials, in the namespace of the control plane.",
    "spec.registry.authentication.pullSecretRef.name": "Name of the Secret.",
    "spec.rewriteImage": "Fetches matching images from somewhere else, such as a mirror.",
    "spec.rewriteImage.prefix": "What replaces the prefix that matched.",
    "spec.runtime": "What runs matching packages.",
    "spec.runtime.configRef": "The DeploymentRuntimeConfig of matching packages.",
    "spec.runtime.configRef.apiVersion": "apiVersion of the configuration.",
    "spec.runtime.configRef.kind": "Kind of the configuration.",
    "spec.runtime.configRef.name": "Name of the configuration.",
    "spec.verification":
      "Signatures that matching images must have. Signatures cannot be verified yet, so packages with matching images are not installed.",
    "spec.verification.provider": "What verifies them. Cosign is the only provider.",
    "spec.verification.cosign": "Settings of Cosign.",
    "spec.verification.cosign.authorities": "Who may have signed. One of them must match.",
    ...under("spec.verification.cosign.authorities", authorityTexts),
  },
};

const authority: Schema = object({
  attestations: listOf(object({ "name*": text, "predicateType*": text })),
  key: object({
    "hashAlgorithm*": defaulted(text, "sha256"),
    "secretRef*": object({ "key*": text, "name*": text }),
  }),
  keyless: object({
    "identities*": listOf(object({ issuer: text, issuerRegExp: text, subject: text, subjectRegExp: text })),
    insecureIgnoreSCT: flag,
  }),
  "name*": text,
});

const spec: Schema = object({
  "matchImages*": checked(listOf(object({ "prefix*": text, type: defaulted(choice("Prefix"), "Prefix") })), {
    "size(self) > 0": "matchImages should have at least one element.",
  }),
  registry: object({ authentication: object({ "pullSecretRef*": localSecretRef }) }),
  rewriteImage: object({ "prefix*": text }),
  runtime: object({ configRef: runtimeConfigRef }),
  verification: object({
    cosign: object({ "authorities*": listOf(authority) }),
    "provider*": choice("Cosign"),
  }),
});

/** The CRD of ImageConfig. */
export function imageConfigCrd(): KubeObject {
  return createCrd({
    group: packageGroup,
    kind: "ImageConfig",
    docs: imageConfigDocs,
    plural: "imageconfigs",
    categories: [crossplaneCategory],
    versions: [{ name: "v1beta1", fields: { spec }, columns: [ageColumn], hasStatus: false }],
  });
}
