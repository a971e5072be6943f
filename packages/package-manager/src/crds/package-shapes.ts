// SPDX-License-Identifier: Apache-2.0
import {
  atomicMap,
  checked,
  defaulted,
  type Fields,
  type FieldTexts,
  flag,
  type KindDocs,
  listOf,
  mapOf,
  object,
  text,
} from "@purlin/kube-controller";
import type { Schema } from "@purlin/kube-objects/schema";

/** The group of packages. */
export const packageGroup = "pkg.crossplane.io";
/** What all of our kinds answer to in `kubectl get crossplane`. */
export const crossplaneCategory = "crossplane";

/** Which configuration a package's runtime takes. */
export const runtimeConfigRef: Schema = object({
  apiVersion: defaulted(text, "pkg.crossplane.io/v1beta1"),
  kind: defaulted(text, "DeploymentRuntimeConfig"),
  "name*": text,
});

/** The same, where every package has one. */
export const defaultRuntimeConfigRef: Schema = defaulted(runtimeConfigRef, { name: "default" });

/** A Secret of the control plane's namespace. */
export const localSecretRef: Schema = atomicMap(object({ name: defaulted(text, "") }));

/** Which ImageConfigs had a say. */
export const imageConfigRefs: Schema = listOf(object({ "name*": text, "reason*": text }));

/** An image by registry, repository, and tag or digest. */
export const packageReference: Schema = checked(text, {
  "self.matches('^[^\\\\.\\\\/]+(\\\\.[^\\\\.\\\\/]+)+(\\\\/[^\\\\/:@]+)+(:[^:@]+(@sha256.+)?|@sha256.+)$')":
    "must be a fully qualified image name, including the registry, repository, and tag or digest. For example, 'registry.example.com/repo/package:tag' or 'registry.example.com/repo/package[:tag]@sha256:1234567890abcdef1234567890abcdef1234567890abcdef1234567890abcdef'.",
});

/** What packages and their revisions say alike. */
export const pullFields: Fields = {
  commonAnnotations: mapOf(),
  commonLabels: mapOf(),
  ignoreCrossplaneConstraints: defaulted(flag, false),
  packagePullPolicy: defaulted(text, "IfNotPresent"),
  packagePullSecrets: listOf(localSecretRef),
  skipDependencyResolution: defaulted(flag, false),
};

/** The kinds of package. */
export type PackageKind = "Function" | "Provider" | "Configuration";

/** Versions of a package kind, the stored one first. */
export function versionsOf(kind: PackageKind): readonly string[] {
  return kind === "Function" ? ["v1", "v1beta1"] : ["v1"];
}

/** Whether a package of this kind runs something. */
export function hasRuntime(kind: PackageKind): boolean {
  return kind !== "Configuration";
}

const pullTexts: FieldTexts = {
  "spec.commonAnnotations": "Annotations of all objects that the package installs.",
  "spec.commonLabels":
    "Labels of the revisions and of all objects that the package installs. functionRevisionSelector of a Composition chooses revisions by them.",
  "spec.ignoreCrossplaneConstraints": "Whether to install a package that asks for another version of Crossplane.",
  "spec.packagePullPolicy":
    "When to fetch the package: IfNotPresent once for each change of the package, Always again at intervals so that a moved tag is noticed, Never.",
  "spec.packagePullSecrets": "Secrets with credentials of the registry, in the namespace of the control plane.",
  "spec.packagePullSecrets.name": "Name of the Secret.",
  "spec.skipDependencyResolution": "Whether to install the package without the packages that it depends on.",
  "spec.runtimeConfigRef": "The DeploymentRuntimeConfig for what runs the package.",
  "spec.runtimeConfigRef.apiVersion": "apiVersion of the configuration.",
  "spec.runtimeConfigRef.kind": "Kind of the configuration.",
  "spec.runtimeConfigRef.name": "Name of the configuration.",
  "status.appliedImageConfigRefs": "ImageConfigs that were applied to the image of the package.",
  "status.appliedImageConfigRefs.name": "Name of the ImageConfig.",
  "status.appliedImageConfigRefs.reason":
    "What it was applied for: a pull Secret, a rewritten image, a runtime or a verification.",
};

const packageTexts: FieldTexts = {
  ...pullTexts,
  "spec.package": "Image of the package: registry, repository, and tag or digest.",
  "spec.activeRevisionLimit":
    "How many revisions may be active at the same time; 1 by default. More than 1 is for Functions whose callers choose a revision.",
  "spec.revisionActivationPolicy": "Automatic activates a new revision at once; Manual leaves that to you.",
  "spec.rolloutPolicy": "How new revisions of the Function are rolled out, instead of taking over at once.",
  "spec.rolloutPolicy.templateRef": "The FunctionRolloutTemplate with the steps and gates.",
  "spec.revisionHistoryLimit": "How many inactive revisions are kept; 0 for all of them.",
  "status.activeRevisions": "Names of the active revisions.",
  "status.currentIdentifier": "The package that the current revision was made of, as in spec.package.",
  "status.currentRevision": "Name of the newest revision.",
  "status.resolvedPackage": "Image that is fetched for spec.package, after ImageConfigs rewrote it.",
};

const revisionTexts: FieldTexts = {
  ...pullTexts,
  "spec.desiredState": "Active for a revision that is installed and runs, Inactive otherwise.",
  "spec.digest": "Digest of the image, as sha256:….",
  "spec.image": "Image of the package.",
  "spec.revision": "Number of the revision. The newest revision of a package has the highest one.",
  "spec.tlsClientSecretName": "Secret with the client certificate of the package.",
  "spec.tlsServerSecretName": "Secret with the server certificate of the package.",
  "status.capabilities": "What the package says it can do.",
  "status.endpoint": "gRPC target at which the function is called.",
  "status.foundDependencies": "Number of packages that this one depends on.",
  "status.installedDependencies": "How many of them are installed.",
  "status.invalidDependencies": "How many of them are installed in a version that does not meet the constraint.",
  "status.objectRefs": "Objects that the package installed.",
  "status.objectRefs.apiVersion": "apiVersion of the object.",
  "status.objectRefs.kind": "Kind of the object.",
  "status.objectRefs.name": "Name of the object.",
  "status.objectRefs.uid": "UID of the object.",
  "status.resolvedImage": "Image that is fetched for spec.image, after ImageConfigs rewrote it.",
  "status.tlsClientSecretName": "Secret with the client certificate in use.",
  "status.tlsServerSecretName": "Secret with the server certificate in use.",
};

const abouts: Readonly<Record<PackageKind, string>> = {
  Function:
    "A Function installs a composition function from a package and runs it. Pipelines of Compositions call it by name.",
  Provider:
    "A Provider installs a provider from a package: CRDs of managed resources, and the controller that reconciles them.",
  Configuration: "A Configuration installs definitions, compositions and the packages they depend on from a package.",
};

export function packageDocs(kind: PackageKind): KindDocs {
  return { about: abouts[kind], fields: packageTexts };
}

export function packageRevisionDocs(kind: PackageKind): KindDocs {
  const about = `A ${kind}Revision is one version of the package of a ${kind}. The control plane creates it.`;
  return { about, fields: revisionTexts };
}
