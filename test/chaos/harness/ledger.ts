// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import type { SeenChange } from "./event-log.ts";

/** What is known of one object. No version: it was never there, or it was deleted. */
export interface KnownState {
  readonly version?: bigint | undefined;
  readonly text?: string | undefined;
}

/** Everything that a server acknowledged to clients across its restarts, and what follows from it. */
export class Ledger {
  readonly #states = new Map<string, KnownState>();
  /** What was being written when the server died: it may be there or not. */
  readonly #tried = new Map<string, string | undefined>();
  readonly #byVersion = new Map<bigint, string>();
  acknowledged = 0;
  #awaited: { readonly count: number; readonly resolve: () => void } | undefined;

  stateOf(name: string): KnownState {
    return this.#states.get(name) ?? {};
  }

  /** Resolves when this many more writes were answered. */
  untilAnswered(more: number): Promise<void> {
    if (more <= 0) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#awaited = { count: this.acknowledged + more, resolve };
    return promise;
  }

  /** A write was answered. */
  answered(name: string, state: KnownState): void {
    this.acknowledged += 1;
    if (this.acknowledged >= (this.#awaited?.count ?? Number.POSITIVE_INFINITY)) this.#awaited?.resolve();
    this.#states.set(name, state);
    if (state.version !== undefined) this.#note({ name, text: state.text, version: state.version });
  }

  /** A write was sent and got no response. */
  unanswered(name: string, text: string | undefined): void {
    this.#tried.set(name, text);
  }

  /** Compares the objects after a crash with what was acknowledged before it. */
  verify(present: ReadonlyMap<string, { readonly version: bigint; readonly text: string }>): void {
    for (const [name, state] of this.#states) {
      const now = present.get(name);
      const isKept = now?.version === state.version && now?.text === state.text;
      // A write without a response may have happened, after all acknowledged ones.
      const hasHappened =
        this.#tried.has(name) && now?.text === this.#tried.get(name) && (now?.version ?? 0n) !== state.version;
      assert.ok(isKept || hasHappened, `${name} was ${show(state)} and is ${show(now ?? {})}`);
    }
    for (const [name, now] of present) {
      assert.ok(this.#states.has(name) || this.#tried.get(name) === now.text, `${name} was never written`);
      this.#states.set(name, now);
    }
    // What is seen now must stay.
    for (const name of this.#states.keys()) if (!present.has(name)) this.#states.set(name, {});
    this.#tried.clear();
  }

  /** Compares the events of a watcher with those of others. */
  compare(changes: readonly SeenChange[]): void {
    for (const change of changes) this.#note(change);
  }

  /** Versions of the known changes after a version. */
  versionsAfter(version: bigint): bigint[] {
    return [...this.#byVersion.keys()].filter((one) => one > version).sort((a, b) => (a < b ? -1 : 1));
  }

  #note({ name, text, version }: SeenChange): void {
    const change = `${name} ${text ?? "deleted"}`;
    const known = this.#byVersion.get(version);
    assert.equal(known ?? change, change, `version ${version} was given twice`);
    this.#byVersion.set(version, change);
  }
}

const show = ({ version, text }: KnownState): string => (version === undefined ? "absent" : `"${text}" at ${version}`);
