// SPDX-License-Identifier: Apache-2.0

export { functionCrds, packageCrds } from "./crds/package-crds.ts";
export { collectImages, digestsOfRevisions } from "./fetch/collect-images.ts";
export { openImagePins, pinFetched } from "./fetch/image-pins.ts";
export { createPackageClient, type PackageClient } from "./fetch/package-client.ts";
export { type PackageType, packageTypes, policyMark, rolloutTemplateType, rolloutType } from "./package-kinds.ts";
export { ensureNamespace, ensureObject } from "./runtime/apply-owned.ts";
export { authoritySecretName, type CertificateDeps } from "./runtime/certificates/authority-secret.ts";
export { ensureLeaf } from "./runtime/certificates/leaf-secret.ts";
export { followOwned } from "./runtime/kubernetes/delete-owned.ts";
export { createKubernetesRuntime } from "./runtime/kubernetes/kubernetes-runtime.ts";
export { defaultRuntimeConfig } from "./runtime/kubernetes/runtime-config.ts";
export { createRevisionLeases, type RevisionLeases } from "./runtime/leases.ts";
export { createProcessRuntime } from "./runtime/process-runtime.ts";
export { createDeniedRequests } from "./runtime/provider/denied-requests.ts";
export type { ProviderHost, WebhookTarget } from "./runtime/provider/provider-host.ts";
export { createProviderRuntime } from "./runtime/provider/provider-runtime.ts";
export {
  createPackageControllers,
  type PackageControllerOptions,
  packageControllerName,
  revisionControllerName,
  runtimeControllerName,
} from "./setup.ts";
