// SPDX-License-Identifier: Apache-2.0
import type { ContentStore } from "../content/content-store.ts";
import { parseManifest } from "../content/manifest.ts";

/** Everything the given manifests need, themselves included: what a collector must leave. */
export async function reachableFrom(store: ContentStore, manifests: readonly string[]): Promise<Set<string>> {
  const reached = new Set<string>();
  const open = [...manifests];
  for (let digest = open.pop(); digest !== undefined; digest = open.pop()) {
    if (reached.has(digest)) continue;
    reached.add(digest);
    const manifest = await manifestAt(store, digest);
    if (manifest === undefined) continue;
    if (manifest.kind === "index") open.push(...manifest.index.manifests.map((part) => part.digest));
    else for (const part of [manifest.image.config, ...manifest.image.layers]) reached.add(part.digest);
  }
  return reached;
}

/** A missing blob, or one that is not a manifest, references nothing. */
async function manifestAt(store: ContentStore, digest: string): Promise<ReturnType<typeof parseManifest> | undefined> {
  if (!(await store.has(digest))) return undefined;
  const bytes = await store.read({ digest });
  try {
    return parseManifest(bytes, "", digest);
  } catch {
    return undefined;
  }
}
