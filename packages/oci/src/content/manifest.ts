// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { OciError } from "./oci-error.ts";

const digestPattern = /^sha256:[0-9a-f]{64}$/;

/** Whether a text is the kind of digest we read and write. */
export function isDigest(text: string): boolean {
  return digestPattern.test(text);
}

/** The digest of some bytes. */
export function digestOf(bytes: Uint8Array | string): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

/** The hexadecimal part of a digest. */
export function hexOf(digest: string): string {
  return digest.slice("sha256:".length);
}

/** Names a blob by what is in it. */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly platform?: Platform | undefined;
}

/** What an image runs on. */
export interface Platform {
  readonly os: string;
  readonly architecture: string;
  readonly variant?: string | undefined;
}

/** The manifest of one image. */
export interface ImageManifest {
  readonly mediaType: string;
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** A list of images of one name, one a platform. */
export interface ImageIndex {
  readonly mediaType: string;
  readonly manifests: readonly Descriptor[];
}

/** The document at a reference. */
export type Manifest =
  | { readonly kind: "image"; readonly image: ImageManifest }
  | { readonly kind: "index"; readonly index: ImageIndex };

/** A registry may send anything: what is larger is not read. */
export const maxManifestBytes: number = 4 * 1024 * 1024;
const maxEntries = 1_000;

/** Reads a manifest and checks everything that is used later. `where` names it in errors. */
export function parseManifest(bytes: Uint8Array, contentType: string, where: string): Manifest {
  const document = parseDocument(bytes, where);
  const mediaType = textOf(document["mediaType"]) ?? contentType.split(";")[0]?.trim() ?? "";
  if (isIndexType(mediaType) || (mediaType === "" && Array.isArray(document["manifests"]))) {
    const manifests = descriptors(document["manifests"], `${where}: manifests`);
    return { kind: "index", index: { mediaType: mediaType || mediaTypes.ociIndex, manifests } };
  }
  if (document["schemaVersion"] !== 2) {
    throw new OciError("NOT_AN_IMAGE", `${where} is not an image manifest of schema version 2`);
  }
  return {
    kind: "image",
    image: {
      mediaType: mediaType || mediaTypes.ociManifest,
      config: descriptor(document["config"], `${where}: config`),
      layers: descriptors(document["layers"], `${where}: layers`),
      annotations: textMap(document["annotations"]),
    },
  };
}

function parseDocument(bytes: Uint8Array, where: string): Record<string, unknown> {
  try {
    const document: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    if (typeof document === "object" && document !== null) return document as Record<string, unknown>;
  } catch (cause) {
    throw new OciError("NOT_AN_IMAGE", `${where} is not JSON`, { cause });
  }
  throw new OciError("NOT_AN_IMAGE", `${where} is not a JSON object`);
}

function descriptors(value: unknown, where: string): Descriptor[] {
  if (!Array.isArray(value)) throw new OciError("NOT_AN_IMAGE", `${where} is not a list`);
  if (value.length > maxEntries) throw new OciError("NOT_AN_IMAGE", `${where} has more than ${maxEntries} entries`);
  return value.map((item, at) => descriptor(item, `${where}[${at}]`));
}

function descriptor(value: unknown, where: string): Descriptor {
  const { mediaType, digest, size, annotations, platform } = (value ?? {}) as Record<string, unknown>;
  if (typeof mediaType !== "string" || typeof digest !== "string" || !isDigest(digest)) {
    throw new OciError("NOT_AN_IMAGE", `${where} has no media type or no sha256 digest`);
  }
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) {
    throw new OciError("NOT_AN_IMAGE", `${where} has no size`);
  }
  return { mediaType, digest, size, annotations: textMap(annotations), platform: platformOf(platform) };
}

function platformOf(value: unknown): Platform | undefined {
  const { os, architecture, variant } = (value ?? {}) as Record<string, unknown>;
  if (typeof os !== "string" || typeof architecture !== "string") return undefined;
  return { os, architecture, variant: textOf(variant) };
}

