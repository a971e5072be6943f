// SPDX-License-Identifier: Apache-2.0
import type { Clock } from "@purlin/base";
import type { Launch, Launched, WorkerMessage } from "../spawn/supervision.ts";
import { type FileWatcher, watchFiles } from "./source-file.ts";

/** Gets the events of a supervised function. */
export interface SupervisorObserver {
  /** A version took over. */
  serving(at: { readonly address: string; readonly startMs: number }): void;
  /** A version did not start; `setup` when the cause is not its code, `lastGood` when an earlier version keeps serving. */
  failed(why: { readonly text: string; readonly setup: boolean; readonly lastGood: boolean }): void;
  /** The version that was serving ended by itself. */
  died(text: string): void;
  output(stream: "stdout" | "stderr", text: string): void;
  /** A version was stopped for a limit; `failed` or `died` follows. */
  exceeded?(text: string): void;
  /** A version is held to a limit and continues. */
  held?(text: string): void;
}

/** How long to wait before a function that failed is started again. */
export interface RestartPolicy {
  readonly baseMs: number;
  readonly maxMs: number;
  /** One that has served this long counts as healthy: the next failure is its first. */
  readonly healthyMs: number;
}

/** Which function to serve, and how. */
export interface SupervisorOptions {
  readonly launch: Launch;
  /** A save of this file, or of one it imports, starts a new version. Absolute; nothing is watched without it. */
  readonly file?: string | undefined;
  /** Called for a save instead of starting a new version. */
  readonly onSave?: (() => void) | undefined;
  /** Resolves when a version takes calls at its address. */
  readonly answers: (address: string, signal: AbortSignal) => Promise<void>;
  /** Resolves when no call uses the version at this address; the version is then stopped. */
  readonly released: (address: string) => Promise<void>;
  /** A version that takes longer to answer counts as failed. */
  readonly startLimitMs: number;
  /** What the program is called in messages; "function" unless given. */
  readonly noun?: "function" | "provider" | undefined;
  /** Added to the error of a version that runs but does not answer. */
  readonly advice?: string | undefined;
  /** Without it, a failed version waits for the next save. */
  readonly restart?: RestartPolicy | undefined;
  readonly clock: Clock;
  readonly observer: SupervisorObserver;
  /** Its address before the control plane restarted. */
  readonly before?: string | undefined;
}

const exceededFactor = 60;

/** A port that another program takes before the function listens is rare; a function that uses a second port of its own fails each time. */
const mostMoves = 3;

/** One process with one version of the function. */
interface Version {
  readonly launched: Launched;
  readonly startedAt: number;
  readonly giveUp: AbortController;
  address: string | undefined;
  failed: boolean;
  over: boolean;
  /** The limit for which it was stopped, in words. */
  exceeded: string | undefined;
}

