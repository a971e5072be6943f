// SPDX-License-Identifier: Apache-2.0

export { functionCrds, packageCrds } from "./crds/package-crds.ts";
export { collectImages, type ImageCollection } from "./fetch/collect-images.ts";
export { type ImagePins, openImagePins, pinFetched } from "./fetch/image-pins.ts";
export { createPackageClient, type PackageClient, type PackageClientOptions } from "./fetch/package-client.ts";
export { digestsOfRevisions } from "./fetch/revision-digests.ts";
export type { PackagePorts } from "./manager/package-manager-ports.ts";
export { type PackageType, packageTypes } from "./package-kinds.ts";
export {
  authoritySecretName,
  type CertificatePorts,
  ensureAuthority,
} from "./runtime/certificates/authority-secret.ts";
export { ensureLeaf, type Leaf, type LeafRequest } from "./runtime/certificates/leaf-secret.ts";
export { followOwned } from "./runtime/kubernetes/follow-owned.ts";
export { createKubernetesRuntime } from "./runtime/kubernetes/kubernetes-runtime.ts";
export type { KubernetesRuntimeOptions } from "./runtime/kubernetes/kubernetes-runtime-options.ts";
export { defaultRuntimeConfig } from "./runtime/kubernetes/runtime-config.ts";
export type {
  PackageRuntime,
  Retirement,
  RuntimePass,
  RuntimePreparation,
  RuntimeReport,
} from "./runtime/package-runtime.ts";
export { createProcessRuntime, type ProcessRuntimeOptions } from "./runtime/process-runtime.ts";
export {
  createPackageControllers,
  type PackageControllerOptions,
  packageControllerName,
  revisionControllerName,
  runtimeControllerName,
} from "./setup.ts";
