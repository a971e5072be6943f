// SPDX-License-Identifier: Apache-2.0

/** Media types of images, those of OCI and Docker's own. */
export const mediaTypes = {
  ociManifest: "application/vnd.oci.image.manifest.v1+json",
  ociIndex: "application/vnd.oci.image.index.v1+json",
  ociConfig: "application/vnd.oci.image.config.v1+json",
  ociLayer: "application/vnd.oci.image.layer.v1.tar",
  ociLayerZstd: "application/vnd.oci.image.layer.v1.tar+zstd",
  ociLayerGzip: "application/vnd.oci.image.layer.v1.tar+gzip",
  dockerManifest: "application/vnd.docker.distribution.manifest.v2+json",
  dockerIndex: "application/vnd.docker.distribution.manifest.list.v2+json",
} as const;

/** The Accept header of manifest requests. */
export const acceptedManifests: string = [
  mediaTypes.ociIndex,
  mediaTypes.dockerIndex,
  mediaTypes.ociManifest,
  mediaTypes.dockerManifest,
].join(", ");

/** Whether a manifest lists other manifests. */
export function isIndexType(mediaType: string): boolean {
  return mediaType === mediaTypes.ociIndex || mediaType === mediaTypes.dockerIndex;
}

/** Whether a document of this type is a manifest of either kind. */
export function isManifestType(mediaType: string): boolean {
  return acceptedManifests.split(", ").includes(mediaType);
}

/** How a layer is compressed. The name ends in it, in every dialect; Docker calls gzip `tar.gzip`. */
export function compressionOf(mediaType: string): "none" | "gzip" | "zstd" {
  if (mediaType.endsWith("gzip")) return "gzip";
  return mediaType.endsWith("zstd") ? "zstd" : "none";
}

/** The OCI media type of a layer, also for a Docker layer. */
export function ociLayerType(mediaType: string): string {
  const compression = compressionOf(mediaType);
  if (compression === "gzip") return mediaTypes.ociLayerGzip;
  return compression === "zstd" ? mediaTypes.ociLayerZstd : mediaTypes.ociLayer;
}