/**
 * Keeps one version of a function serving. A new version starts beside it and takes over once it answers; the old one runs until its calls are
 * done. A version that does not start changes nothing.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #watcher: FileWatcher;
  readonly #versions = new Set<Version>();
  #starting: Version | undefined;
  #current: Version | undefined;
  /** The address of the last version that ended. */
  #before: string | undefined;
  #failures = 0;
  /** How many starts in a row found their port taken. */
  #moves = 0;
  #cancelRestart: () => void = () => {};
  #stopping = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#before = options.before;
    this.#watcher = watchFiles(() => (options.onSave ?? (() => this.reload()))());
    this.#start();
  }

  /** Starts a new version, at once. */
  reload(): void {
    if (!this.#stopping) this.#start();
  }

  /** Lets calls finish and ends all processes. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#cancelRestart();
    this.#watcher[Symbol.dispose]();
    await Promise.all(
      [...this.#versions].map((version) => {
        version.giveUp.abort();
        return version.launched.stop();
      }),
    );
  }

  #start(): void {
    this.#cancelRestart();
    if (this.#options.file !== undefined) this.#watcher.add(this.#options.file);
    // A version that is still starting is outdated.
    this.#starting?.giveUp.abort();
    this.#starting?.launched.kill();
    const events = {
      message: (message: WorkerMessage) => this.#received(version, message),
      output: (stream: "stdout" | "stderr", text: string) => this.#options.observer.output(stream, text),
      exceeded: (text: string) => this.#exceeded(version, text),
      held: (text: string) => this.#options.observer.held?.(text),
      ended: (how: string) => this.#ended(version, how),
    };
    // Tried once: if the version does not start there, the next start uses another address.
    const before = this.#current === undefined ? this.#before : undefined;
    this.#before = undefined;
    const launched = this.#options.launch(events, before);
    const version: Version = {
      launched,
      startedAt: performance.now(),
      giveUp: new AbortController(),
      address: undefined,
      failed: false,
      over: false,
      exceeded: undefined,
    };
    this.#starting = version;
    this.#versions.add(version);
    const cancel = this.#options.clock.schedule(this.#options.startLimitMs, () => this.#tooSlow(version));
    version.giveUp.signal.addEventListener("abort", cancel, { once: true });
  }

  #received(version: Version, message: WorkerMessage): void {
    switch (message.type) {
      case "module":
        this.#watcher.add(message.file);
        return;
      case "loaded":
        return;
      case "serving":
        void this.#announce(version, message.address);
        return;
      case "failed":
        version.failed = true;
        if (message.reason === "port taken" && this.#mayMove(version)) this.#start();
        else this.#fails(version, { text: message.text, setup: message.reason !== "code" });
    }
  }

  /** Whether to start at once on another port. */
  #mayMove(version: Version): boolean {
    if (version !== this.#starting || this.#stopping || this.#moves >= mostMoves) return false;
    this.#moves += 1;
    return true;
  }

  /** Announces a version once it answers. */
  async #announce(version: Version, address: string): Promise<void> {
    if (version.address !== undefined) return;
    version.address = address;
    try {
      await this.#options.answers(address, version.giveUp.signal);
    } catch {
      // It ended or was superseded: both are reported elsewhere.
      return;
    }
    if (version !== this.#starting || version.over || this.#stopping) return;
    this.#takesOver(version, address);
  }

  #takesOver(version: Version, address: string): void {
    version.giveUp.abort();
    this.#starting = undefined;
    this.#moves = 0;
    const old = this.#current;
    this.#current = version;
    this.#watcher.watchBeside(false);
    const startMs = Math.round(performance.now() - version.startedAt);
    this.#options.observer.serving({ address, startMs });
    if (old?.address !== undefined) void this.#retire(old, old.address);
  }

  async #retire(version: Version, address: string): Promise<void> {
    await this.#options.released(address);
    await version.launched.stop();
  }

  #tooSlow(version: Version): void {
    if (version !== this.#starting) return;
    const { startLimitMs, advice } = this.#options;
    const text = `the ${this.#noun} did not answer within ${startLimitMs / 1000} s${advice === undefined ? "" : `; ${advice}`}`;
    version.failed = true;
    this.#fails(version, { text, setup: false });
    version.launched.kill();
  }

  #fails(version: Version, why: { readonly text: string; readonly setup: boolean }): void {
    if (version !== this.#starting || this.#stopping) return;
    version.giveUp.abort();
    this.#starting = undefined;
    this.#watcher.watchBeside(true);
    const lastGood = this.#current !== undefined;
    this.#options.observer.failed({ text: why.text, setup: why.setup, lastGood });
    // Where others decide what happens on a save, another start could run a version that was saved since and not decided on.
    if (!lastGood || this.#options.onSave === undefined) this.#restartLater();
  }

  /** The first limit counts: what follows may be a consequence of the stop. */
  #exceeded(version: Version, text: string): void {
    if (version.exceeded !== undefined || version.over) return;
    version.exceeded = text;
    this.#options.observer.exceeded?.(text);
    version.launched.kill();
  }

  #ended(version: Version, how: string): void {
    version.over = true;
    version.giveUp.abort();
    this.#versions.delete(version);
    if (this.#stopping) return;
    if (version === this.#starting && !version.failed) {
      const text = version.exceeded ?? this.#endedEarly(how);
      this.#fails(version, { text, setup: false });
    }
    if (version !== this.#current) return;
    this.#current = undefined;
    this.#before = version.address;
    if (performance.now() - version.startedAt > this.#healthyMs(version)) this.#failures = 0;
    this.#options.observer.died(version.exceeded ?? `the ${this.#noun} ended by itself (${how})`);
    if (this.#starting === undefined) this.#restartLater();
  }

  /** One that exceeds its limits again and again serves well in between: it must do so for longer before its failures are forgotten. */
  #healthyMs({ exceeded }: Version): number {
    const healthyMs = this.#options.restart?.healthyMs ?? 0;
    return exceeded === undefined ? healthyMs : healthyMs * exceededFactor;
  }

  get #noun(): string {
    return this.#options.noun ?? "function";
  }

  #endedEarly(how: string): string {
    return this.#noun === "function"
      ? `the function ended before it served (${how})`
      : `the ${this.#noun} ended at once (${how})`;
  }

  #restartLater(): void {
    const { restart, clock } = this.#options;
    if (restart === undefined) return;
    const delayMs = Math.min(restart.baseMs * 2 ** this.#failures, restart.maxMs);
    this.#failures++;
    this.#cancelRestart();
    this.#cancelRestart = clock.schedule(delayMs, () => this.#start());
  }
}
