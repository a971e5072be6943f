// SPDX-License-Identifier: Apache-2.0
// Which runs a reader lists and finds, and the documents that a control plane serves of them.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { deflateRawSync } from "node:zlib";
import type { RunSubject } from "../record/stored-run.ts";
import { openDatabase, openForReading } from "./database.ts";
import { createRunReader, queryOf, type RunFilter, type RunReader, runsDocument, runsPath } from "./run-reader.ts";

interface Row {
  readonly id: string;
  readonly xr?: Partial<RunSubject>;
  readonly outcome?: string;
  readonly steps?: readonly string[];
  readonly last?: number;
  readonly repeats?: number;
  readonly parts?: readonly string[];
  readonly isPacked?: boolean;
}

const subject: RunSubject = { apiVersion: "example.org/v1", kind: "App", namespace: "default", name: "shop" };

function insert(database: DatabaseSync, row: Row): void {
  const { id, xr, outcome = "composed", steps = [], last = 0, repeats = 0, parts = [], isPacked = false } = row;
  const summary = JSON.stringify({ id, xr: { ...subject, ...xr }, outcome, steps });
  const text = JSON.stringify({ id, parts });
  const body = isPacked ? deflateRawSync(text) : text;
  database
    .prepare("INSERT INTO run VALUES (?, 'x', '', ?, 0, ?, ?, x'00', ?, x'', ?)")
    .run(id, outcome, repeats, last, summary, body);
}

function readerOf(...rows: readonly Row[]): RunReader & { readonly database: DatabaseSync } {
  const database = openDatabase(":memory:");
  for (const row of rows) insert(database, row);
  return { ...createRunReader(database), database };
}

const ids = (reader: RunReader, filter?: RunFilter): string =>
  reader
    .list(filter)
    .map(({ id }) => id)
    .join();

describe("a list of runs", () => {
  test("is newest first, with repeats and the time of the last", () => {
    const reader = readerOf({ id: "01", repeats: 3, last: 1_790_000_000_000 }, { id: "02" });
    assert.equal(ids(reader), "02,01");
    const [, first] = reader.list();
    assert.deepEqual([first?.repeats, first?.last], [3, "2026-09-21T14:13:20.000Z"]);
  });

  test("is made in turns, where that is asked for", async () => {
    const rows = Array.from({ length: 20_000 }, (_, index) => ({ id: `${index}`.padStart(5, "0") }));
    const reader = readerOf(...rows, { id: "2", xr: { name: "wanted" } });
    let listed: readonly { readonly id: string }[] | undefined;
    const listing = reader.listInTurns({ name: "wanted" }).then((found) => {
      listed = found;
    });
    let turns = 0;
    for (; listed === undefined; turns++) await setImmediate();
    await listing;
    assert.ok(turns > 1, `${turns} turns`);
    assert.deepEqual(listed, reader.list({ name: "wanted" }));
    assert.equal(listed.length, 1);
    const broken = readerOf({ id: "01", steps: [7 as never] });
    await assert.rejects(broken.listInTurns(), /^Error: the list of runs is damaged: the summary of "01"/);
  });

  test("one run is read in turns; it is not found when it is removed meanwhile", async () => {
    const reader = readerOf();
    const { database } = reader;
    const refs = Array.from({ length: 50_000 }, (_, index) => index.toString(16).padStart(32, "0"));
    insert(database, { id: "01", parts: refs });
    database.prepare("INSERT INTO pack (id, live, data) VALUES (1, 50000, ?)").run(deflateRawSync("object"));
    for (const ref of refs) database.prepare("INSERT INTO part VALUES (?, 1, 0, 6, 1)").run(ref);
    const found = await reader.getInTurns("01");
    assert.deepEqual(found, reader.get("01"));
    assert.equal(Object.keys(found?.parts ?? {}).length, 50_000);
    assert.equal(await reader.getInTurns("02"), undefined);
    await setImmediate();
    // Its row and the first of its parts are read at once.
    const removed = reader.getInTurns("01");
    database.exec("DELETE FROM run; DELETE FROM part");
    assert.equal(await removed, undefined);
  });

  test("is filtered by resource: kinds in any case, groups without their version", () => {
    const reader = readerOf(
      { id: "01" },
      { id: "02", xr: { kind: "Other" } },
      { id: "03", xr: { apiVersion: "example.org.evil/v1" } },
      { id: "04", xr: { namespace: "dev" } },
      { id: "05", xr: { name: "shop-2" } },
      { id: "06", xr: { apiVersion: "example.org/v2" } },
      { id: "07", xr: { namespace: undefined } as never },
    );
    assert.equal(ids(reader, { kind: "app" }), "07,06,05,04,03,01");
    assert.equal(ids(reader, { kind: "OTHER" }), "02");
    assert.equal(ids(reader, { group: "example.org" }), "07,06,05,04,02,01");
    assert.equal(ids(reader, { group: "example" }), "");
    assert.equal(ids(reader, { namespace: "dev" }), "04");
    assert.equal(ids(reader, { namespace: "" }), "07", "an empty namespace is that of cluster-scoped resources");
    assert.equal(ids(reader, { name: "shop-2" }), "05");
    assert.equal(ids(reader, { kind: "App", group: "example.org", namespace: "default", name: "shop" }), "06,01");
  });

  test("is filtered by outcome, step and time", () => {
    const reader = readerOf(
      { id: "01", outcome: "failed", steps: ["render"], last: 1000 },
      { id: "02", outcome: "conflict", steps: ["render", "ready"], last: 2000 },
      { id: "03", outcome: "composed", steps: ["renderer"], last: 3000 },
    );
    assert.equal(ids(reader, { failed: true }), "01");
    assert.equal(ids(reader, { failed: false }), "03,02,01");
    assert.equal(ids(reader, { step: "render" }), "02,01");
    assert.equal(ids(reader, { step: "ready" }), "02");
    assert.equal(ids(reader, { sinceMs: 2000 }), "03,02");
    assert.equal(ids(reader, { sinceMs: 2001 }), "03");
    assert.equal(ids(reader, { after: "01" }), "03,02");
    assert.equal(ids(reader, { after: "03" }), "");
  });

  test("has as many runs as wanted that match, found over several pages", () => {
    const rows = Array.from({ length: 1203 }, (_, n) => ({
      id: String(n).padStart(4, "0"),
      xr: { name: n % 400 === 0 ? "rare" : "shop" },
    }));
    const reader = readerOf(...rows);
    assert.equal(reader.list().length, 500, "the limit unless one is given");
    assert.equal(reader.list({ limit: 700 }).length, 700);
    assert.equal(reader.list({ limit: 5000 }).length, 1203);
    assert.equal(reader.list({ limit: 700 }).at(-1)?.id, "0503");
    assert.equal(ids(reader, { name: "rare" }), "1200,0800,0400,0000");
    assert.equal(ids(reader, { name: "rare", limit: 2 }), "1200,0800");
    assert.equal(ids(reader, { name: "rare", after: "0400" }), "1200,0800");
    assert.deepEqual(reader.list({ limit: 0 }), []);
  });
});

