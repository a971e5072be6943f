// SPDX-License-Identifier: Apache-2.0
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import {
  folderEntries,
  type ImageReference,
  isImageReferenceError,
  type LayerEntry,
  ociLayerType,
  type Platform,
  type ProcessConfig,
  parseImageConfig,
  parseReference,
  platformText,
  pullImage,
  type WrittenLayer,
} from "@purlin/oci";
import type { Io } from "../io.ts";
import { textOf, UserError } from "../user-error.ts";
import type { Workspace } from "./xpkg-workspace.ts";

/** What lies below a function. */
export interface Base {
  readonly isGiven: boolean;
  /** False for an image, whose files are not unpacked. */
  readonly isKnown: boolean;
  readonly folders: readonly string[];
  readonly process: ProcessConfig;
  /** Layers that are in the store. */
  readonly layers: readonly WrittenLayer[];
  /** Layers to write. */
  readonly entries: readonly AsyncIterable<LayerEntry>[];
}

const nothing: ProcessConfig = { entrypoint: [], cmd: [], env: [], workingDir: "/", user: "" };

/** Opens what --base names: a folder, or an image, which is fetched. */
export async function openBase(
  { base, platform }: { readonly base?: string | undefined; readonly platform: Platform },
  workspace: Workspace,
  io: Io,
): Promise<Base> {
  const none = { isGiven: false, isKnown: true, folders: [], process: nothing, layers: [], entries: [] };
  if (base === undefined) return none;
  const path = resolve(io.cwd, base);
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) return { ...none, isGiven: true, folders: [base], entries: [folderEntries(path)] };
  const reference = referenceOf(base);
  const { process, layers } = await pullBase(reference, { base, platform, workspace, signal: io.signal });
  return { ...none, isGiven: true, isKnown: false, process, layers };
}

function referenceOf(base: string): ImageReference {
  try {
    return parseReference(base);
  } catch (error) {
    if (!isImageReferenceError(error)) throw error;
    throw new UserError(`--base: there is no folder of this name, and ${textOf(error)}`, { cause: error });
  }
}

interface PullBase {
  readonly base: string;
  readonly platform: Platform;
  readonly workspace: Workspace;
  readonly signal: AbortSignal;
}

async function pullBase(
  reference: ImageReference,
  { base, platform, workspace, signal }: PullBase,
): Promise<Pick<Base, "process" | "layers">> {
  const { client, store } = workspace;
  const { manifest } = await pullImage(client, store, { reference, options: { platform, signal } });
  const config = parseImageConfig(await store.read(manifest.config), base);
  if (config.os !== platform.os || config.architecture !== platform.architecture) {
    const other = platformText(config);
    throw new UserError(`--base ${base} is for ${other}, not ${platformText(platform)}: choose another, or --platform`);
  }
  const layers = manifest.layers.map(({ mediaType, digest, size }, at) => {
    const diffId = config.diffIds[at];
    if (diffId === undefined)
      throw new UserError(`--base ${base}: invalid image: its configuration does not list all of its layers`);
    // Marks of a package that the base may be are not those of this one.
    return { descriptor: { mediaType: ociLayerType(mediaType), digest, size }, diffId };
  });
  return { process: config.process, layers };
}
