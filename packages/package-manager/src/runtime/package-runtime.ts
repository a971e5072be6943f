// SPDX-License-Identifier: Apache-2.0

import type { Clock } from "@purlin/base";
import type { WatchSpec } from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { PackageType } from "../package-kinds.ts";

/** The state of the program of a revision. */
export interface RuntimeReport {
  /** Whether it is up. */
  readonly isHealthy: boolean;
  /** Why it is not healthy, or a note. */
  readonly message?: string | undefined;
  /** Whether to emit an event: the program failed, and is not just starting. */
  readonly isProblem?: boolean | undefined;
  /** The endpoint of a function. Without it the published endpoint stays: a revision that has served keeps it while it is active. */
  readonly endpoint?: string | undefined;
  /** When to reconcile again. */
  readonly requeueAfterMs?: number | undefined;
}

/** The objects that were created before the program runs. */
export interface RuntimePreparation {
  readonly tlsServerSecretName: string;
  /** The client certificate of a Provider. */
  readonly tlsClientSecretName?: string | undefined;
  /** The ImageConfig that chose how the package runs. */
  readonly imageConfig?: string | undefined;
}

/** The state of a revision that is being retired. */
export interface Retirement {
  /** When to reconcile again; absent when it is retired. */
  readonly requeueAfterMs?: number | undefined;
}

/** One reconcile of one revision. */
export interface RuntimeContext {
  readonly type: PackageType;
  readonly revision: KubeObject;
  readonly signal: AbortSignal;
}

/** Runs the programs of packages. */
export interface PackageRuntime {
  /** Creates what the program needs before it runs: certificates, names. */
  prepare(context: RuntimeContext): Promise<RuntimePreparation>;
  /** Runs the program. Resolves to its state; called again whenever that may have changed. */
  run(context: RuntimeContext): Promise<RuntimeReport>;
  /** Does what `run` does except for starting the program: no kind of the provider is activated yet. Nothing to do unless given. */
  hold?(context: RuntimeContext): Promise<void>;
  /** Stops the program of a revision that is no longer active, or that is gone. */
  retire(context: RuntimeContext): Promise<Retirement>;
  /** Further watches, beside that of revisions. `all` returns the revisions of the kind. */
  watches?(type: PackageType, all: () => readonly KubeObject[]): readonly WatchSpec[];
}

/** A use of a function revision. The revision is not stopped before it is released. */
interface Lease {
  /** Has no effect when called again. */
  release(): void;
}

/** The uses of function revisions by pipeline steps, shared by the steps and by the runtime that stops revisions. */
export interface RevisionLeases {
  /** Begins a use of a revision at one of its endpoints. */
  acquire(revision: string, endpoint: string): Lease;
  isHeld(revision: string): boolean;
}

/** Keeps the program that serves an endpoint of a revision; the result ends that. */
type KeepEndpoint = (revision: string, endpoint: string) => (() => void) | undefined;

/** Counts the leases of each revision. `keep` is called for each of them. */
export function createRevisionLeases(keep: KeepEndpoint = () => undefined): RevisionLeases {
  const counts = new Map<string, number>();
  const add = (revision: string, change: number): void => {
    const count = (counts.get(revision) ?? 0) + change;
    if (count > 0) counts.set(revision, count);
    else counts.delete(revision);
  };
  return {
    acquire(revision, endpoint) {
      const end = keep(revision, endpoint);
      add(revision, 1);
      let isReleased = false;
      return {
        release() {
          if (isReleased) return;
          isReleased = true;
          add(revision, -1);
          end?.();
        },
      };
    },
    isHeld: (revision) => counts.has(revision),
  };
}

/** When retired revisions may be stopped. */
export interface Retirements {
  /** How long a revision has to keep running; 0 when it may be stopped. The time starts with the first call. */
  waitMs(revision: string): number;
  /** The revision was stopped, or is active again. */
  forget(revision: string): void;
}

interface RetirementOptions {
  readonly clock: Clock;
  /** How long a call that was sent to a revision may take to acquire its lease. */
  readonly lingerMs: number;
  readonly leases?: Pick<RevisionLeases, "isHeld"> | undefined;
}

const pollMs = 1_000;
/** Runs have deadlines; a lease that is held for longer is not waited for. */
const limitMs = 150_000;

/** Keeps retired revisions running for a while, and for as long as leases are held, up to a limit. */
export function createRetirements({ clock, lingerMs, leases }: RetirementOptions): Retirements {
  const since = new Map<string, number>();
  return {
    waitMs(revision) {
      const began = since.get(revision) ?? clock.now();
      since.set(revision, began);
      const age = clock.now() - began;
      if (age < lingerMs) return lingerMs - age;
      return age < limitMs && leases?.isHeld(revision) === true ? pollMs : 0;
    },
    forget(revision) {
      since.delete(revision);
    },
  };
}
