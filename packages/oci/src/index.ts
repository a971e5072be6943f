// SPDX-License-Identifier: Apache-2.0

// References, digests and manifests:

export {
  formatReference,
  type ImageReference,
  isImageReferenceError,
  parseReference,
  parseRepository,
  sourceOf,
} from "./content/image-reference.ts";
export {
  type Descriptor,
  digestOf,
  hexOf,
  type ImageManifest,
  isDigest,
  ociLayerType,
  type Platform,
  platformOfNode,
  platformText,
} from "./content/manifest.ts";
export { isOciError, OciError } from "./content/oci-error.ts";
export { createTarReader } from "./image/layer-archive.ts";

// Blobs on disk:

export { type ContentStore, openContentStore } from "./content/content-store.ts";

// Layers, and images unpacked into a folder:

export { type ImageConfig, type ProcessConfig, parseImageConfig } from "./content/manifest.ts";
export { type ImageRoots, openImageRoots } from "./image/image-root.ts";
export { fileEntry, folderEntries, type LayerEntry, type WrittenLayer } from "./image/layer-archive.ts";
export { makeMountPoint, pathInside, unpackLayer } from "./image/unpack-layer.ts";

// The client of registries:

export {
  type CredentialsFor,
  credentialsFromDockerConfig,
  firstCredentials,
  isPullSecretError,
  type RegistryCredentials,
} from "./client/registry-auth.ts";
export { createRegistryClient, type RegistryClient, type RegistryClientOptions } from "./client/registry-client.ts";
export type { RegistryHttpOptions } from "./client/registry-http.ts";

// The registry of a control plane:

export { type Registry, reachableFrom, startRegistry } from "./registry/registry.ts";
export { provesToken, registryUser } from "./registry/registry-handler.ts";

// Versions and constraints of packages:

export { compareVersions, parseConstraint, parseVersion, type Version } from "./version/version.ts";

// Crossplane packages (xpkg): build, read, push and pull:

export { bundleCommand, bundleFunction, bundlePath, bundleProgram } from "./xpkg/bundle-function.ts";
export { type PackageContents, parsePackage, type StreamPlace } from "./xpkg/package-contents.ts";
export {
  type BuiltImage,
  buildImage,
  type PackageImageParts,
  type PulledImage,
  pullImage,
  pushPackage,
  runtimeLabel,
} from "./xpkg/package-image.ts";
export {
  dnsLabel,
  friendlyName,
  hasCapability,
  isPackageError,
  type PackageDependency,
  PackageError,
  type PackageKind,
  type PackageMeta,
} from "./xpkg/package-meta.ts";
export { packageLayers, readPackageText } from "./xpkg/read-package.ts";
export { readArchive, writeArchive } from "./xpkg/xpkg-archive.ts";
