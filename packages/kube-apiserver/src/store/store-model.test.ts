// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Note, openNotes, put, show, showChange, tempDirectory } from "../../test/store/temp-store.ts";
import type { Store, Watch } from "./store.ts";
import { isStoreError } from "./store-error.ts";

/** The simplest thing that could be right: every state the store ever had, and every change between them. */
class Model {
  readonly states = new Map<number, ReadonlyMap<string, string>>([[1, new Map()]]);
  readonly changes: { readonly key: string; readonly line: string; readonly revision: number }[] = [];
  compacted = 1;
  revision = 1;

  put(key: string, text: string | undefined): void {
    const before = this.states.get(this.revision) ?? new Map<string, string>();
    const old = before.get(key);
    if (old === undefined && text === undefined) return;
    this.revision += 1;
    const now = new Map(before);
    if (text === undefined) {
      now.delete(key);
    } else {
      now.set(key, `${text}@${this.revision}`);
    }
    this.states.set(this.revision, now);
    const sign = text === undefined ? "-" : old === undefined ? "+" : "~";
    const line = `${sign}${key} ${old?.split("@")[0] ?? ""}>${text ?? ""} @${this.revision}`;
    this.changes.push({ key, line, revision: this.revision });
  }

  list(prefix: string, revision: number): string[] {
    const entries = [...(this.states.get(revision) ?? [])].filter(([key]) => key.startsWith(prefix));
    return entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, text]) => `${key}=${text}`);
  }

  changesFor(scope: string, after: number): string[] {
    const matches = (key: string): boolean => (scope.endsWith("/") ? key.startsWith(scope) : key === scope);
    return this.changes.filter(({ key, revision }) => revision > after && matches(key)).map(({ line }) => line);
  }
}

const key = fc.constantFrom("/a/x/1", "/a/x/2", "/a/x-y/1", "/a/y/1", "/b/x/1", "/b/x/10", "/b/x/2");
const scope = fc.oneof(fc.constantFrom("/", "/a/", "/b/", "/a/x/", "/a/x-y/"), key);
const prefix = fc.constantFrom("/", "/a/", "/b/", "/a/x/", "/zz/");
const write = fc.record({ key, text: fc.option(fc.stringMatching(/^[a-z]{0,3}$/), { nil: undefined, freq: 3 }) });

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("write" as const),
      writes: fc.array(write, { minLength: 1, maxLength: 5 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("list" as const),
      prefix,
      age: fc.nat({ max: 12 }),
      limit: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("watch" as const), scope, age: fc.nat({ max: 12 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("take" as const), limit: fc.integer({ min: 1, max: 9 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("compact" as const), age: fc.nat({ max: 8 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reopen" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

interface Watching {
  readonly scope: string;
  readonly watch: Watch<Note>;
  readonly seen: string[];
  readonly after: number;
  caughtUp: boolean;
}

class World {
  readonly directory: string = tempDirectory();
  readonly model = new Model();
  store: Store<Note> = openNotes({ directory: this.directory });
  watching: Watching[] = [];

  async run(next: Step): Promise<void> {
    switch (next.kind) {
      case "write":
        await Promise.all(next.writes.map(({ key, text }) => put(this.store, key, text)));
        for (const { key, text } of next.writes) {
          this.model.put(key, text);
        }
        break;
      case "list":
        this.list(next.prefix, this.model.revision - next.age, next.limit);
        break;
      case "watch":
        this.watch(next.scope, Math.max(0, this.model.revision - next.age));
        break;
      case "take":
        this.take(next.limit);
        break;
      case "compact":
        this.model.compacted = Math.max(this.model.compacted, this.model.revision - next.age);
        this.store.compact(this.model.compacted);
        break;
      case "reopen":
        await this.reopen();
        break;
    }
    this.check();
  }

  check(): void {
    assert.equal(this.store.revision, this.model.revision);
    assert.equal(this.store.compactedRevision, this.model.compacted);
    assert.deepEqual(show(this.store.list({ prefix: "/" }).entries), this.model.list("/", this.model.revision));
  }

  list(prefix: string, revision: number, limit: number): void {
    if (revision < this.model.compacted) {
      assert.throws(
        () => this.store.list({ prefix, revision, limit }),
        (error) => isStoreError(error, "expired"),
      );
      return;
    }
    const want = this.model.list(prefix, revision);
    const got: string[] = [];
    let after: string | undefined;
    do {
      const page = this.store.list({ prefix, revision, limit, after });
      got.push(...show(page.entries));
      assert.equal(page.remaining, want.length - got.length);
      after = page.remaining > 0 ? page.entries.at(-1)?.key : undefined;
    } while (after !== undefined);
    assert.deepEqual(got, want);
  }

  watch(scope: string, after: number): void {
    const open = (): Watch<Note> => this.store.watch({ scope, after, onReady: () => {} });
    if (after < this.model.compacted) {
      assert.throws(open, (error) => isStoreError(error, "expired"));
      return;
    }
    this.watching.push({ scope, watch: open(), seen: [], after, caughtUp: false });
  }

  /** Every watcher takes a few; those that history left behind must notice, the others must have missed nothing. */
  take(limit: number): void {
    this.watching = this.watching.filter((watching) => {
      const want = this.model.changesFor(watching.scope, watching.after);
      try {
        const taken = watching.watch.take(limit).map(showChange);
        watching.seen.push(...taken);
        watching.caughtUp ||= taken.length === 0;
      } catch (error) {
        // One that never caught up cannot know whether it missed anything.
        const mayBeBehind = watching.seen.length < want.length || !watching.caughtUp;
        assert.ok(
          isStoreError(error, "expired") && this.model.compacted > watching.after && mayBeBehind,
          String(error),
        );
        return false;
      }
      assert.deepEqual(watching.seen, want.slice(0, watching.seen.length));
      return true;
    });
  }

  async reopen(): Promise<void> {
    await this.store.close();
    const resume = this.watching;
    this.watching = [];
    this.store = openNotes({ directory: this.directory });
    // Compaction is only certain to be remembered once rows were deleted for it.
    assert.ok(this.store.compactedRevision <= this.model.compacted);
    this.store.compact(this.model.compacted);
    for (const { scope } of resume) {
      this.watch(scope, this.model.revision);
    }
  }

  drain(): void {
    for (let round = 0; round < this.model.changes.length + 1; round += 1) {
      this.take(5);
    }
    for (const { scope, seen, after } of this.watching) {
      assert.deepEqual(seen, this.model.changesFor(scope, after));
    }
  }
}

test("random writes, lists at revisions, watches, compactions and restarts agree with the model", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60, size: "max" }), async (steps) => {
      const world = new World();
      try {
        for (const next of steps) {
          await world.run(next);
        }
        world.drain();
      } finally {
        await world.store.close();
      }
    }),
    { numRuns: 25 },
  );
});
