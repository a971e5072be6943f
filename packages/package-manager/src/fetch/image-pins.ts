// SPDX-License-Identifier: Apache-2.0
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { isDigest } from "../oci/digest.ts";
import type { PackageClient } from "./package-client.ts";

/** What each reference stood for when it was last fetched: a collector must know it, also after a restart. */
export interface ImagePins {
  get(reference: string): string | undefined;
  /** Durable when it resolves. */
  set(reference: string, digest: string): Promise<void>;
  references(): readonly string[];
  forget(references: readonly string[]): Promise<void>;
}

/** Opens the pins in a file. One that is damaged knows nothing; whatever was pinned is fetched again when it is needed. */
export async function openImagePins(file: string): Promise<ImagePins> {
  const pins = readPins(await readFile(file, "utf8").catch(() => "{}"));
  let written: Promise<void> = Promise.resolve();
  const write = async (): Promise<void> => {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(`${file}.new`, JSON.stringify(Object.fromEntries(pins)), { mode: 0o600, flush: true });
    await rename(`${file}.new`, file);
  };
  /** One after the other; a failed one does not keep the next from being tried. */
  const save = (): Promise<void> => {
    written = written.catch(() => {}).then(write);
    return written;
  };
  return {
    get: (reference) => pins.get(reference),
    async set(reference, digest) {
      if (pins.get(reference) === digest) return written;
      pins.set(reference, digest);
      return save();
    },
    references: () => [...pins.keys()],
    async forget(references) {
      for (const reference of references) pins.delete(reference);
      if (references.length > 0) await save();
    },
  };
}

function readPins(text: string): Map<string, string> {
  try {
    const entries = Object.entries(JSON.parse(text) as Record<string, unknown>);
    return new Map(entries.flatMap(([name, digest]) => (isDigest(String(digest)) ? [[name, String(digest)]] : [])));
  } catch {
    return new Map();
  }
}

/** Pins what is fetched before it is, so that nothing of it is collected meanwhile. */
export function pinFetched(client: PackageClient, pins: ImagePins): PackageClient {
  return {
    ...client,
    async contents(resolved, request) {
      await pins.set(request.reference, resolved.digest);
      return client.contents(resolved, request);
    },
    async image(resolved, request, platform) {
      await pins.set(request.reference, resolved.digest);
      return client.image(resolved, request, platform);
    },
  };
}
