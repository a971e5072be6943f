// SPDX-License-Identifier: Apache-2.0
import type { Clock } from "@purlin/base";
import type { SchemaFetcher } from "@purlin/function-runner";

/** The kinds whose CRD changed a moment ago. */
interface RecentKinds {
  /** A CRD that serves these kinds, as `apiVersion/Kind`, has changed. */
  changed(kinds: readonly string[]): void;
  /** Nothing serves these kinds any more. */
  gone(kinds: readonly string[]): void;
  has(kind: string): boolean;
}

// Servers publish the schema of a kind within seconds after they began to serve it.
const recentMs = 10_000;
const lookAgainMs = 250;

/** Remembers kinds for ten seconds. */
export function createRecentKinds(clock: Clock): RecentKinds {
  const until = new Map<string, number>();
  return {
    changed(kinds) {
      const now = clock.now();
      for (const [kind, end] of until) if (end <= now) until.delete(kind);
      for (const kind of kinds) until.set(kind, now + recentMs);
    },
    gone(kinds) {
      for (const kind of kinds) until.delete(kind);
    },
    has: (kind) => (until.get(kind) ?? 0) > clock.now(),
  };
}

/**
 * A fetcher that gives the server time to publish the schema of a kind it has just begun to serve: a function that asks
 * for it gets it, instead of the answer that there is no such kind.
 */
export function awaitPublication(
  fetcher: SchemaFetcher,
  { recent, clock }: { readonly recent: RecentKinds; readonly clock: Clock },
): SchemaFetcher {
  let next: Promise<void> | undefined;
  // All waiting readers share one poll.
  const untilNextLook = (): Promise<void> => {
    next ??= new Promise<void>((resolve) => {
      clock.schedule(lookAgainMs, () => {
        next = undefined;
        fetcher.invalidate();
        resolve();
      });
    });
    return next;
  };
  return {
    invalidate: () => fetcher.invalidate(),
    async schema(selector) {
      for (;;) {
        const answer = await fetcher.schema(selector);
        const isAwaited = recent.has(`${selector.apiVersion}/${selector.kind}`);
        if (answer.openapiV3 !== undefined || !isAwaited) return answer;
        await untilNextLook();
      }
    },
  };
}
