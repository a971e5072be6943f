// SPDX-License-Identifier: Apache-2.0
import type { TypeRef } from "@purlin/kube-objects/object";
import type { PackageKind } from "@purlin/oci";

/** A kind of package: its objects, and whether it has a runtime. */
export interface PackageType {
  readonly kind: PackageKind;
  readonly package: TypeRef;
  readonly revision: TypeRef;
  /** Functions and Providers are programs. */
  readonly hasRuntime: boolean;
}

export const packageApiVersion = "pkg.crossplane.io/v1";

function packageType(kind: PackageKind, hasRuntime: boolean): PackageType {
  const apiVersion = packageApiVersion;
  return { kind, package: { apiVersion, kind }, revision: { apiVersion, kind: `${kind}Revision` }, hasRuntime };
}

/** The kinds of packages. */
export const packageTypes: Readonly<Record<PackageKind, PackageType>> = {
  Configuration: packageType("Configuration", false),
  Function: packageType("Function", true),
  Provider: packageType("Provider", true),
};

const v1beta1 = "pkg.crossplane.io/v1beta1";

/** The other kinds that packages are made of. */
export const otherKinds: Readonly<
  Record<"lock" | "imageConfig" | "runtimeConfig" | "secret" | "serviceAccount", TypeRef>
> = {
  lock: { apiVersion: v1beta1, kind: "Lock" },
  imageConfig: { apiVersion: v1beta1, kind: "ImageConfig" },
  runtimeConfig: { apiVersion: v1beta1, kind: "DeploymentRuntimeConfig" },
  secret: { apiVersion: "v1", kind: "Secret" },
  serviceAccount: { apiVersion: "v1", kind: "ServiceAccount" },
};

/** What the kinds of a Provider are defined by. A managed resource definition has the name of its CRD. */
export const definitionKinds: ReadonlySet<string> = new Set(["CustomResourceDefinition", "ManagedResourceDefinition"]);

/** Rollouts of functions and Compositions. */
export const rolloutType: TypeRef = { apiVersion: "pkg.crossplane.io/v1alpha1", kind: "FunctionRollout" };
/** What rollouts that start by themselves are made of. */
export const rolloutTemplateType: TypeRef = {
  apiVersion: "pkg.crossplane.io/v1alpha1",
  kind: "FunctionRolloutTemplate",
};

/** The annotation that withholds a new revision of a Function with a rolloutPolicy has this value until its rollout exists. */
export const policyMark = "rollout-policy";

export const packageLabels = {
  /** On every revision: the name of its package. */
  package: "pkg.crossplane.io/package",
  /** On runtime Pods and in selectors. */
  revision: "pkg.crossplane.io/revision",
  function: "pkg.crossplane.io/function",
  provider: "pkg.crossplane.io/provider",
  family: "pkg.crossplane.io/provider-family",
} as const;

/** The prefix of labels of the package manager: never copied from a user's labels. */
export const reservedPrefix = "pkg.crossplane.io/";

export const packageFinalizers = {
  revision: "revision.pkg.crossplane.io",
  lock: "lock.pkg.crossplane.io",
} as const;
