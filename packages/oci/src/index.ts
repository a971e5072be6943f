// SPDX-License-Identifier: Apache-2.0

// References, digests and manifests:

export { digestOf, hexOf, isDigest } from "./content/digest.ts";
export {
  formatReference,
  type ImageReference,
  isImageReferenceError,
  parseReference,
  parseRepository,
  sourceOf,
} from "./content/image-reference.ts";
export type { Descriptor, ImageManifest, Platform } from "./content/manifest.ts";
export { ociLayerType } from "./content/media-types.ts";
export { isOciError, OciError } from "./content/oci-error.ts";
export { platformOfNode, platformText } from "./content/platform.ts";

// Blobs on disk:

export { type ContentStore, openContentStore } from "./content/content-store.ts";

// Layers, and images unpacked into a folder:

export { type ImageConfig, type ProcessConfig, parseImageConfig } from "./image/image-config.ts";
export { type ImageRoots, openImageRoots } from "./image/image-root.ts";
export { fileEntry, folderEntries, type LayerEntry } from "./image/layer-entry.ts";
export { makeMountPoint } from "./image/mount-point.ts";
export { pathInside } from "./image/path-inside.ts";
export { unpackLayer } from "./image/unpack-layer.ts";
export type { WrittenLayer } from "./image/write-layer.ts";

// The client of registries:

export { createRegistryClient, type RegistryClient, type RegistryClientOptions } from "./client/registry-client.ts";
export {
  type CredentialsFor,
  credentialsFromDockerConfig,
  firstCredentials,
  isPullSecretError,
  type RegistryCredentials,
} from "./client/registry-credentials.ts";
export type { RegistryHttpOptions } from "./client/registry-http.ts";

// The registry of a control plane:

export { reachableFrom } from "./registry/reachable.ts";
export { type Registry, startRegistry } from "./registry/registry.ts";
export { provesToken, registryUser } from "./registry/registry-access.ts";

// Versions and constraints of packages:

export { parseConstraint } from "./version/constraint.ts";
export { compareVersions, parseVersion, type Version } from "./version/version.ts";

// Crossplane packages (xpkg): build, read, push and pull:

export { type BuiltImage, buildImage, type PackageImageParts, runtimeLabel } from "./xpkg/build-image.ts";
export { bundleCommand, bundleFunction, bundlePath, bundleProgram } from "./xpkg/bundle-function.ts";
export { dnsLabel, friendlyName } from "./xpkg/friendly-name.ts";
export { type PackageContents, parsePackage } from "./xpkg/package-contents.ts";
export { isPackageError, PackageError } from "./xpkg/package-error.ts";
export { hasCapability, type PackageDependency, type PackageKind, type PackageMeta } from "./xpkg/package-meta.ts";
export type { StreamPlace } from "./xpkg/package-stream.ts";
export { type PulledImage, pullImage } from "./xpkg/pull-image.ts";
export { pushPackage } from "./xpkg/push-package.ts";
export { packageLayers, readPackageText } from "./xpkg/read-package.ts";
export { readArchive, writeArchive } from "./xpkg/xpkg-archive.ts";
