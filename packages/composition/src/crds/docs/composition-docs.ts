// SPDX-License-Identifier: Apache-2.0
import { type FieldTexts, type KindDocs, under } from "@purlin/kube-controller";
import { selectionTexts, stepTexts } from "./step-docs.ts";

const commonTexts: FieldTexts = {
  "spec.compositeTypeRef": "The kind of composite resource that is composed this way. Cannot be changed.",
  "spec.compositeTypeRef.apiVersion": "apiVersion of the composite resource.",
  "spec.compositeTypeRef.kind": "Kind of the composite resource.",
  "spec.mode": "How resources are composed. Pipeline, which runs functions one after the other, is the only mode.",
  "spec.pipeline":
    "Steps that run in this order at each reconcile of a composite resource. Each step calls a function with the desired state " +
    "that the steps before it have built, and hands its own result on. What the last step returns is applied.",
  ...under("spec.pipeline", { ...stepTexts, ...selectionTexts }),
  "spec.writeConnectionSecretsToNamespace":
    "Namespace for the connection Secrets of composite resources that can have one (scope LegacyCluster).",
};

export const compositionDocs: KindDocs = {
  about:
    "A Composition says how composite resources of one kind are composed of other resources: by a pipeline of functions. Each " +
    "change of its spec makes a new CompositionRevision.",
  fields: commonTexts,
};

export const compositionRevisionDocs: KindDocs = {
  about:
    "A CompositionRevision is the spec of a Composition as it was at one time. The control plane creates it; composite resources " +
    "use one, chosen by their update policy and selector.",
  fields: {
    ...commonTexts,
    "spec.revision": "Number of the revision. The newest revision of a Composition has the highest one.",
  },
};

export const environmentConfigDocs: KindDocs = {
  about: "An EnvironmentConfig holds data that functions can ask for, such as settings of a cluster or a region.",
  fields: { data: "Any data, by key." },
};
