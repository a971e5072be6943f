// SPDX-License-Identifier: Apache-2.0

import type { Clock, Log } from "@purlin/base";
import type { ControllerEngine } from "@purlin/kube-controller";
import { textOf } from "@purlin/kube-objects/errors";
import type { DependencyTracker } from "./dependency-tracker.ts";

/** Ends watches on kinds that no XR depends on any more. */
export interface WatchCollection {
  /** A kind lost its last dependent: collects after a while, as another may come. */
  schedule(): void;
  collect(): Promise<void>;
  close(): void;
}

/** The dependencies of a collection. */
interface WatchCollectionOptions {
  readonly controller: string;
  readonly engine: Pick<ControllerEngine, "stopWatches" | "watchesOf">;
  readonly tracker: () => Pick<DependencyTracker, "isNeeded">;
  readonly clock: Clock;
  readonly log: Log;
}

const delayMs = 60_000;

/** Runs only when a watch may have become unneeded, so that an idle control plane does nothing. */
export function createWatchCollection(options: WatchCollectionOptions): WatchCollection {
  const { controller, engine, tracker, clock, log } = options;
  let cancel: (() => void) | undefined;
  let closed = false;

  async function collect(): Promise<void> {
    const unneeded = engine
      .watchesOf(controller)
      .filter(({ type, object }) => type === dependencyWatch && !tracker().isNeeded(object));
    if (unneeded.length > 0) await engine.stopWatches(controller, unneeded);
  }

  function run(): void {
    cancel = undefined;
    collect().catch((error: unknown) => {
      log.info("cannot stop unneeded watches", { controller, error: textOf(error) });
    });
  }

  return {
    collect,
    schedule() {
      if (!closed) cancel ??= clock.schedule(delayMs, run);
    },
    close() {
      closed = true;
      cancel?.();
    },
  };
}

// The watches of a composite controller by purpose, as metrics name them.

/** On the kind of the XRs themselves. */
export const compositeWatch = "CompositeResource";
/** On revisions of Compositions. */
export const revisionWatch = "CompositionRevision";
/** On everything XRs composed or required. */
export const dependencyWatch = "Dependency";
