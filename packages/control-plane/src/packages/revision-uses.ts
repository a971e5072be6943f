// SPDX-License-Identifier: Apache-2.0
import type { FunctionResolver } from "@purlin/function-runner";
import type { PackageManager } from "./package-manager-parts.ts";

/** Which function revisions steps use right now. */
export interface RevisionUses {
  /** A resolver whose answers are counted from the moment they are given until their run is over. */
  counting(resolver: FunctionResolver): FunctionResolver;
  isInUse(revision: string): boolean;
}

/** Counts runs by revision, so that what runs a revision can wait for them; `keep` is told of each as well. */
export function createRevisionUses(keep: PackageManager["hold"] = () => () => {}): RevisionUses {
  const counts = new Map<string, number>();
  const add = (revision: string, change: number): void => {
    const count = (counts.get(revision) ?? 0) + change;
    if (count > 0) counts.set(revision, count);
    else counts.delete(revision);
  };
  return {
    counting: (resolver) => ({
      async resolve(reference, signal) {
        const target = await resolver.resolve(reference, signal);
        const hold = (): (() => void) => {
          const releases = [target.hold?.(), keep(target.revisionName, target.endpoint)];
          add(target.revisionName, 1);
          return () => {
            add(target.revisionName, -1);
            for (const release of releases) release?.();
          };
        };
        return { ...target, hold };
      },
    }),
    isInUse: (revision) => counts.has(revision),
  };
}
