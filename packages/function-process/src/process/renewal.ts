// SPDX-License-Identifier: Apache-2.0
import type { Clock } from "@purlin/base";
import type { FunctionCertificates } from "./function-certificates.ts";

/** Sees that a function is replaced in time, as few programs notice that their certificate was renewed. */
export interface Renewal {
  /** The folder with the certificate to serve with, for a process that is about to be started. */
  take(): Promise<string>;
  /** Looks now: the clock of the machine was set, say. */
  look(): void;
  stop(): void;
}

/** Whose certificate it is, and what to do when it was renewed. */
interface RenewalOptions {
  readonly name: string;
  readonly certificates: FunctionCertificates;
  readonly clock: Clock;
  /** Starts a process with the new one beside the old one. */
  readonly renew: () => void;
}

/** Timers cannot wait for months. */
const longestWaitMs = 86_400_000;
const retryMs = 60_000;

/** Watches over the certificate of one function. */
export function createRenewal({ name, certificates, clock, renew }: RenewalOptions): Renewal {
  let used: string | undefined;
  let cancel = (): void => {};
  let stopped = false;

  function later(delayMs: number): void {
    cancel();
    if (!stopped) cancel = clock.schedule(Math.min(delayMs, longestWaitMs), look);
  }

  function look(): void {
    certificates.serverFolder(name).then(
      (folder) => {
        if (stopped) return;
        if (folder === used) later(certificates.renewInMs(name));
        else renew();
      },
      // A disk that is full now may not be later.
      () => later(retryMs),
    );
  }

  return {
    async take() {
      used = await certificates.serverFolder(name);
      later(certificates.renewInMs(name));
      return used;
    },
    look() {
      // Nothing was taken yet: what is about to be started gets a good one.
      if (used !== undefined && !stopped) look();
    },
    stop() {
      stopped = true;
      cancel();
    },
  };
}
