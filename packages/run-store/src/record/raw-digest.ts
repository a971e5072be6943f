// SPDX-License-Identifier: Apache-2.0

import { createHash } from "node:crypto";
import { encodeCanonical, RunFunctionResponse } from "@purlin/function-protocol";
import type { RunRecord } from "./run-record.ts";

/**
 * The same for runs that are equal, at little cost: requests carry a hash of their content, and a version stands for an object. Kept
 * in memory only, because it depends on secrets. Empty for a run that wrote something or whose function was called more than once.
 */
export function rawDigest({ xr, after, revision, outcome, error, steps, writes }: RunRecord): string {
  if (writes.length > 0 || steps.some(({ calls }) => calls.length !== 1)) return "";
  const hash = createHash("sha256");
  const { uid = "", resourceVersion = "" } = xr.metadata;
  const facts = [uid, resourceVersion, after.metadata.resourceVersion, revision?.metadata.uid, outcome, error?.message];
  hash.update(JSON.stringify(facts));
  for (const { name, revisionName, error: failure, isCached, calls } of steps) {
    const [call] = calls;
    hash.update(JSON.stringify([name, revisionName, failure, isCached, call?.request.meta?.tag]));
    if (call?.response !== undefined)
      hash.update(encodeCanonical(RunFunctionResponse, { ...call.response, meta: undefined }));
  }
  return hash.digest("base64");
}
