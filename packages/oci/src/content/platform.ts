// SPDX-License-Identifier: Apache-2.0
import type { Descriptor, ImageIndex, Platform } from "./manifest.ts";
import { OciError } from "./oci-error.ts";

const architectures: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386", arm: "arm", arm64: "arm64" };

/** The platform of a Node process, in the words of images. */
export function platformOfNode({ platform, arch }: { readonly platform: string; readonly arch: string }): Platform {
  return { os: platform, architecture: architectures[arch] ?? arch };
}

/** The image of an index that runs on a platform. A single one is taken whatever it says: a package may be just data. */
export function selectPlatform(index: ImageIndex, wanted: Platform, where: string): Descriptor {
  const images = index.manifests.filter(({ platform }) => platform?.os !== "unknown");
  const [only, ...others] = images;
  if (only !== undefined && others.length === 0) return only;
  const match = images.find(({ platform }) => isSame(platform, wanted));
  if (match !== undefined) return match;
  const offered = images.map(({ platform }) => (platform ? platformText(platform) : "none")).join(", ");
  throw new OciError(
    "wrong-platform",
    `${where} has no image for ${platformText(wanted)}, only for ${offered || "nothing"}; push one for that platform`,
  );
}

/** A platform as `os/architecture`. */
export function platformText({ os, architecture, variant }: Platform): string {
  return variant === undefined ? `${os}/${architecture}` : `${os}/${architecture}/${variant}`;
}

function isSame(platform: Platform | undefined, wanted: Platform): boolean {
  return platform?.os === wanted.os && platform.architecture === wanted.architecture;
}
