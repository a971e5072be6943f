// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { deflateRawSync } from "node:zlib";
import type { PreparedRun } from "../record/prepare-run.ts";
import { createRunIds } from "../record/run-id.ts";
import type { RunSubject, StoredRun } from "../record/stored-run.ts";
import { type Bounds, keepWithin, rowBytes } from "./bounds.ts";

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

const packing = { level: 1, memLevel: 6, windowBits: 13, chunkSize: 4096 } as const;

/** Writes runs into a database. Callers wrap several writes in one transaction. */
export class RunWriter {
  readonly #database: DatabaseSync;
  readonly #bounds: Bounds;
  readonly #idAt = createRunIds();
  readonly #newest = new Map<string, Newest>();
  readonly #origins = new Map<string, string>();
  readonly #statements: Record<"insert" | "repeat" | "newest" | "refer" | "addPart" | "addPack", StatementSync>;
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
      addPart: database.prepare("INSERT INTO part VALUES (?, ?, ?, ?, 1)"),
      addPack: database.prepare("INSERT INTO pack (live, data) VALUES (?, ?)"),
    };
    this.#bytes = Number(database.prepare("SELECT value FROM meta WHERE name = 'bytes'").get()?.["value"] ?? 0);
  }

  /** Counts a run as a repeat, if it is known to equal the newest one of its resource. */
  repeat(xr: RunSubject, raw: string, endedMs: number): boolean {
    const newest = this.#newest.get(xrText(xr));
    if (newest === undefined || newest.raw !== raw) return false;
    this.#statements.repeat.run(endedMs, newest.id);
    return true;
  }

  /** Stores a run, or counts it as a repeat of the newest one. */
  write(prepared: PreparedRun, raw: string): void {
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
    this.#insert({ ...run, id, steps: this.#withOrigins(prepared, id) }, prepared, { xr, ended });
    let count = (newest?.count ?? 0) + 1;
    if (count > this.#bounds.maxRunsPerXr || this.#bytes > this.#bounds.maxBytes) {
      this.#bytes -= keepWithin(this.#database, this.#bounds, { xr, now: ended, bytes: this.#bytes });
      // Runs of other resources may have been removed, too.
      this.#newest.clear();
      count = this.#newestOf(xr)?.count ?? 0;
    }
    this.#remember(xr, { id, digest, count, raw });
  }

  /** Records the size in the database; the last write of a transaction. */
  saveSize(): void {
    this.#database.prepare("INSERT OR REPLACE INTO meta VALUES ('bytes', ?)").run(this.#bytes);
  }

  /** Removes all runs of a composite resource that are older than the age bound. */
  expire(now: number): void {
    const oldest = now - this.#bounds.maxAgeMs;
    const xrs = this.#database.prepare("SELECT DISTINCT xr FROM run WHERE last < ? LIMIT 100").all(oldest);
    for (const { xr } of xrs) {
      this.#bytes -= keepWithin(this.#database, this.#bounds, { xr: String(xr), now, bytes: 0 });
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

  #insert(
    run: StoredRun,
    { parts, digest }: PreparedRun,
    { xr, ended }: { readonly xr: string; readonly ended: number },
  ): void {
    const added = this.#addParts(parts);
    const body = deflateRawSync(JSON.stringify(run), packing);
    const summary = JSON.stringify(summaryOf(run));
    const refs = Buffer.from(run.parts.join(""), "hex");
    const { id, compositionRevision, outcome, writes } = run;
    const wrote = writes.length > 0 ? 1 : 0;
    this.#statements.insert.run(id, xr, compositionRevision, outcome, wrote, ended, digest, summary, refs, body);
    this.#bytes += added + body.length + summary.length + refs.length + rowBytes;
  }

  /** New objects of a run are compressed together: they are alike, and one call costs less than many. */
  #addParts(parts: PreparedRun["parts"]): number {
    const fresh = [...parts].filter(([ref]) => Number(this.#statements.refer.run(ref).changes) === 0);
    if (fresh.length === 0) return 0;
    const data = deflateRawSync(Buffer.concat(fresh.map(([, { bytes }]) => bytes)), packing);
    const pack = Number(this.#statements.addPack.run(fresh.length, data).lastInsertRowid);
    let start = 0;
    for (const [ref, { bytes }] of fresh) {
      this.#statements.addPart.run(ref, pack, start, bytes.length);
      start += bytes.length;
    }
    return data.length + rowBytes * (fresh.length + 1);
  }
}

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
