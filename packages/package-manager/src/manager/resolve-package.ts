// SPDX-License-Identifier: Apache-2.0
import { attempt, textOf } from "@purlin/kube-controller";
import type { ResolvedPackage } from "../fetch/package-client.ts";
import type { PackageRequest } from "../fetch/package-request.ts";
import { withTexts } from "../package-status.ts";
import { inTime } from "../pass-signals.ts";
import { unpackingFailed } from "./package-health.ts";
import { type PackagePass, steps, store } from "./package-pass.ts";

/** Looks the reference up and reads the package once, so that what is none makes no revision. */
export async function resolvePackage(pass: PackagePass, request: PackageRequest): Promise<ResolvedPackage> {
  try {
    const read = async (): Promise<ResolvedPackage> => {
      const resolved = await pass.packages.resolve(request);
      await pass.packages.contents(resolved, request);
      return resolved;
    };
    return await attempt(steps.unpack, () => inTime(pass, read, `reading ${request.reference}`));
  } catch (error) {
    await store(pass, withTexts(pass.clock, pass.package, unpackingFailed(textOf(error))));
    throw error;
  }
}
