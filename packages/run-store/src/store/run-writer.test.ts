// SPDX-License-Identifier: Apache-2.0
// How runs get into a database: identifiers, repeats, origins of cached answers, objects, and the size that is kept.

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { finish } from "@purlin/base";
import { Struct } from "@purlin/function-protocol";
import type { PreparedRun } from "../record/prepare-run.ts";
import type { StoredRun, StoredStep } from "../record/stored-run.ts";
import { type Bounds, defaultBounds, openDatabase } from "./database.ts";
import { createRunReader, type RunReader } from "./run-reader.ts";
import { RunWriter } from "./run-writer.ts";

const start = Date.parse("2026-01-02T03:04:05.000Z");

interface Given {
  readonly at?: number;
  readonly name?: string;
  readonly namespace?: string;
  readonly apiVersion?: string;
  readonly digest?: string;
  readonly parts?: Readonly<Record<string, Struct>>;
  readonly steps?: readonly Partial<StoredStep>[];
  readonly tags?: readonly (readonly [number, string])[];
  readonly more?: Partial<StoredRun>;
}

function prepared(given: Given = {}): PreparedRun {
  const {
    at = 0,
    name = "shop",
    namespace,
    apiVersion = "example.org/v1",
    digest = "d",
    parts = {},
    steps = [],
  } = given;
  const refs = Object.keys(parts);
  const run: Omit<StoredRun, "id"> = {
    xr: { apiVersion, kind: "App", ...(namespace !== undefined && { namespace }), name },
    ...{ uid: "u", generation: 1, resourceVersion: "1", composition: "apps", compositionRevision: "apps-1" },
    ...{ cause: "spec", began: new Date(start + at).toISOString(), durationMs: 20, outcome: "composed" },
    ...{ conditions: [], writes: [], composite: refs[0] ?? "", parts: refs },
    steps: steps.map((one, index) => ({
      ...{ index, name: `step-${index}`, function: "fn", revision: "fn-1", package: "p", durationMs: 1 },
      ...{ bytesIn: 0, bytesOut: 0, cached: false, calls: [], ...one },
    })),
    ...given.more,
  };
  return { run, parts: new Map(Object.entries(parts)), digest: Buffer.from(digest), tags: new Map(given.tags ?? []) };
}

interface Opened {
  readonly database: DatabaseSync;
  readonly writer: RunWriter;
  readonly reader: RunReader;
}

function opened(bounds: Partial<Bounds> = {}, database = openDatabase(":memory:")): Opened {
  return {
    database,
    writer: new RunWriter(database, { ...defaultBounds, ...bounds }),
    reader: createRunReader(database),
  };
}

const keptBytes = (database: DatabaseSync): number =>
  Number(database.prepare("SELECT value FROM meta WHERE name = 'bytes'").get()?.["value"]);

describe("the identifier of a run", () => {
  test("has 26 characters of an alphabet without doubtful letters, and begins with the time", () => {
    const { writer, reader } = opened();
    finish(writer.write(prepared(), ""));
    const [{ id } = { id: "" }] = reader.list();
    assert.match(id, /^[0-9A-HJKMNP-TV-Z]{26}$/);
    const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    const time = [...id.slice(0, 10)].reduce((sum, char) => sum * 32 + alphabet.indexOf(char), 0);
    assert.equal(time, start);
  });

  test("sorts by time, and within a millisecond in the order of writing", () => {
    const { writer, reader } = opened();
    for (const [index, at] of [0, 0, 0, 5, 5, 3, 9].entries())
      finish(writer.write(prepared({ at, name: `xr-${index}` }), ""));
    const names = reader.list().map(({ xr }) => xr.name);
    assert.deepEqual(names, ["xr-6", "xr-5", "xr-4", "xr-3", "xr-2", "xr-1", "xr-0"]);
    assert.equal(new Set(reader.list().map(({ id }) => id)).size, 7);
  });
});

describe("a run that equals the newest one of its resource", () => {
  test("is counted, with the time at which it ended", () => {
    const { writer, reader } = opened();
    finish(writer.write(prepared(), ""));
    finish(writer.write(prepared({ at: 60_000 }), ""));
    const runs = reader.list();
    assert.deepEqual(
      runs.map(({ repeats, last, began }) => [repeats, last, began]),
      [[1, "2026-01-02T03:05:05.020Z", "2026-01-02T03:04:05.000Z"]],
    );
  });

  test("is a run of its own after another one, and for another resource", () => {
    const { writer, reader } = opened();
    for (const digest of ["a", "b", "a"]) finish(writer.write(prepared({ digest }), ""));
    finish(writer.write(prepared({ digest: "a", namespace: "dev" }), ""));
    finish(writer.write(prepared({ digest: "a", apiVersion: "other.org/v1" }), ""));
    finish(writer.write(prepared({ digest: "a", name: "cart" }), ""));
    assert.deepEqual(
      reader.list().map(({ repeats }) => repeats),
      [0, 0, 0, 0, 0, 0],
    );
  });

  test("is the same resource in another version of its API", () => {
    const { writer, reader } = opened();
    finish(writer.write(prepared(), ""));
    finish(writer.write(prepared({ apiVersion: "example.org/v2" }), ""));
    assert.equal(reader.list()[0]?.repeats, 1);
  });

  test("is known before it is prepared, by what was given with the last one", () => {
    const { writer, reader } = opened();
    const { xr } = prepared().run;
    assert.equal(writer.repeats(xr, "raw"), false, "nothing is known yet");
    finish(writer.write(prepared(), "raw"));
    assert.equal(writer.repeats(xr, "other"), false);
    assert.equal(writer.repeats({ ...xr, namespace: "dev" }, "raw"), false);
    assert.equal(writer.repeats(xr, "raw"), true);
    writer.repeat(xr, start + 5000);
    assert.deepEqual([reader.list()[0]?.repeats, reader.list()[0]?.last], [1, "2026-01-02T03:04:10.000Z"]);
    finish(writer.write(prepared({ digest: "new" }), "second"));
    assert.deepEqual([writer.repeats(xr, "raw"), writer.repeats(xr, "second")], [false, true]);
  });

  test("is found by a writer that is opened later, too", () => {
    const { writer, database, reader } = opened();
    finish(writer.write(prepared(), "raw"));
    const later = opened({}, database).writer;
    assert.equal(later.repeats(prepared().run.xr, "raw"), false, "that was in memory only");
    finish(later.write(prepared(), ""));
    assert.equal(reader.list()[0]?.repeats, 1);
  });
});

