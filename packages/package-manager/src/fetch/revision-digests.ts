// SPDX-License-Identifier: Apache-2.0
import type { ControllerClient } from "@purlin/kube-controller";
import { textAt } from "@purlin/kube-objects/object";
import { isDigest } from "@purlin/oci";
import { packageTypes } from "../package-kinds.ts";
import { referenceOfRevision } from "./package-request.ts";

/** The digests of images that package revisions name, active or not: their registry may be asked for them at any time. */
export async function digestsOfRevisions(
  client: Pick<ControllerClient, "list">,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const lists = Object.values(packageTypes).map((type) => client.list(type.revision, { signal }));
  const revisions = (await Promise.all(lists)).flat();
  const named = revisions.flatMap((one) => [
    textAt(one, ["spec", "digest"]) ?? "",
    referenceOfRevision(one).split("@").at(-1) ?? "",
  ]);
  return [...new Set(named.filter(isDigest))];
}
