// SPDX-License-Identifier: Apache-2.0
import { tooLargeResourceVersion } from "@purlin/kube-objects";
import type { Store } from "../store/store.ts";

/** The number a resourceVersion is; undefined for one that is none. The empty one is 0. */
export function parseResourceVersion(text: string): number | undefined {
  if (text === "") {
    return 0;
  }
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : undefined;
}

/** What is wrong with a resourceVersion that is no number. */
export function badVersionText(text: string): string {
  const quoted = JSON.stringify(text);
  return `resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: invalid syntax`;
}

/** How long a reader waits for a state that is still to come. */
const WAIT_MS = 3000;

/** Waits a little until the store has reached the revision; then 504. */
export async function waitForRevision(store: Store<object>, revision: number, signal: AbortSignal): Promise<void> {
  if (revision <= store.revision) {
    return;
  }
  try {
    await store.waitFor(revision, AbortSignal.any([signal, AbortSignal.timeout(WAIT_MS)]));
  } catch (error) {
    if (signal.aborted) {
      throw error;
    }
    throw tooLargeResourceVersion(String(revision), String(store.revision), 1);
  }
}
