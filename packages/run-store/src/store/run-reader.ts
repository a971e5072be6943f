// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import type { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { inflateRaw, inflateRawSync } from "node:zlib";
import { type AwaitingWork, awaited, finish, inOnePart, inTurns, isPartDone, type Work } from "@purlin/base";
import type { JsonValue } from "@purlin/kube-objects/json";
import { isRunSummary, type RunSummary, type StoredRun } from "../record/stored-run.ts";
import type { RunStore } from "./open-run-store.ts";

/** Which runs to list. */
export interface RunFilter {
  /** A composite resource; without a kind or namespace, all of that name. */
  readonly kind?: string | undefined;
  readonly group?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly failed?: boolean | undefined;
  /** Runs with a step of this name. */
  readonly step?: string | undefined;
  /** Runs that ended at this time or later, in milliseconds. */
  readonly sinceMs?: number | undefined;
  /** Runs after this one. */
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
}

/** A run with its objects, in protobuf encoding and base64, by reference. */
export interface RunDocument {
  readonly run: StoredRun;
  readonly repeats: number;
  readonly last: string;
  readonly parts: Readonly<Record<string, string>>;
}

const defaultLimit = 500;
const pageRows = 500;

/** Reads runs. */
export interface RunReader {
  /** Newest first. */
  list(filter?: RunFilter): readonly RunSummary[];
  /** The same in parts that let other work run: few of many runs may be wanted. */
  listInTurns(filter?: RunFilter): Promise<readonly RunSummary[]>;
  /** The run of an identifier, or of a unique beginning of one. */
  get(id: string): RunDocument | undefined;
  /** The same in parts. A run that is removed meanwhile is not found. */
  getInTurns(id: string): Promise<RunDocument | undefined>;
}

/** Where the objects of runs are. */
interface PartSource {
  readonly database: DatabaseSync;
  /** An object that is not in the database yet: runs that are being stored are visible on the connection of their writer. */
  readonly waiting: (ref: string) => Uint8Array | undefined;
  readonly inflate: Inflate;
}

/** Reads the runs of a database, with the objects that its writer has not stored yet. */
export function createRunReader(database: DatabaseSync, waiting: PartSource["waiting"] = () => undefined): RunReader {
  const find = (id: string, inflate: Inflate): AwaitingWork<RunDocument | undefined> =>
    readable(`run ${JSON.stringify(id)}`, finding(id, inflate));
  return {
    list: (filter = {}) => finish(readable("the list of runs", listRuns(database, filter))),
    async listInTurns(filter = {}) {
      return await inTurns(readable("the list of runs", listRuns(database, filter)));
    },
    get: (id) => finish(find(id, inflateAtOnce)),
    async getInTurns(id) {
      return await inTurns(find(id, inflateElsewhere));
    },
  };

  function* finding(id: string, inflate: Inflate): AwaitingWork<RunDocument | undefined> {
    const rows = database.prepare("SELECT * FROM run WHERE id >= ? AND id < ? LIMIT 2").all(id, `${id}~`);
    const exact = rows.find((row) => row["id"] === id);
    const [first, another] = rows;
    const row = exact ?? (another === undefined ? first : undefined);
    if (row === undefined) return undefined;
    const { body } = row;
    // Small bodies are text; others are compressed.
    const text = typeof body === "string" ? body : (yield* inflate(body)).toString();
    yield;
    const run = JSON.parse(text) as StoredRun;
    if (!Array.isArray(run?.parts)) throw new Error("it has no list of parts");
    const parts = yield* partsOf(run.parts, { database, waiting, inflate });
    // A run is removed before its parts: where it still is, they were all there.
    const newest = database.prepare("SELECT repeats, last FROM run WHERE id = ?").get(String(row["id"]));
    return newest && { run, repeats: Number(newest["repeats"]), last: isoTime(newest["last"]), parts };
  }
}

