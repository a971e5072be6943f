// SPDX-License-Identifier: Apache-2.0

// The CRDs of packages.
export { functionCrds, packageCrds } from "./crds/package-crds.ts";
// Managing packages.
export { collectImages, type ImageCollection } from "./fetch/collect-images.ts";
export { type ImagePins, openImagePins, pinFetched } from "./fetch/image-pins.ts";
export { createPackageClient, type PackageClient, type PackageClientOptions } from "./fetch/package-client.ts";
export { digestsOfRevisions } from "./fetch/revision-digests.ts";
export { type ImageConfig, type ProcessConfig, parseImageConfig } from "./image/image-config.ts";
export { type ImageRoots, openImageRoots } from "./image/image-root.ts";
// Images, their files and their registries.
export { fileEntry, folderEntries, type LayerEntry } from "./image/layer-entry.ts";
export { type LayerSource, type UnpackBudget, unpackLayer } from "./image/unpack-layer.ts";
export type { WrittenLayer } from "./image/write-layer.ts";
export { defaultFunctionLimits, type FunctionLimits } from "./limits/function-limits.ts";
export type { PackagePorts } from "./manager/package-manager-ports.ts";
export { type ContentStore, openContentStore } from "./oci/content-store.ts";
export {
  formatReference,
  type ImageReference,
  isImageReferenceError,
  parseReference,
  sourceOf,
} from "./oci/image-reference.ts";
export type { Descriptor, ImageManifest, Platform } from "./oci/manifest.ts";
export { ociLayerType } from "./oci/media-types.ts";
export { isOciError, OciError, type OciErrorCode } from "./oci/oci-error.ts";
export { platformOfNode, platformText } from "./oci/platform.ts";
export { createRegistryClient, type RegistryClient, type RegistryClientOptions } from "./oci/registry-client.ts";
export {
  type CredentialsFor,
  credentialsFromDockerConfig,
  firstCredentials,
  isPullSecretError,
  type RegistryCredentials,
} from "./oci/registry-credentials.ts";
export type { RegistryHttpOptions } from "./oci/registry-http.ts";
export { type PackageType, packageTypes } from "./package-kinds.ts";
export { collectFunctionLogs, type FunctionLog, functionLogFolder, listFunctionLogs } from "./process/function-logs.ts";
// Functions as child processes.
export type {
  FunctionProcess,
  FunctionSpec,
  ProcessLimits,
  ProcessState,
  ServedFunction,
} from "./process/function-process.ts";
export {
  createFunctionProcesses,
  type FunctionProcesses,
  type FunctionProcessesOptions,
} from "./process/function-processes.ts";
// The pieces, for whoever serves one function in another way.
export { closeInheritedDescriptors } from "./process/inherited-descriptors.ts";
export type { Launch, LaunchEvents, Launched } from "./process/launch.ts";
export type { FunctionProgram } from "./process/launch-function.ts";
export { type LogFile, openLogFile } from "./process/log-file.ts";
export type { SourceFolders } from "./process/source-file.ts";
export { createSourceRuntime, type SourceOptions, sourceSpec } from "./process/source-runtime.ts";
export type { SupervisionOptions } from "./process/supervision.ts";
export {
  type RestartPolicy,
  Supervisor,
  type SupervisorObserver,
  type SupervisorOptions,
} from "./process/supervisor.ts";
export { type ImageTrial, type StartFailure, tryImage } from "./process/try-image.ts";
export { isWorkerMessage, type WorkerMessage } from "./process/worker-message.ts";
export { workerProgram } from "./process/worker-program.ts";
export { type Registry, type RegistryOptions, startRegistry } from "./registry/registry.ts";
export { provesToken, registryUser } from "./registry/registry-access.ts";
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
export { findSandbox, type SandboxSupport } from "./sandbox/find-sandbox.ts";
export { mountPoints } from "./sandbox/sandbox-arguments.ts";
export {
  createPackageControllers,
  type PackageControllerOptions,
  packageControllerName,
  revisionControllerName,
  runtimeControllerName,
} from "./setup.ts";
// Packages.
export { type BuiltImage, buildImage, type PackageImageParts, runtimeLabel } from "./xpkg/build-image.ts";
export { bundleCommand, bundleFunction, bundlePath, type FunctionBundle } from "./xpkg/bundle-function.ts";
export { dnsLabel } from "./xpkg/friendly-name.ts";
export { type PackageContents, parsePackage } from "./xpkg/package-contents.ts";
export { isPackageError, PackageError } from "./xpkg/package-error.ts";
export type { PackageDependency, PackageKind, PackageMeta } from "./xpkg/package-meta.ts";
export type { StreamPlace } from "./xpkg/package-stream.ts";
export { isComplete, type PulledImage, type PullOptions, pullImage } from "./xpkg/pull-image.ts";
export { pushPackage } from "./xpkg/push-package.ts";
export { packageLayers, readPackageText } from "./xpkg/read-package.ts";
export { readArchive, writeArchive } from "./xpkg/xpkg-archive.ts";
