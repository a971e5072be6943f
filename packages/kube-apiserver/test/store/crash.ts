// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openStore } from "../../src/store/open-store.ts";
import type { Store } from "../../src/store/store.ts";
import { type Note, noteCodec, openNotes } from "./temp-store.ts";

/** What clients have seen over all rounds: the newest acknowledged state of each key, and every revision. */
interface Ledger {
  readonly newest: Map<string, { readonly revision: number; readonly text: string }>;
  lastRevision: number;
  acknowledged: number;
}

export function newLedger(): Ledger {
  return { newest: new Map(), lastRevision: 1, acknowledged: 0 };
}

/**
 * One life: a process writes to the directory and is killed once it has said `lines` lines; then the store is opened and held
 * against everything that was ever said.
 */
export async function crashRound(directory: string, ledger: Ledger, lines: number): Promise<void> {
  const before = ledger.lastRevision;
  const said = await livesAndDies(directory, lines);
  const seen = new Set<number>();
  const acknowledged = new Set<number>();
  for (const line of said) {
    const [kind, revision, key = "", text = ""] = line.split(" ");
    if (kind === "saw") {
      seen.add(Number(revision));
      continue;
    }
    assert.ok(!acknowledged.has(Number(revision)) && Number(revision) > before, `revision ${revision} was used twice`);
    acknowledged.add(Number(revision));
    note(ledger, key, Number(revision), text);
  }
  ledger.acknowledged += acknowledged.size;
  await using store = openNotes({ directory });
  verify(store, ledger, { before, seen, acknowledged });
  // What is there now can be read, so from now on it must stay, answered or not.
  for (const key of ledger.newest.keys()) {
    const entry = store.get(key);
    ledger.newest.set(key, { revision: entry?.revision ?? store.revision, text: entry?.value.text ?? "-" });
  }
  ledger.lastRevision = store.revision;
}

function note(ledger: Ledger, key: string, revision: number, text: string): void {
  if (revision > (ledger.newest.get(key)?.revision ?? 0)) ledger.newest.set(key, { revision, text });
}

interface Round {
  readonly before: number;
  readonly seen: ReadonlySet<number>;
  readonly acknowledged: ReadonlySet<number>;
}

function verify(store: Store<Note>, ledger: Ledger, { before, seen, acknowledged }: Round): void {
  for (const [key, { revision, text }] of ledger.newest) {
    const entry = store.get(key);
    // A write that was cut off before its answer may be there or not; if it is, it came after all that were answered.
    const isNewer = entry === undefined ? deletedAfter(store, key, revision) : entry.revision > revision;
    const isSame = (entry?.value.text ?? "-") === text && (entry?.revision ?? revision) === revision;
    assert.ok(isSame || isNewer, `"${key}" at revision ${revision} is lost`);
  }
  const from = Math.max(before, store.compactedRevision);
  const watch = store.watch({ scope: "/", after: from, onReady: () => {} });
  const resumed = new Set(watch.take(Number.POSITIVE_INFINITY).map(({ revision }) => revision));
  for (const revision of [...seen, ...acknowledged]) {
    assert.ok(revision <= store.revision, `revision ${revision} was seen but is not there`);
    assert.ok(revision <= from || resumed.has(revision), `a watcher that resumes from ${from} misses ${revision}`);
  }
}

/** Whether the last that history knows of the key is a deletion after the revision. */
function deletedAfter(store: Store<Note>, key: string, revision: number): boolean {
  const watch = store.watch({ scope: key, after: Math.max(revision, store.compactedRevision), onReady: () => {} });
  const last = watch.take(Number.POSITIVE_INFINITY).at(-1);
  return last !== undefined && last.entry === undefined;
}

async function livesAndDies(directory: string, lines: number): Promise<string[]> {
  const program = fileURLToPath(new URL("./crash.ts", import.meta.url));
  const child = spawn(process.execPath, [program, directory], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  let count = 0;
  child.stdout.setEncoding("latin1").on("data", (chunk: string) => {
    said += chunk;
    count += chunk.split("\n").length - 1;
    if (count >= lines) child.kill("SIGKILL");
  });
  const [[, signal]] = (await Promise.all([once(child, "exit"), once(child.stdout, "close")])) as [
    [number, string],
    unknown,
  ];
  assert.equal(signal, "SIGKILL", "the writer ended before it was killed");
  // The last line may be half; a half revision would be a lie.
  return said.split("\n").slice(0, -1);
}

/**
 * The process to be killed: writes to the store in argv[2] as fast as it can with argv[3] writers until it dies. Says on stdout, one line
 * each and before it continues: "ack <revision> <key> <text or ->" for every write that was answered, "saw <revision>" for every change a
 * watcher was given.
 */
async function writeUntilKilled([directory = "", writers = "8"]: readonly string[]): Promise<void> {
  const store = openStore<Note>({ directory, codec: noteCodec, history: { keepChanges: 500, keepMs: 0 } });
  const watch = store.watch({
    scope: "/",
    after: store.revision,
    onReady: () => {
      for (let changes = watch.take(); changes.length > 0; changes = watch.take()) {
        say(changes.map(({ revision }) => `saw ${revision}\n`).join(""));
      }
    },
  });
  await Promise.all(Array.from({ length: Number(writers) }, (_, writer) => writeForever(store, writer)));
}

const pause = new Int32Array(new SharedArrayBuffer(4));

/** Returns when the text is out of this process; the reader may be slow, and the pipe does not wait by itself. */
function say(text: string): void {
  let rest: Uint8Array = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Atomics.wait(pause, 0, 0, 1);
    }
  }
}

async function writeForever(target: Store<Note>, writer: number): Promise<never> {
  for (let round = 0; ; round += 1) {
    const key = `/w${writer}/${round % 20}`;
    const text = round % 7 === 6 ? undefined : `${process.pid}-${round}-${"x".repeat((round * 37) % 3000)}`;
    const { revision } = await target.write(key, () =>
      text === undefined ? { action: "delete" } : { action: "put", value: { text } },
    );
    if (revision !== undefined) say(`ack ${revision} ${key} ${text ?? "-"}\n`);
  }
}

if (import.meta.main) await writeUntilKilled(process.argv.slice(2));
