// SPDX-License-Identifier: Apache-2.0
// Kills a writing process again and again: CHAOS_ROUNDS lives (200 by default), each ended at a random instant, all on one directory.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { crashRound, newLedger } from "../../packages/kube-apiserver/test/store/crash.ts";
import { tempDirectory } from "../../packages/kube-apiserver/test/store/temp-store.ts";

const rounds = Number(process.env["CHAOS_ROUNDS"] ?? 200);
const seed = Number(process.env["CHAOS_SEED"] ?? Date.now() % 1_000_000);

test(`${rounds} lives of a store, each ended by kill -9 (seed ${seed})`, async () => {
  const directory = tempDirectory();
  const ledger = newLedger();
  let state = seed;
  for (let round = 0; round < rounds; round += 1) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    // Mostly short lives, because starting and the first commits are where things go wrong; now and then a long one.
    await crashRound(directory, ledger, 1 + Math.floor(10 ** ((state / 2_147_483_648) * 4)));
  }
  assert.ok(ledger.acknowledged > rounds * 10, `only ${ledger.acknowledged} writes were answered`);
  const database = new DatabaseSync(join(directory, "store.db"));
  assert.equal(database.prepare("PRAGMA integrity_check").get()?.["integrity_check"], "ok");
  database.close();
});
