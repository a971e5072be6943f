// SPDX-License-Identifier: Apache-2.0

import { attempt } from "@purlin/kube-controller";
import { type KubeObject, textOf } from "@purlin/kube-objects/object";
import type { ResolvedPackage } from "../fetch/package-client.ts";
import { type PackageRequest, revisionPin } from "../fetch/package-request.ts";
import { refuseUnverified } from "../fetch/unverified-package.ts";
import { withTexts } from "../package-status.ts";
import { inTime } from "../pass-signals.ts";
import { unpackingFailed } from "./package-health.ts";
import { type PackagePass, steps, store } from "./package-pass.ts";
import { type CurrentRevision, currentByDigest, currentByGeneration } from "./revision-identity.ts";

/** What a package's reference stands for now, and the revision of it. */
export interface CurrentPackage {
  readonly resolved: ResolvedPackage;
  readonly current: CurrentRevision;
}

/**
 * Looks the reference up and reads the package once, so that no revision is made of what cannot be installed. A revision that is
 * there already was installed before an ImageConfig demanded signatures, and stays.
 */
export async function resolvePackage(
  pass: PackagePass,
  request: PackageRequest,
  revisions: readonly KubeObject[],
): Promise<CurrentPackage> {
  try {
    const read = async (): Promise<CurrentPackage> => {
      const resolved = await pass.packages.resolve(request);
      const current = currentRevision(pass, resolved, revisions);
      if (current.existing === undefined) refuseUnverified(resolved);
      await pass.packages.contents(resolved, request);
      // Before the revision is made: its tag may move at any time.
      await pass.packages.pin(revisionPin(pass.type.revision.kind, current.name), resolved.digest);
      return { resolved, current };
    };
    return await attempt(steps.unpack, () => inTime(pass, read, `reading ${request.reference}`));
  } catch (error) {
    await store(pass, withTexts(pass.clock, pass.package, unpackingFailed(textOf(error))));
    throw error;
  }
}

function currentRevision(
  { package: owner, isRollout }: PackagePass,
  { digest }: ResolvedPackage,
  revisions: readonly KubeObject[],
): CurrentRevision {
  const { name: packageName = "", generation = 0 } = owner.metadata;
  return (isRollout ? currentByDigest : currentByGeneration)({ packageName, digest, generation }, revisions);
}