function textMap(value: unknown): Readonly<Record<string, string>> | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.fromEntries(Object.entries(value).filter(([, text]) => typeof text === "string"));
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

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

const architectures: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386", arm: "arm", arm64: "arm64" };

/** The platform of a Node process, in the words of images. */
export function platformOfNode({ platform, arch }: { readonly platform: string; readonly arch: string }): Platform {
  return { os: platform, architecture: architectures[arch] ?? arch };
}

/** The image of an index that runs on a platform. A single one is taken whatever it says: a package may be just data. */
export function selectPlatform(index: ImageIndex, wanted: Platform, where: string): Descriptor {
  const images = index.manifests.filter(({ platform }) => platform?.os !== "unknown");
  const [only, ...others] = images;
  if (only !== undefined && others.length === 0) return only;
  const match = images.find(({ platform }) => isSame(platform, wanted));
  if (match !== undefined) return match;
  const offered = images.map(({ platform }) => (platform ? platformText(platform) : "none")).join(", ");
  throw new OciError(
    "WRONG_PLATFORM",
    `${where} has no image for ${platformText(wanted)}, only for ${offered || "nothing"}; push one for that platform`,
  );
}

/** A platform as `os/architecture`. */
export function platformText({ os, architecture, variant }: Platform): string {
  return variant === undefined ? `${os}/${architecture}` : `${os}/${architecture}/${variant}`;
}

function isSame(platform: Platform | undefined, wanted: Platform): boolean {
  return platform?.os === wanted.os && platform.architecture === wanted.architecture;
}

/** How the process of an image is started. */
export interface ProcessConfig {
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  /** `NAME=value`. */
  readonly env: readonly string[];
  readonly workingDir: string;
  readonly user: string;
}

/** The configuration of an image. */
export interface ImageConfig {
  readonly os: string;
  readonly architecture: string;
  readonly process: ProcessConfig;
  readonly labels: Readonly<Record<string, string>>;
  readonly diffIds: readonly string[];
}

/** Reads the configuration of an image; what is missing or of another type counts as not set. */
export function parseImageConfig(bytes: Uint8Array, name: string): ImageConfig {
  const document = objectOf(parseJson(bytes, name));
  const config = objectOf(document["config"]);
  return {
    os: stringOf(document["os"]),
    architecture: stringOf(document["architecture"]),
    process: {
      entrypoint: textsOf(config["Entrypoint"]),
      cmd: textsOf(config["Cmd"]),
      env: textsOf(config["Env"]),
      workingDir: stringOf(config["WorkingDir"]) || "/",
      user: stringOf(config["User"]),
    },
    labels: Object.fromEntries(
      Object.entries(objectOf(config["Labels"])).map(([key, value]) => [key, stringOf(value)]),
    ),
    diffIds: textsOf(objectOf(document["rootfs"])["diff_ids"]),
  };
}

/** Writes the configuration of an image, always in the same bytes. */
export function formatImageConfig({ os, architecture, process, labels, diffIds }: ImageConfig): Buffer {
  const { entrypoint, cmd, env, workingDir, user } = process;
  const sortedLabels = Object.fromEntries(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return Buffer.from(
    JSON.stringify({
      architecture,
      os,
      config: {
        ...(user && { User: user }),
        ExposedPorts: { "9443/tcp": {} },
        ...(env.length > 0 && { Env: env }),
        ...(entrypoint.length > 0 && { Entrypoint: entrypoint }),
        ...(cmd.length > 0 && { Cmd: cmd }),
        WorkingDir: workingDir,
        Labels: sortedLabels,
      },
      rootfs: { type: "layers", diff_ids: diffIds },
    }),
  );
}

function parseJson(bytes: Uint8Array, name: string): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch (cause) {
    throw new OciError("NOT_AN_IMAGE", `${name}: the configuration is not JSON`, { cause });
  }
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
}
