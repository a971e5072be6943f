// SPDX-License-Identifier: Apache-2.0
import { isNoMatch } from "@purlin/kube-client/objects";

/** Whether an error was caused by a kind that the API server does not serve, not yet or no longer. */
export function isNotServed(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (isNoMatch(cause)) return true;
  return false;
}
