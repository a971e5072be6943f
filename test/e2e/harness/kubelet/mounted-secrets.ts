// SPDX-License-Identifier: Apache-2.0
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Container, PodTemplate, SecretVolume } from "./pod-spec.ts";

/** The Secrets that a pod mounts, by where its container sees them. */
export function mountsOf(template: PodTemplate, container: Container): ReadonlyMap<string, SecretVolume> {
  const volumes = new Map((template.spec.volumes ?? []).map((volume) => [volume.name, volume]));
  const found = (container.volumeMounts ?? []).flatMap(({ name, mountPath }) => {
    const volume = volumes.get(name);
    return volume?.secret === undefined ? [] : [[mountPath, volume] as const];
  });
  return new Map(found);
}

/** Writes the files of a Secret as a mounted volume has them. Throws while one of them is missing, as a pod waits then. */
export async function writeSecretFiles(folder: string, secret: KubeObject, volume?: SecretVolume): Promise<void> {
  const data = (secret["data"] ?? {}) as Record<string, string>;
  const items = volume?.secret?.items ?? Object.keys(data).map((key) => ({ key, path: key }));
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const { key, path } of items) {
    const text = data[key];
    if (text === undefined) throw new Error(`references non-existent secret key: ${key}`);
    const file = join(folder, path);
    // A concurrent reader gets the old file or the new one.
    await writeFile(`${file}.new`, Buffer.from(text, "base64"), { mode: 0o600 });
    await rename(`${file}.new`, file);
  }
}
