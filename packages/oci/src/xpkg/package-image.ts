// SPDX-License-Identifier: Apache-2.0
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { FetchedManifest, RegistryCall, RegistryClient } from "../client/registry-client.ts";
import type { ContentStore } from "../content/content-store.ts";
import { formatReference, type ImageReference } from "../content/image-reference.ts";
import {
  type Descriptor,
  digestOf,
  formatImageConfig,
  type ImageManifest,
  mediaTypes,
  type Platform,
  type ProcessConfig,
  parseImageConfig,
  parseManifest,
  selectPlatform,
} from "../content/manifest.ts";
import { isOciError, OciError } from "../content/oci-error.ts";
import { fileEntry, type LayerEntry, type WrittenLayer, writeLayer } from "../image/layer-archive.ts";
import { packageFile, xpkgAnnotation } from "./read-package.ts";

/** The label of images that bring no base and run on Purlin's own Node: its value is `node`. */
export const runtimeLabel = "purlin.dev/runtime";

/** What an image of a package is made of, lowest layer first. */
export interface PackageImageParts {
  readonly platform: Platform;
  /** How the function is started; nothing for packages that run nothing. */
  readonly process: ProcessConfig;
  /** Layers of a base image, which are in the store already. */
  readonly base: readonly WrittenLayer[];
  /** Layers to write. */
  readonly layers: readonly (AsyncIterable<LayerEntry> | Iterable<LayerEntry>)[];
  readonly packageYaml: string;
  readonly examplesYaml?: string | undefined;
  /** More labels of the configuration. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** An image in a store. */
export interface BuiltImage {
  readonly descriptor: Descriptor;
  readonly manifest: ImageManifest;
  readonly bytes: Buffer;
}

/** The layers and annotations that make a package of an image; see the labels of its configuration, too. */
const kinds = { package: "base", examples: "upbound" } as const;
const examplesFile = ".up/examples.yaml";

/** Builds the image of a package into a store. The same parts give the same digest. */
export async function buildImage(store: ContentStore, parts: PackageImageParts): Promise<BuiltImage> {
  const folder = await mkdtemp(join(tmpdir(), "purlin-build-"));
  try {
    const runtime: WrittenLayer[] = [];
    for (const entries of parts.layers) runtime.push(await addLayer(store, folder, entries));
    const marked: { layer: WrittenLayer; kind: string }[] = [];
    if (parts.examplesYaml !== undefined) {
      const layer = await addLayer(store, folder, [fileEntry(examplesFile, parts.examplesYaml)]);
      marked.push({ layer, kind: kinds.examples });
    }
    // The package comes last: it changes more often than what it runs on.
    marked.push({
      layer: await addLayer(store, folder, [fileEntry(packageFile, parts.packageYaml)]),
      kind: kinds.package,
    });
    return await addManifest(store, parts, { plain: [...parts.base, ...runtime], marked });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function addLayer(
  store: ContentStore,
  folder: string,
  entries: AsyncIterable<LayerEntry> | Iterable<LayerEntry>,
): Promise<WrittenLayer> {
  const path = join(folder, "layer");
  const written = await writeLayer(entries, path);
  await store.adopt(path, written.descriptor.digest);
  return written;
}

interface Layers {
  readonly plain: readonly WrittenLayer[];
  readonly marked: readonly { readonly layer: WrittenLayer; readonly kind: string }[];
}

async function addManifest(
  store: ContentStore,
  { platform, process, labels: more = {} }: PackageImageParts,
  { plain, marked }: Layers,
): Promise<BuiltImage> {
  const labels = marked.map(({ layer, kind }): [string, string] => [
    `${xpkgAnnotation}:${layer.descriptor.digest}`,
    kind,
  ]);
  const diffIds = [...plain, ...marked.map(({ layer }) => layer)].map(({ diffId }) => diffId);
  const config = formatImageConfig({
    ...platform,
    process,
    labels: { ...more, ...Object.fromEntries(labels) },
    diffIds,
  });
  const manifest = {
    schemaVersion: 2,
    mediaType: mediaTypes.ociManifest,
    config: await addBytes(store, config, mediaTypes.ociConfig),
    layers: [
      ...plain.map(({ descriptor }) => descriptor),
      ...marked.map(({ layer, kind }) => ({ ...layer.descriptor, annotations: { [xpkgAnnotation]: kind } })),
    ],
  };
  const bytes = Buffer.from(JSON.stringify(manifest));
  return { descriptor: await addBytes(store, bytes, mediaTypes.ociManifest), manifest, bytes };
}

async function addBytes(store: ContentStore, bytes: Buffer, mediaType: string): Promise<Descriptor> {
  const descriptor = { mediaType, digest: digestOf(bytes), size: bytes.length };
  await store.ingest(descriptor, async () => ({ bytes: Readable.from([bytes]), offset: 0 }));
  return descriptor;
}

/** The progress that a push reports. */
interface PushOptions extends RegistryCall {
  readonly onBlob?: ((descriptor: Descriptor) => void) | undefined;
}

/** Pushes images from a store under one reference: a single one as it is, several as an index of platforms. Returns the digest. */
export async function pushPackage(
  client: RegistryClient,
  store: ContentStore,
  { images, to, options = {} }: { images: readonly BuiltImage[]; to: ImageReference; options?: PushOptions },
): Promise<string> {
  for (const { manifest } of images) {
    for (const part of [manifest.config, ...manifest.layers]) {
      options.onBlob?.(part);
      await client.pushBlob(to, { descriptor: part, open: () => store.open(part.digest) }, options);
    }
  }
  const [only, ...others] = images;
  if (only !== undefined && others.length === 0) {
    return client.pushManifest(to, { bytes: only.bytes, mediaType: only.descriptor.mediaType }, options);
  }
  const byDigest = { ...to, tag: undefined };
  const manifests: Descriptor[] = [];
  for (const image of images) {
    await client.pushManifest(byDigest, { bytes: image.bytes, mediaType: image.descriptor.mediaType }, options);
    manifests.push({ ...image.descriptor, platform: await platformOf(store, image) });
  }
  const index = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: mediaTypes.ociIndex, manifests }));
  return client.pushManifest(to, { bytes: index, mediaType: mediaTypes.ociIndex }, options);
}

async function platformOf(store: ContentStore, { manifest }: BuiltImage): Promise<Descriptor["platform"]> {
  const { os, architecture } = parseImageConfig(await store.read(manifest.config), manifest.config.digest);
  return { os, architecture };
}

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
