// SPDX-License-Identifier: Apache-2.0
import { isNoMatch } from "@purlin/kube-client/objects";

/** Whether something failed because the API server does not serve a kind, not yet or no longer. */
export function isNotServed(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (isNoMatch(cause)) return true;
  return false;
}
