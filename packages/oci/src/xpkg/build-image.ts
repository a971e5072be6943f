// SPDX-License-Identifier: Apache-2.0
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { RegistryCall, RegistryClient } from "../client/registry-client.ts";
import type { ContentStore } from "../content/content-store.ts";
import type { ImageReference } from "../content/image-reference.ts";
import { type Descriptor, digestOf, type ImageManifest, mediaTypes, type Platform } from "../content/manifest.ts";
import { formatImageConfig, type ProcessConfig, parseImageConfig } from "../image/image-config.ts";
import { fileEntry, type LayerEntry, type WrittenLayer, writeLayer } from "../image/write-layer.ts";
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
