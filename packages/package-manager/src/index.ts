// SPDX-License-Identifier: Apache-2.0

export { functionCrds, packageCrds } from "./crds/package-crds.ts";
export { collectImages, digestsOfRevisions, openImagePins, pinFetched } from "./fetch/image-pins.ts";
export { createPackageClient, type PackageClient } from "./fetch/package-client.ts";
export { isInstalledWith } from "./manager/package-revision.ts";
export { type PackageType, packageTypes, policyMark, rolloutTemplateType, rolloutType } from "./package-kinds.ts";
export { authoritySecretName, type CertificateDeps, ensureLeaf } from "./runtime/certificates/certificate-secrets.ts";
export { createKubernetesRuntime } from "./runtime/kubernetes/kubernetes-runtime.ts";
export { defaultRuntimeConfig } from "./runtime/kubernetes/runtime-scene.ts";
export { ensureNamespace, ensureObject, followOwned } from "./runtime/owned-objects.ts";
export { createRevisionLeases, type RevisionLeases } from "./runtime/package-runtime.ts";
export { createProcessRuntime } from "./runtime/process-runtime.ts";
export { createDeniedRequests, type ProviderHost, type WebhookTarget } from "./runtime/provider/provider-host.ts";
export { createProviderRuntime } from "./runtime/provider/provider-runtime.ts";
export {
  createPackageControllers,
  type PackageControllerOptions,
  packageControllerName,
  revisionControllerName,
  runtimeControllerName,
} from "./setup.ts";
