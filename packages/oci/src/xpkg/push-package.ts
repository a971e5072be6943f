// SPDX-License-Identifier: Apache-2.0

import type { RegistryCall, RegistryClient } from "../client/registry-client.ts";
import type { ContentStore } from "../content/content-store.ts";
import type { ImageReference } from "../content/image-reference.ts";
import type { Descriptor } from "../content/manifest.ts";
import { mediaTypes } from "../content/media-types.ts";
import { parseImageConfig } from "../image/image-config.ts";
import type { BuiltImage } from "./build-image.ts";

/** What a push tells while it works. */
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