describe("one run", () => {
  test("is found by its identifier or a unique beginning of it", () => {
    const reader = readerOf({ id: "01AB" }, { id: "01AC" }, { id: "02" }, { id: "0" });
    const found = (id: string): string | undefined => reader.get(id)?.run.id;
    assert.deepEqual(
      [found("01AB"), found("01AC"), found("02"), found("01"), found("01A"), found("3"), found("01ABC")],
      ["01AB", "01AC", "02", undefined, undefined, undefined, undefined],
    );
    assert.equal(found("0"), "0", "an identifier is found, though others begin with it");
  });

  test("is read from text and from a compressed body", () => {
    const reader = readerOf({ id: "01", isPacked: true, repeats: 2, last: 5 }, { id: "02" });
    const packed = reader.get("01");
    assert.deepEqual([packed?.run.id, packed?.repeats, packed?.last], ["01", 2, "1970-01-01T00:00:00.005Z"]);
    assert.equal(reader.get("02")?.run.id, "02");
  });

  test("has its objects from the packs that hold them; one that is gone is left out", () => {
    const reader = readerOf({ id: "01", parts: ["a", "b", "c", "gone"] });
    const pack = reader.database.prepare("INSERT INTO pack VALUES (?, 1, ?)");
    pack.run(1, deflateRawSync("firstsecond"));
    pack.run(2, deflateRawSync("third"));
    reader.database.exec("INSERT INTO part VALUES ('a', 1, 0, 5, 1), ('b', 1, 5, 6, 1), ('c', 2, 0, 5, 1)");
    const parts = Object.entries(reader.get("01")?.parts ?? {}).map(([ref, text]) => [
      ref,
      Buffer.from(text, "base64").toString(),
    ]);
    assert.deepEqual(parts, [
      ["a", "first"],
      ["b", "second"],
      ["c", "third"],
    ]);
  });
});

