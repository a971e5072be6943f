// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { constants, deflateRawSync } from "node:zlib";
import { isPartDone, type Work } from "@purlin/base";
import type { PreparedRun } from "../record/prepare-run.ts";
import type { RunSubject, StoredRun } from "../record/stored-run.ts";
import { type Bounds, keepWithin, rowBytes } from "./database.ts";

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

const timeDigits = 10;

const randomDigits = 16;

const rememberedXrs = 10_000;
const rememberedTags = 10_000;

/** The newest run of a composite resource. */
interface Newest {
  readonly id: string;
  readonly digest: Buffer;
  /** How many runs of the resource there are. */
  readonly count: number;
  /** A digest of the run before secrets were removed. */
  readonly raw?: string | undefined;
}

const mostWaitingBytes = 256 * 1024;
const packing = { level: 1, memLevel: 6, windowBits: 13, chunkSize: 4096 } as const;

/** Writes runs into a database. Callers wrap several writes in one transaction. */
export class RunWriter {
  readonly #database: DatabaseSync;
  readonly #bounds: Bounds;
  readonly #idAt = createRunIds();
  readonly #newest = new Map<string, Newest>();
  readonly #origins = new Map<string, string>();
  readonly #statements: Record<
    "insert" | "repeat" | "newest" | "refer" | "addPart" | "addPack" | "saveSize",
    StatementSync
  >;
  /** New objects of this transaction, and how many of its runs have each. */
  readonly #waiting = new Map<string, { readonly bytes: Uint8Array; refs: number }>();
  #waitingBytes = 0;
  #bytes: number;

