// SPDX-License-Identifier: Apache-2.0
// The kinds that rollouts are about, and what the suites look at in them.
import type { KubeObject } from "@purlin/kube-objects/object";

export const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };
export const functionRevisionType = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" };
export const lockType = { apiVersion: "pkg.crossplane.io/v1beta1", kind: "Lock" };
export const imageConfigType = { apiVersion: "pkg.crossplane.io/v1beta1", kind: "ImageConfig" };
export const compositionType = { apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition" };
export const compositionRevisionType = { apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositionRevision" };
export const configMapType = { apiVersion: "v1", kind: "ConfigMap" };

/** The label that says of which Function a revision is. */
export const packageLabel = "pkg.crossplane.io/package";

/** What a FunctionRevision says about itself. */
export interface RevisionText {
  readonly spec: {
    readonly desiredState: string;
    readonly revision: number;
    readonly digest?: string;
    readonly image: string;
  };
  readonly status?: { readonly endpoint?: string; readonly capabilities?: readonly string[] };
}

/** What a Function says about its revisions. */
export interface FunctionStatus {
  readonly currentRevision?: string;
  readonly activeRevisions?: readonly string[];
}

/** What a composite resource says about what made it. */
export interface CompositeText {
  readonly spec: { readonly crossplane?: { readonly compositionRevisionRef?: { readonly name: string } } };
  readonly status?: {
    readonly lastHandledReconcileAt?: string;
    readonly crossplane?: {
      readonly functionRevisions?: readonly { readonly step: string; readonly functionRevision: string }[];
    };
  };
}

export const revisionText = (object: KubeObject): RevisionText => object as unknown as RevisionText;
export const compositeText = (object: KubeObject): CompositeText => object as unknown as CompositeText;
export const functionStatus = (object: KubeObject): FunctionStatus => (object["status"] ?? {}) as FunctionStatus;

/** Whether a FunctionRevision takes calls. */
export function isServing(object: KubeObject): boolean {
  const { spec, status } = revisionText(object);
  return spec.desiredState === "Active" && Boolean(status?.endpoint) && (status?.capabilities?.length ?? 0) > 0;
}