describe("an answer of a cache", () => {
  test("names the run of the call with the same tag and revision", () => {
    const { writer, reader } = opened();
    const step = (cached: boolean, revision = "fn-1") => ({ steps: [{ cached, revision }] });
    finish(writer.write(prepared({ ...step(false), digest: "1", tags: [[0, "t"]] }), ""));
    finish(writer.write(prepared({ ...step(true), digest: "2", tags: [[0, "t"]] }), ""));
    finish(writer.write(prepared({ ...step(true), digest: "3", tags: [[0, "other"]] }), ""));
    finish(writer.write(prepared({ ...step(true, "fn-2"), digest: "4", tags: [[0, "t"]] }), ""));
    const [fourth, third, second, first] = reader.list().map(({ id }) => id);
    const originOf = (id = ""): string | undefined => reader.get(id)?.run.steps[0]?.origin;
    assert.equal(originOf(second), first);
    assert.deepEqual([originOf(first), originOf(third), originOf(fourth)], [undefined, undefined, undefined]);
  });
});

describe("the objects of runs", () => {
  const object = (text: string): Struct => Struct.from({ text: text.repeat(200) });
  const ref = (digit: string): string => digit.repeat(32);
  const refs = (database: DatabaseSync): unknown[] =>
    database
      .prepare("SELECT ref, refs FROM part ORDER BY ref")
      .all()
      .map(({ ref: one, refs: count }) => [String(one).charAt(0), count]);

  test("are stored once, however many runs have them, within a transaction and after it", () => {
    const { writer, database, reader } = opened();
    const [a, b] = [object("a"), object("b")];
    finish(writer.write(prepared({ digest: "1", parts: { [ref("a")]: a } }), ""));
    finish(writer.write(prepared({ digest: "2", parts: { [ref("a")]: a, [ref("b")]: b } }), ""));
    assert.deepEqual(refs(database), [], "they wait for the others of the transaction");
    writer.finish();
    assert.deepEqual(refs(database), [
      ["a", 2],
      ["b", 1],
    ]);
    finish(writer.write(prepared({ digest: "3", parts: { [ref("a")]: a } }), ""));
    writer.finish();
    assert.deepEqual(refs(database)[0], ["a", 3]);
    const parts = reader.get(reader.list()[1]?.id ?? "")?.parts ?? {};
    assert.deepEqual(Struct.fromBytes(Buffer.from(parts[ref("b")] ?? "", "base64")).value, b.value);
  });

  test("go with the last run that has them, when there are too many runs", () => {
    const { writer, database, reader } = opened({ maxRunsPerXr: 2 });
    for (const [index, letter] of ["a", "b", "c", "d"].entries()) {
      const parts = { [ref(letter)]: object(letter) };
      finish(writer.write(prepared({ at: index, digest: letter, parts, more: { compositionRevision: "" } }), ""));
    }
    writer.finish();
    assert.equal(reader.list().length, 2);
    assert.deepEqual(refs(database), [
      ["c", 1],
      ["d", 1],
    ]);
  });
});

test("the size that is kept is that of the rows, also for texts that are not ASCII, and returns to what it was", () => {
  const { writer, database } = opened({ maxRunsPerXr: 1 });
  const big = { error: "ü".repeat(5000), compositionRevision: "" };
  finish(writer.write(prepared({ digest: "1", more: { compositionRevision: "" } }), ""));
  writer.finish();
  const before = keptBytes(database);
  finish(writer.write(prepared({ at: 1, digest: "2", more: big }), ""));
  writer.finish();
  assert.ok(keptBytes(database) > before + 10_000, "a summary has the text, too");
  finish(writer.write(prepared({ at: 2, digest: "3", more: { compositionRevision: "" } }), ""));
  writer.finish();
  assert.equal(keptBytes(database), before);
});

test("a run whose objects wait for others of the transaction is read with them", async () => {
  const { database, writer } = opened();
  const reader = createRunReader(database, (ref) => writer.waiting(ref));
  const [one, ref] = [Struct.from({ text: "one" }), "1".repeat(32)];
  database.exec("BEGIN");
  finish(writer.write(prepared({ parts: { [ref]: one } }), ""));
  const id = reader.list()[0]?.id ?? "";
  const want = { [ref]: Buffer.from(one.bytes).toString("base64") };
  assert.equal(database.prepare("SELECT count(*) AS count FROM part").get()?.["count"], 0);
  assert.deepEqual(reader.get(id)?.parts, want);
  assert.deepEqual((await reader.getInTurns(id))?.parts, want);
  writer.finish();
  database.exec("COMMIT");
  assert.equal(writer.waiting(ref), undefined);
  assert.deepEqual(reader.get(id)?.parts, want);
});
