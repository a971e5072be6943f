// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import {
  createRegistryClient,
  openContentStore,
  openImageRoots,
  type ProcessConfig,
  parseImageConfig,
  parseReference,
  platformOfNode,
  pullImage,
} from "@purlin/oci";

/** An image on the disk of the node. */
export interface PodImage {
  readonly root: string;
  readonly process: ProcessConfig;
}

/** Pulls images, each once. */
export type PodImages = (reference: string) => Promise<PodImage>;

/** The images of a node, from any registry without users. */
export async function openPodImages(directory: string): Promise<PodImages> {
  const store = await openContentStore(join(directory, "images"));
  const roots = openImageRoots(join(directory, "roots"), store, { mounts: [] });
  const client = createRegistryClient();
  const platform = platformOfNode(process);
  return async (reference) => {
    const image = await pullImage(client, store, { reference: parseReference(reference), options: { platform } });
    const config = parseImageConfig(await store.read(image.manifest.config), reference);
    return { root: await roots.rootOf(image), process: config.process };
  };
}
