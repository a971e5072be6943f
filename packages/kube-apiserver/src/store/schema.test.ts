// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { type Migration, migrate } from "./schema.ts";
import { isStoreError } from "./store-error.ts";

const steps: readonly Migration[] = [
  (database) => database.exec("CREATE TABLE a (x); INSERT INTO a VALUES (1)"),
  (database) => database.exec("ALTER TABLE a ADD COLUMN y DEFAULT 2"),
  (database) => database.exec("UPDATE a SET x = x + y"),
];

const version = (database: DatabaseSync): unknown => database.prepare("PRAGMA user_version").get()?.["user_version"];

test("a new database gets every step, an older one those it lacks, a current one none", () => {
  const database = new DatabaseSync(":memory:");
  migrate(database, "store.db", steps.slice(0, 1));
  assert.equal(version(database), 1);
  migrate(database, "store.db", steps);
  migrate(database, "store.db", steps);
  assert.equal(version(database), 3);
  assert.deepEqual({ ...database.prepare("SELECT x, y FROM a").get() }, { x: 3, y: 2 });
});

test("a step that fails leaves the version before it, whole", () => {
  const database = new DatabaseSync(":memory:");
  migrate(database, "store.db", steps.slice(0, 2));
  const broken: Migration = (db) => db.exec("DELETE FROM a; SELECT * FROM nowhere");
  assert.throws(() => migrate(database, "store.db", [...steps.slice(0, 2), broken]), /nowhere/);
  assert.equal(version(database), 2);
  assert.equal(database.prepare("SELECT count(*) AS n FROM a").get()?.["n"], 1);
  migrate(database, "store.db", steps);
  assert.equal(version(database), 3);
});

test("a database of a newer version is refused and says which version is needed", () => {
  const database = new DatabaseSync(":memory:");
  migrate(database, "store.db", steps);
  assert.throws(
    () => migrate(database, "store.db", steps.slice(0, 1)),
    (error) => isStoreError(error, "newer") && /schema 3, this one supports 1/.test(error.message),
  );
});

const foreign: Record<string, string> = {
  Tables: "CREATE TABLE theirs (x)",
  ApplicationId: "PRAGMA application_id = 7",
  Version: "PRAGMA user_version = 1",
};

for (const [name, sql] of Object.entries(foreign)) {
  test(`a database of another program is refused and left alone: ${name}`, () => {
    const database = new DatabaseSync(":memory:");
    database.exec(sql);
    assert.throws(
      () => migrate(database, "store.db"),
      (error) => isStoreError(error, "foreign"),
    );
    assert.equal(database.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'change'").get()?.["n"], 0);
  });
}

test("the real schema has room for what the log writes", () => {
  const database = new DatabaseSync(":memory:");
  migrate(database, "store.db");
  database.exec("INSERT INTO change VALUES (2, '/a', 2, NULL, x'00', 1)");
  assert.throws(() => database.exec("INSERT INTO change VALUES (2, '/b', 2, NULL, x'00', 1)"), /UNIQUE/);
});
