// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { crashRound, newLedger } from "../../test/store/crash.ts";
import { tempDirectory } from "../../test/store/temp-store.ts";
import { storeFile } from "./open-store.ts";

test("a server killed while it writes loses nothing it had answered and showed nothing it lost", async () => {
  const directory = tempDirectory();
  const ledger = newLedger();
  // The numbers are how much it may say before it dies: at once, in the first groups, after history was cleaned up.
  for (const lines of [1, 40, 3000]) {
    await crashRound(directory, ledger, lines);
  }
  assert.ok(ledger.acknowledged > 500, `only ${ledger.acknowledged} writes were answered`);
  const database = new DatabaseSync(join(directory, storeFile));
  assert.equal(database.prepare("PRAGMA integrity_check").get()?.["integrity_check"], "ok");
  database.close();
});