  constructor(database: DatabaseSync, bounds: Bounds) {
    this.#database = database;
    this.#bounds = bounds;
    this.#statements = {
      insert: database.prepare("INSERT INTO run VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?)"),
      repeat: database.prepare("UPDATE run SET repeats = repeats + 1, last = ? WHERE id = ?"),
      newest: database.prepare(
        "SELECT id, digest, (SELECT count(*) FROM run AS one WHERE one.xr = run.xr) AS count FROM run WHERE xr = ? ORDER BY id DESC LIMIT 1",
      ),
      refer: database.prepare("UPDATE part SET refs = refs + 1 WHERE ref = ?"),
      addPart: database.prepare("INSERT INTO part VALUES (?, ?, ?, ?, ?)"),
      addPack: database.prepare("INSERT INTO pack (live, data) VALUES (?, ?)"),
      saveSize: database.prepare("INSERT OR REPLACE INTO meta VALUES ('bytes', ?)"),
    };
    this.#bytes = Number(database.prepare("SELECT value FROM meta WHERE name = 'bytes'").get()?.["value"] ?? 0);
  }

  /** The bytes of an object that is not in the database yet, although its run may be. */
  waiting(ref: string): Uint8Array | undefined {
    return this.#waiting.get(ref)?.bytes;
  }

  /** Whether a run is known to equal the newest one of its resource. */
  repeats(xr: RunSubject, raw: string): boolean {
    return this.#newest.get(xrText(xr))?.raw === raw;
  }

  /** Counts a run as a repeat of the newest one of its resource. */
  repeat(xr: RunSubject, endedMs: number): void {
    const newest = this.#newest.get(xrText(xr));
    if (newest !== undefined) this.#statements.repeat.run(endedMs, newest.id);
  }

  /** Stores a run, or counts it as a repeat of the newest one; in parts, all in one transaction. */
  *write(prepared: PreparedRun, raw: string): Work<void> {
    const { run, digest } = prepared;
    const xr = xrText(run.xr);
    const began = Date.parse(run.began);
    const ended = began + run.durationMs;
    const newest = this.#newestOf(xr);
    if (newest?.digest.equals(digest)) {
      this.#statements.repeat.run(ended, newest.id);
      this.#remember(xr, { ...newest, raw });
      return;
    }
    const id = this.#idAt(began);
    yield* this.#insert({ ...run, id, steps: this.#withOrigins(prepared, id) }, prepared, { xr, ended });
    let count = (newest?.count ?? 0) + 1;
    if (count > this.#bounds.maxRunsPerXr || this.#bytes > this.#bounds.maxBytes) {
      this.#savePack();
      this.#bytes -= yield* keepWithin(this.#database, this.#bounds, { xr, now: ended, bytes: this.#bytes });
      // Runs of other resources may have been removed, too.
      this.#newest.clear();
      count = this.#newestOf(xr)?.count ?? 0;
    }
    this.#remember(xr, { id, digest, count, raw });
  }

  /** Stores the objects that wait, and the size of the store; the last write of a transaction. */
  finish(): void {
    this.#savePack();
    this.#statements.saveSize.run(this.#bytes);
  }

  /** Removes all runs of a composite resource that are older than the age bound. */
  *expire(now: number): Work<void> {
    this.#savePack();
    const oldest = now - this.#bounds.maxAgeMs;
    const xrs = this.#database.prepare("SELECT DISTINCT xr FROM run WHERE last < ? LIMIT 100").all(oldest);
    for (const { xr } of xrs) {
      this.#bytes -= yield* keepWithin(this.#database, this.#bounds, { xr: String(xr), now, bytes: 0 });
      yield;
      this.#newest.delete(String(xr));
    }
  }

  #newestOf(xr: string): Newest | undefined {
    const known = this.#newest.get(xr);
    if (known !== undefined) return known;
    const row = this.#statements.newest.get(xr);
    if (row === undefined) return undefined;
    return { id: String(row["id"]), digest: Buffer.from(row["digest"] as Uint8Array), count: Number(row["count"]) };
  }

  #remember(xr: string, newest: Newest): void {
    remember(this.#newest, xr, { value: newest, most: rememberedXrs });
  }

  /** Names the run that made the call which a cache answered again. */
  #withOrigins({ run, tags }: PreparedRun, id: string): StoredRun["steps"] {
    return run.steps.map((step) => {
      const call = `${step.revision} ${tags.get(step.index) ?? ""}`;
      if (!step.cached) {
        remember(this.#origins, call, { value: id, most: rememberedTags });
        return step;
      }
      const origin = this.#origins.get(call);
      return origin === undefined ? step : { ...step, origin };
    });
  }

  *#insert(
    run: StoredRun,
    { parts, digest }: PreparedRun,
    { xr, ended }: { readonly xr: string; readonly ended: number },
  ): Work<void> {
    yield* this.#addParts(parts);
    const text = JSON.stringify(run);
    if (text.length > smallBody) yield;
    const body = yield* bodyOf(text);
    const summary = JSON.stringify(summaryOf(run));
    const refs = Buffer.from(run.parts.join(""), "hex");
    const { id, compositionRevision, outcome, writes } = run;
    const wrote = writes.length > 0 ? 1 : 0;
    this.#statements.insert.run(id, xr, compositionRevision, outcome, wrote, ended, digest, summary, refs, body);
    this.#bytes += Buffer.byteLength(body) + Buffer.byteLength(summary) + refs.length + rowBytes;
  }

  /** Counts the objects of a run. New ones wait for the others of the transaction. */
  *#addParts(parts: PreparedRun["parts"]): Work<void> {
    for (const [ref, { bytes }] of parts) {
      if (isPartDone()) yield;
      const waiting = this.#waiting.get(ref);
      if (waiting !== undefined) waiting.refs++;
      else if (Number(this.#statements.refer.run(ref).changes) === 0) {
        this.#waiting.set(ref, { bytes, refs: 1 });
        this.#waitingBytes += bytes.length;
      }
      if (this.#waitingBytes <= mostWaitingBytes) continue;
      this.#savePack();
      yield;
    }
  }

  /** New objects are compressed together: they are alike, and one call costs less than many. */
  #savePack(): void {
    if (this.#waiting.size === 0) return;
    const data = deflateRawSync(Buffer.concat([...this.#waiting.values()].map(({ bytes }) => bytes)), packing);
    const pack = Number(this.#statements.addPack.run(this.#waiting.size, data).lastInsertRowid);
    let start = 0;
    for (const [ref, { bytes, refs }] of this.#waiting) {
      this.#statements.addPart.run(ref, pack, start, bytes.length, refs);
      start += bytes.length;
    }
    this.#bytes += data.length + rowBytes * (this.#waiting.size + 1);
    this.#waiting.clear();
    this.#waitingBytes = 0;
  }
}

/** Small bodies are kept as text: to compress one costs more than anything else that is done for its run. */
const smallBody = 8192;

function* bodyOf(text: string): Work<string | Uint8Array> {
  if (text.length <= smallBody) return text;
  const bytes = Buffer.from(text);
  const packed: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += packedAtOnce) {
    if (at > 0) yield;
    const isLast = at + packedAtOnce >= bytes.length;
    const finishFlush = isLast ? constants.Z_FINISH : constants.Z_SYNC_FLUSH;
    packed.push(deflateRawSync(bytes.subarray(at, at + packedAtOnce), { ...packing, finishFlush }));
  }
  return packed.length === 1 ? (packed[0] as Uint8Array) : Buffer.concat(packed);
}

/** Bytes that are compressed at once. Streams that end in a flush, one after the other, are one stream. */
const packedAtOnce = 256 * 1024;

function remember<T>(
  map: Map<string, T>,
  key: string,
  { value, most }: { readonly value: T; readonly most: number },
): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}

/** A composite resource as one text, without the version of its API. */
function xrText({ apiVersion, kind, namespace = "", name }: RunSubject): string {
  const slash = apiVersion.indexOf("/");
  return `${kind}.${slash < 0 ? "" : apiVersion.slice(0, slash)}/${namespace}/${name}`;
}

function summaryOf({ steps, writes, conditions, parts, composite, revision, reason, ttlMs, ...rest }: StoredRun) {
  return { ...rest, steps: steps.map(({ name }) => name), writes: writes.length };
}

/** Makes identifiers of 26 characters that sort by time; those of one millisecond sort in the order in which they were made. */
function createRunIds(random: (bytes: number) => Uint8Array = randomBytes): (timeMs: number) => string {
  let lastMs = -1;
  let tail: number[] = [];
  return (timeMs) => {
    if (timeMs <= lastMs) increment(tail);
    else {
      lastMs = timeMs;
      tail = [...random(randomDigits)].map((byte) => byte % alphabet.length);
    }
    return timeText(lastMs) + tail.map((digit) => alphabet[digit]).join("");
  };
}

function timeText(timeMs: number): string {
  let text = "";
  for (let rest = Math.floor(timeMs), i = 0; i < timeDigits; i++) {
    text = `${alphabet[rest % alphabet.length]}${text}`;
    rest = Math.floor(rest / alphabet.length);
  }
  return text;
}

function increment(digits: number[]): void {
  for (let i = digits.length - 1; i >= 0; i--) {
    const next = ((digits[i] ?? 0) + 1) % alphabet.length;
    digits[i] = next;
    if (next !== 0) return;
  }
}
