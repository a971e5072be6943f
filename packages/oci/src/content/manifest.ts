// SPDX-License-Identifier: Apache-2.0
import { isDigest } from "./digest.ts";
import { isIndexType, mediaTypes } from "./media-types.ts";
import { OciError } from "./oci-error.ts";

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
    throw new OciError("not-an-image", `${where} is not an image manifest of schema version 2`);
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
    throw new OciError("not-an-image", `${where} is not JSON`, { cause });
  }
  throw new OciError("not-an-image", `${where} is not a JSON object`);
}

function descriptors(value: unknown, where: string): Descriptor[] {
  if (!Array.isArray(value)) throw new OciError("not-an-image", `${where} is not a list`);
  if (value.length > maxEntries) throw new OciError("not-an-image", `${where} has more than ${maxEntries} entries`);
  return value.map((item, at) => descriptor(item, `${where}[${at}]`));
}

function descriptor(value: unknown, where: string): Descriptor {
  const { mediaType, digest, size, annotations, platform } = (value ?? {}) as Record<string, unknown>;
  if (typeof mediaType !== "string" || typeof digest !== "string" || !isDigest(digest)) {
    throw new OciError("not-an-image", `${where} has no media type or no sha256 digest`);
  }
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) {
    throw new OciError("not-an-image", `${where} has no size`);
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
