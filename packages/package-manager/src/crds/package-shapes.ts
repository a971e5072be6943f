// SPDX-License-Identifier: Apache-2.0
import { atomicMap, checked, defaulted, type Fields, flag, listOf, mapOf, object, text } from "@purlin/kube-controller";
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
