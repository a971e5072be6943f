// SPDX-License-Identifier: Apache-2.0
// The manifests of the design "Controlled Rollout of Composition Functions", to the letter.

/** "to maintain up to four revisions and up to two active revisions" */
export const functionYaml = `
apiVersion: pkg.crossplane.io/v1
kind: Function
metadata:
  name: function-patch-and-transform
spec:
  package: xpkg.crossplane.io/crossplane-contrib/function-patch-and-transform:v0.8.2
  revisionHistoryLimit: 4
  activeRevisionLimit: 2
`;

/** "update their existing installation of the function by applying the following manifest" */
export const alphaFunctionYaml = `
apiVersion: pkg.crossplane.io/v1
kind: Function
metadata:
  name: function-patch-and-transform
  labels:
    release-channel: alpha
spec:
  package: xpkg.crossplane.io/crossplane-contrib/function-patch-and-transform:v0.8.2
  revisionHistoryLimit: 4
  activeRevisionLimit: 2
`;

/** "update their composition to reference the labeled function revision" */
export const alphaCompositionYaml = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata:
  name: example
  labels:
    release-channel: alpha
spec:
  compositeTypeRef:
    apiVersion: custom-api.example.org/v1alpha1
    kind: AcmeBucket
  mode: Pipeline
  pipeline:
  - step: patch-and-transform
    functionRef:
      name: function-patch-and-transform
    functionRevisionSelector:
      matchLabels:
        release-channel: alpha
    input:
      # Removed for brevity
`;

/** "update one or more XRs to use the new composition revision" */
export const bucketYaml = `
apiVersion: custom-api.example.org/v1alpha1
kind: AcmeBucket
metadata:
  name: my-bucket
spec:
  compositionUpdatePolicy: Manual
  compositionRevisionSelector:
    matchLabels:
      release-channel: alpha
`;
