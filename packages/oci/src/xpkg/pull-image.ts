// SPDX-License-Identifier: Apache-2.0
import { Readable } from "node:stream";
import type { FetchedManifest, RegistryCall, RegistryClient } from "../client/registry-client.ts";
import type { ContentStore } from "../content/content-store.ts";
import { formatReference, type ImageReference } from "../content/image-reference.ts";
import {
  type Descriptor,
  type ImageManifest,
  type Platform,
  parseManifest,
  selectPlatform,
} from "../content/manifest.ts";
import { isOciError, OciError } from "../content/oci-error.ts";

/** An image that was fetched, by what its reference points to. */
export interface PulledImage {
  /** The digest behind the reference: that of the index where there is one. */
  readonly digest: string;
  readonly manifest: ImageManifest;
  readonly manifestDigest: string;
}

/** Which parts of an image are wanted. */
interface PullOptions extends RegistryCall {
  readonly platform: Platform;
  /** Which layers; all unless given. The configuration always comes along. */
  readonly layers?: ((manifest: ImageManifest) => readonly Descriptor[]) | undefined;
  /** False: only from the registry, even what is in the store already. */
  readonly preferStore?: boolean | undefined;
}

/** Fetches an image into the store: manifests first, then what is missing of its parts. */
export async function pullImage(
  client: RegistryClient,
  store: ContentStore,
  { reference, options }: { reference: ImageReference; options: PullOptions },
): Promise<PulledImage> {
  const top = await manifestOf(client, store, { reference, options });
  let { manifest, descriptor } = top;
  if (manifest.kind === "index") {
    const chosen = selectPlatform(manifest.index, options.platform, formatReference(reference));
    const inner = { ...reference, tag: undefined, digest: chosen.digest };
    ({ manifest, descriptor } = await manifestOf(client, store, { reference: inner, options }));
  }
  if (manifest.kind === "index")
    throw new Error(`${formatReference(reference)}: nested image indexes are not supported`);
  const { image } = manifest;
  const layers = options.layers?.(image) ?? image.layers;
  requireRoomFor(image, layers, formatReference(reference));
  for (const part of [image.config, ...layers]) {
    await client.pullBlob(reference, { descriptor: part, into: store }, options);
  }
  return { digest: top.descriptor.digest, manifest: image, manifestDigest: descriptor.digest };
}

async function manifestOf(
  client: RegistryClient,
  store: ContentStore,
  { reference, options }: { reference: ImageReference; options: PullOptions },
): Promise<Pick<FetchedManifest, "descriptor" | "manifest">> {
  const { digest } = reference;
  if (digest !== undefined && options.preferStore !== false && (await store.has(digest))) {
    const bytes = await store.read({ digest });
    const manifest = parseManifest(bytes, "", formatReference(reference));
    const { mediaType } = manifest.kind === "image" ? manifest.image : manifest.index;
    return { descriptor: { mediaType, digest, size: bytes.length }, manifest };
  }
  const fetched = await client.manifest(reference, options);
  const { descriptor, bytes } = fetched;
  await store.ingest(descriptor, async () => ({ bytes: Readable.from([bytes]), offset: 0 }));
  return fetched;
}

/** Checked before the download: the configuration is read into memory, and larger images are never unpacked. */
const maxConfigBytes = 4 * 1024 ** 2;
const maxLayerBytes = 4 * 1024 ** 3;

function requireRoomFor({ config }: ImageManifest, layers: readonly Descriptor[], name: string): void {
  if (config.size > maxConfigBytes) {
    throw new OciError("TOO_LARGE", `${name}: its configuration has ${config.size} bytes; 4 MiB are allowed`);
  }
  const bytes = layers.reduce((sum, { size }) => sum + size, 0);
  if (bytes > maxLayerBytes) {
    throw new OciError("TOO_LARGE", `${name}: its layers have ${bytes} bytes; 4 GiB are allowed`);
  }
}

/** Whether everything of an image is in the store, so that no registry is needed. */
export async function isComplete(store: ContentStore, digest: string, platform: Platform): Promise<boolean> {
  try {
    if (!(await store.has(digest))) return false;
    let manifest = parseManifest(await store.read({ digest }), "", digest);
    if (manifest.kind === "index") {
      const chosen = selectPlatform(manifest.index, platform, digest);
      if (!(await store.has(chosen.digest))) return false;
      manifest = parseManifest(await store.read(chosen), "", chosen.digest);
    }
    if (manifest.kind === "index") return false;
    const parts = [manifest.image.config, ...manifest.image.layers];
    return (await Promise.all(parts.map(({ digest: part }) => store.has(part)))).every(Boolean);
  } catch (error) {
    if (isOciError(error)) return false;
    throw error;
  }
}
