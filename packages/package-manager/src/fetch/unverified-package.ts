// SPDX-License-Identifier: Apache-2.0
import { PackageError } from "@purlin/oci";
import type { ResolvedPackage } from "./package-client.ts";

/** Throws for a package that an ImageConfig demands signatures of: they cannot be verified, so it must not be installed. */
export function refuseUnverified({ verification, resolved }: Pick<ResolvedPackage, "verification" | "resolved">): void {
  if (verification === undefined) return;
  throw new PackageError(
    `signature verification failed: ImageConfig "${verification}" requires verified signatures of ${resolved}, and Purlin cannot verify signatures yet; to install it unverified, remove spec.verification from the ImageConfig or narrow its spec.matchImages`,
  );
}