/** Reads something of a file that may come from elsewhere: whatever is wrong with it is one kind of error. */
function* readable<T>(what: string, reading: AwaitingWork<T>): AwaitingWork<T> {
  try {
    return yield* reading;
  } catch (error) {
    throw new Error(`${what} is damaged: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function* listRuns(database: DatabaseSync, filter: RunFilter): Work<readonly RunSummary[]> {
  const { after = "", limit = defaultLimit } = filter;
  const found: RunSummary[] = [];
  const page = database.prepare(
    "SELECT id, repeats, last, summary FROM run WHERE id > ? AND id < ? ORDER BY id DESC LIMIT ?",
  );
  for (let before = "~"; found.length < limit; ) {
    const rows = page.all(after, before, pageRows);
    for (const row of rows) {
      if (isPartDone()) yield;
      const summary = JSON.parse(String(row["summary"])) as Omit<RunSummary, "repeats" | "last">;
      if (!isRunSummary(summary)) throw new Error(`the summary of ${JSON.stringify(row["id"])} is not one of a run`);
      const run = { ...summary, repeats: Number(row["repeats"]), last: isoTime(row["last"]) };
      if (isWanted(run, filter)) found.push(run);
    }
    if (rows.length < pageRows) break;
    before = String(rows.at(-1)?.["id"]);
  }
  return found.slice(0, limit);
}

function isWanted(run: RunSummary, { kind, group, namespace, name, failed, step, sinceMs }: RunFilter): boolean {
  const { xr } = run;
  return (
    (kind === undefined || xr.kind.toLowerCase() === kind.toLowerCase()) &&
    (group === undefined || xr.apiVersion.startsWith(`${group}/`)) &&
    (namespace === undefined || (xr.namespace ?? "") === namespace) &&
    (name === undefined || xr.name === name) &&
    (failed !== true || run.outcome === "failed") &&
    (step === undefined || run.steps.includes(step)) &&
    (sinceMs === undefined || Date.parse(run.last) >= sinceMs)
  );
}

function* partsOf(
  refs: readonly string[],
  { database, waiting, inflate }: PartSource,
): AwaitingWork<Record<string, string>> {
  const packs = new Map<number, Buffer>();
  const find = database.prepare("SELECT pack, start, size FROM part WHERE ref = ?");
  const read = database.prepare("SELECT data FROM pack WHERE id = ?");
  const parts: Record<string, string> = {};
  for (const ref of refs) {
    if (isPartDone()) yield;
    const part = find.get(ref);
    if (part === undefined) {
      const bytes = waiting(ref);
      if (bytes !== undefined) parts[ref] = Buffer.from(bytes).toString("base64");
      continue;
    }
    const id = Number(part["pack"]);
    if (!packs.has(id)) yield;
    const pack = packs.get(id) ?? (yield* inflate(read.get(id)?.["data"]));
    packs.set(id, pack);
    const start = Number(part["start"]);
    parts[ref] = pack.subarray(start, start + Number(part["size"])).toString("base64");
  }
  return parts;
}

/** Far more than a run or a pack of objects has: what is compressed may be made to expand without end. */
const maxInflatedBytes = 64 * 2 ** 20;

type Inflate = (value: unknown) => AwaitingWork<Buffer>;

const inflateAtOnce: Inflate = inOnePart((value) =>
  inflateRawSync(value as Uint8Array, { maxOutputLength: maxInflatedBytes }),
);

const inflateAsync = promisify<Uint8Array, { readonly maxOutputLength: number }, Buffer>(inflateRaw);

/** On another thread. */
const inflateElsewhere: Inflate = (value) =>
  awaited(inflateAsync(value as Uint8Array, { maxOutputLength: maxInflatedBytes }));

function isoTime(value: unknown): string {
  return new Date(Number(value)).toISOString();
}

/** Where a control plane serves its runs: this path lists them, and one of them is below it. */
export const runsPath = "/purlin/v1/runs";

/** Why a replica that does not lead gives no runs: only the leader reconciles, so only its records are those of the control plane. */
export const recorderWaits = "this replica does not lead: another one records runs";

/**
 * The list of runs, or one run with its objects, by path, after what waits is stored; undefined for any other path, and a promise of it
 * for an unknown run.
 */
export function runsDocument(
  store: Pick<RunStore, "reader" | "flushInTurns" | "stats">,
  path: string,
  query: URLSearchParams,
): Promise<JsonValue | undefined> | undefined {
  if (path !== runsPath && !path.startsWith(`${runsPath}/`)) return undefined;
  return readDocument(store, path, query);
}

async function readDocument(
  store: Pick<RunStore, "reader" | "flushInTurns" | "stats">,
  path: string,
  query: URLSearchParams,
): Promise<JsonValue | undefined> {
  await store.flushInTurns();
  if (path !== runsPath) {
    const document = await store.reader.getInTurns(path.slice(runsPath.length + 1));
    return document as unknown as JsonValue | undefined;
  }
  const items = await store.reader.listInTurns(filterOf(query));
  const { dropped, problem = null } = store.stats;
  return { items, dropped, problem } as unknown as JsonValue;
}

const texts = ["kind", "group", "namespace", "name", "step", "after"] as const;

/** The query that asks for the runs of a filter. */
export function queryOf(filter: RunFilter): Readonly<Record<string, string>> {
  const { failed, sinceMs, limit } = filter;
  const query: Record<string, string> = {};
  for (const name of texts) {
    const value = filter[name];
    if (value !== undefined) query[name] = value;
  }
  if (failed === true) query["failed"] = "true";
  if (sinceMs !== undefined) query["since"] = String(sinceMs);
  if (limit !== undefined) query["limit"] = String(limit);
  return query;
}

function filterOf(query: URLSearchParams): RunFilter {
  const number = (name: string): number | undefined => {
    const value = Number(query.get(name) ?? Number.NaN);
    return Number.isFinite(value) ? value : undefined;
  };
  return {
    ...Object.fromEntries(texts.map((name) => [name, query.get(name) ?? undefined])),
    failed: query.get("failed") === "true",
    sinceMs: number("since"),
    limit: number("limit"),
  };
}
