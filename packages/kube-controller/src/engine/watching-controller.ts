// SPDX-License-Identifier: Apache-2.0
import type { ControllerSpec, WatchSpec } from "./controller-engine.ts";

/** A controller that runs as long as the control plane does, and what wakes it. */
export interface WatchingController {
  readonly spec: ControllerSpec;
  readonly watches: readonly WatchSpec[];
}

/** How controllers of our own kinds space out their retries. */
export const retryBackoff = { baseMs: 1000, maxMs: 60_000 } as const;
