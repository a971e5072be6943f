// SPDX-License-Identifier: Apache-2.0
import { tooLargeResourceVersion } from "@purlin/kube-objects/errors";
import type { Store } from "../store/store.ts";

const maxVersion = 2n ** 64n - 1n;
const digits = /^\d+$/;

/**
 * The number of a resourceVersion; undefined for an invalid one. The empty one is 0. Above the safe integers it is only
 * approximate: no store gets there.
 */
export function parseResourceVersion(text: string): number | undefined {
  if (text === "") return 0;
  return digits.test(text) && BigInt(text) <= maxVersion ? Number(text) : undefined;
}

/** Why a resourceVersion is invalid. */
export function unparsedText(text: string): string {
  const why = digits.test(text) ? "value out of range" : "invalid syntax";
  return `strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}`;
}

/** The error about an invalid resourceVersion. */
export function badVersionText(text: string): string {
  return `resourceVersion: Invalid value: ${JSON.stringify(text)}: ${unparsedText(text)}`;
}

/** How long a reader waits for a state that is still to come. */
const waitMs = 3000;

/** Waits a little until the store has reached the revision; then 504. */
export async function waitForRevision(store: Store<object>, revision: number, signal: AbortSignal): Promise<void> {
  if (revision <= store.revision) return;
  try {
    await store.waitFor(revision, AbortSignal.any([signal, AbortSignal.timeout(waitMs)]));
  } catch (error) {
    if (signal.aborted) throw error;
    throw tooLargeResourceVersion(String(BigInt(revision)), String(store.revision), 1);
  }
}