describe("the documents that are served", () => {
  const storeOf = (...rows: readonly Row[]) => {
    const asked: RunFilter[] = [];
    const reader = readerOf(...rows);
    let flushed = 0;
    const listInTurns = (filter: RunFilter = {}) => {
      asked.push(filter);
      return reader.listInTurns(filter);
    };
    const stats = { recorded: 1, dropped: 2, cpuMs: 0, problem: undefined as string | undefined };
    const flushInTurns = async (): Promise<void> => void flushed++;
    const store = { reader: { ...reader, listInTurns }, flushInTurns, stats };
    return { store, asked, flushes: () => flushed };
  };
  const query = (text = ""): URLSearchParams => new URLSearchParams(text);

  test("are a list below the path, with what was dropped and why nothing is recorded", async () => {
    const { store, flushes } = storeOf({ id: "01" });
    const list = (await runsDocument(store, runsPath, query())) as unknown as {
      readonly items: readonly { readonly id: string }[];
    };
    assert.deepEqual(
      list.items.map(({ id }) => id),
      ["01"],
    );
    assert.deepEqual({ ...list, items: [] }, { items: [], dropped: 2, problem: null });
    assert.equal(flushes(), 1, "what waits is stored first");
    store.stats.problem = "disk full";
    assert.deepEqual(await runsDocument(store, runsPath, query("name=none")), {
      items: [],
      dropped: 2,
      problem: "disk full",
    });
  });

  test("are one run by its identifier, and nothing for other paths and runs", async () => {
    const { store, flushes } = storeOf({ id: "01" }, { id: "02" });
    const second = await runsDocument(store, `${runsPath}/02`, query());
    assert.deepEqual((second as { run: object } | undefined)?.run, {
      id: "02",
      parts: [],
    });
    assert.equal(await runsDocument(store, `${runsPath}/03`, query()), undefined);
    const before = flushes();
    for (const path of ["/", "/purlin/v1", `${runsPath}x`, `${runsPath}x/01`, `/x${runsPath}`]) {
      assert.equal(runsDocument(store, path, query()), undefined, path);
    }
    assert.equal(flushes(), before, "other paths do not store anything");
  });

  test("the query of a filter is read as that filter", async () => {
    const { store, asked } = storeOf();
    const filters: readonly RunFilter[] = [
      {},
      { kind: "App", group: "example.org", namespace: "a b", name: "x&y=z", step: "ü", after: "01" },
      { failed: true, sinceMs: 1_790_000_000_000, limit: 5 },
      { failed: false, limit: 0, sinceMs: 0 },
    ];
    for (const filter of filters) {
      await runsDocument(store, runsPath, new URLSearchParams(queryOf(filter)));
      const read = Object.entries(asked.at(-1) ?? {}).filter(([, value]) => value !== undefined);
      assert.deepEqual(Object.fromEntries(read), { failed: false, ...filter });
    }
    assert.deepEqual(queryOf({ failed: false, kind: undefined }), {});
    assert.deepEqual(queryOf({ failed: true, sinceMs: 0, limit: 1, name: "" }), {
      name: "",
      failed: "true",
      since: "0",
      limit: "1",
    });
  });

  test("numbers of a query that are not numbers are left out", async () => {
    const { store, asked } = storeOf();
    await runsDocument(store, runsPath, query("limit=many&since=yesterday&failed=yes&other=1"));
    assert.deepEqual(asked, [
      {
        ...{ kind: undefined, group: undefined, namespace: undefined, name: undefined, step: undefined },
        ...{ after: undefined, failed: false, sinceMs: undefined, limit: undefined },
      },
    ]);
  });
});

describe("a store that comes from elsewhere", () => {
  const bomb = deflateRawSync(Buffer.alloc(65 * 2 ** 20));
  const rows: Readonly<Record<string, { readonly column: string; readonly value: string | Uint8Array | bigint }>> = {
    "a summary that is not JSON": { column: "summary", value: "{" },
    "a summary without a resource": { column: "summary", value: '{"id":"01","outcome":"composed","steps":[]}' },
    "a summary whose steps are not a list": {
      column: "summary",
      value: `{"id":"01","outcome":"composed","steps":1,"xr":${JSON.stringify(subject)}}`,
    },
    "a time that is out of range": { column: "last", value: 9_000_000_000_000_000n },
    "a body that is not JSON": { column: "body", value: "x" },
    "a body that is nothing": { column: "body", value: "null" },
    "a body without parts": { column: "body", value: '{"id":"01"}' },
    "a body that is not compressed": { column: "body", value: Buffer.from("x") },
    "a body that expands without end": { column: "body", value: bomb },
  };
  for (const [what, { column, value }] of Object.entries(rows)) {
    test(`has ${what}: one error that says so`, async () => {
      const reader = readerOf({ id: "01" });
      reader.database.prepare(`UPDATE run SET ${column} = ?`).run(value);
      const isListed = column === "summary" || column === "last";
      if (isListed) assert.throws(() => reader.list(), /^Error: the list of runs is damaged: /);
      const isDamaged = /^Error: run "01" is damaged: /;
      if (column !== "summary") assert.throws(() => reader.get("01"), isDamaged);
      if (column !== "summary") await assert.rejects(reader.getInTurns("01"), isDamaged);
    });
  }

  test("has a FIFO in place of its file: it is not opened", (t) => {
    const folder = mkdtempSync(join(tmpdir(), "purlin-runs-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const path = join(folder, "runs.db");
    execFileSync("mkfifo", [path]);
    assert.throws(() => openForReading(path), /runs\.db: it is a named pipe \(FIFO\), not a regular file/);
    assert.throws(() => openDatabase(path), /runs\.db: it is a named pipe \(FIFO\), not a regular file/);
  });
});

test("a large run is inflated elsewhere: the event loop turns meanwhile", async () => {
  const reader = readerOf({ id: "01", isPacked: true });
  const body = deflateRawSync(JSON.stringify({ id: "01", parts: [], text: "x".repeat(2 ** 20) }));
  reader.database.prepare("UPDATE run SET body = ?").run(body);
  let turns = 0;
  const reading = reader.getInTurns("01");
  const isRead = reading.then(() => true);
  while (!(await Promise.race([isRead, setImmediate(false)]))) turns++;
  assert.ok(turns > 0);
  assert.deepEqual(await reading, reader.get("01"));
});
