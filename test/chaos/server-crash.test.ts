// SPDX-License-Identifier: Apache-2.0
// The whole server, killed again and again while clients write and watch: each life ends by kill -9 at a random instant, some while it
// is still starting. What was answered stays, what was seen stays, versions are assigned once, and a watch that resumes misses nothing.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { Target } from "../conformance/harness/wire.ts";
import { createChance } from "./harness/chance.ts";
import { rounds, seed } from "./harness/chaos-options.ts";
import { ask, configMap, configMaps, listed } from "./harness/config-maps.ts";
import { EventLog } from "./harness/event-log.ts";
import { Ledger } from "./harness/ledger.ts";
import { chaosDirectory, type ServerProcess, startServer } from "./harness/server-process.ts";
import { writeUntilDeath } from "./harness/writers.ts";

const chance = createChance(seed);
const watchers = 2;

/** Some servers do not live to see their first client. */
async function killWhileStarting(directory: string): Promise<void> {
  while (chance.next() < 0.2) {
    await using server = startServer({ directory });
    await delay(chance.below(600));
    await server.kill();
  }
}

/** Writes and watches until the server is killed. */
async function live(server: ServerProcess, logs: readonly EventLog[], ledger: Ledger, life: number): Promise<void> {
  const target = await server.ready;
  const following = logs.map((log) => log.follow(target));
  const writing = writeUntilDeath(target, ledger, life);
  // By what was done, not by the clock: a busy machine does less in the same time. Short lives are the most dangerous ones.
  await ledger.untilAnswered(Math.floor(10 ** (chance.next() * 2.4)) - 1);
  await delay(chance.below(10));
  await Promise.all([server.kill(), writing, ...following]);
}

/** Everything that must hold after a crash. `since` is the version at which the life that ended began. */
async function verify(target: Target, { logs, ledger, since, marker }: Verification): Promise<bigint> {
  const acknowledged = ledger.versionsAfter(since);
  ledger.verify(await listed(target));
  const { code, body } = await ask(target, "POST", configMaps, configMap(marker, marker));
  assert.equal(code, 201);
  const replay = new EventLog(since);
  await Promise.all([...logs, replay].map((log) => log.follow(target, marker)));
  ledger.compare(replay.changes);
  const replayed = new Set(replay.changes.map(({ version }) => version));
  for (const version of acknowledged) assert.ok(replayed.has(version), `version ${version} was answered and is gone`);
  for (const log of logs) {
    const seen = log.changes.splice(0);
    assert.deepEqual(seen, replay.changes, "a watch that resumed saw something else than a new watch");
  }
  ledger.answered(marker, { version: BigInt(body.metadata.resourceVersion), text: marker });
  return BigInt(body.metadata.resourceVersion);
}

interface Verification {
  readonly logs: readonly EventLog[];
  readonly ledger: Ledger;
  readonly since: bigint;
  readonly marker: string;
}

test(`${rounds} lives of a server, each ended by kill -9 (seed ${seed})`, async () => {
  const directory = chaosDirectory();
  const ledger = new Ledger();
  let server = startServer({ directory });
  try {
    const { body } = await ask(await server.ready, "GET", configMaps);
    let since = BigInt(body.metadata.resourceVersion);
    for (const name of (await listed(await server.ready)).keys()) assert.fail(`${name} existed before the first write`);
    const logs = Array.from({ length: watchers }, () => new EventLog(since));
    for (let round = 0; round < rounds; round += 1) {
      await live(server, logs, ledger, round);
      await killWhileStarting(directory);
      server = startServer({ directory });
      since = await verify(await server.ready, { logs, ledger, since, marker: `marker-${round}` });
    }
    assert.equal(await server.stop(), 0);
  } finally {
    await server.kill();
  }
  assert.ok(ledger.acknowledged > rounds * 2, `only ${ledger.acknowledged} writes were answered`);
  const database = new DatabaseSync(join(directory, "store.db"), { readOnly: true });
  assert.equal(database.prepare("PRAGMA integrity_check").get()?.["integrity_check"], "ok");
  database.close();
});
