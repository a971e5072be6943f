// SPDX-License-Identifier: Apache-2.0
// Files of the store, damaged at random while the server is down: it refuses to start and says what is wrong, or it starts with everything
// that was acknowledged. Never anything else.
import assert from "node:assert/strict";
import { cpSync, openSync, readSync, rmSync, statSync, truncateSync, writeSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Target } from "../conformance/harness/wire.ts";
import { type Chance, createChance } from "./harness/chance.ts";
import { seed, share } from "./harness/chaos-options.ts";
import { ask, configMap, configMaps, listed } from "./harness/config-maps.ts";
import { chaosDirectory, startServer } from "./harness/server-process.ts";

const objects = 40;
const writes = 160;

/** What was there after each write: the text of every object. */
type Past = readonly ReadonlyMap<string, string>[];

/** Writes, one after the other, and gives every state there was. */
async function writeHistory(target: Target): Promise<Past> {
  const past: ReadonlyMap<string, string>[] = [new Map()];
  for (let i = 0; i < writes; i += 1) {
    const name = `object-${i % objects}`;
    const text = `${i}-${"x".repeat((i * 97) % 5000)}`;
    const isNew = i < objects;
    const path = isNew ? configMaps : `${configMaps}/${name}`;
    const { code } = await ask(target, isNew ? "POST" : "PUT", path, configMap(name, text));
    assert.ok(code < 300);
    past.push(new Map(past.at(-1)).set(name, text));
  }
  return past;
}

const damages: Readonly<Record<string, (path: string, chance: Chance) => void>> = {
  "one bit is flipped": (path, chance) => {
    const file = openSync(path, "r+");
    const at = chance.below(statSync(path).size);
    const byte = Buffer.alloc(1);
    readSync(file, byte, 0, 1, at);
    byte[0] = (byte[0] ?? 0) ^ (1 << chance.below(8));
    writeSync(file, byte, 0, 1, at);
  },
  "a run of bytes is noise": (path, chance) => {
    const size = statSync(path).size;
    const length = 1 + chance.below(5000);
    writeSync(openSync(path, "r+"), chance.bytes(length), 0, length, chance.below(Math.max(1, size - length)));
  },
  "a page is zeros": (path, chance) => {
    const page = chance.below(Math.max(1, Math.floor(statSync(path).size / 4096)));
    writeSync(openSync(path, "r+"), Buffer.alloc(4096), 0, 4096, page * 4096);
  },
  "the end is missing": (path, chance) => {
    const length = 1 + chance.below(statSync(path).size - 1);
    truncateSync(path, length);
  },
  "it is empty": (path) => truncateSync(path, 0),
  "it is missing": (path) => rmSync(path),
};

/** A directory whose server was stopped (everything in the database) or killed (much in the write-ahead log). */
async function prepare(isKilled: boolean): Promise<{ directory: string; past: Past }> {
  const directory = chaosDirectory();
  await using server = startServer({ directory });
  const past = await writeHistory(await server.ready);
  await (isKilled ? server.kill() : server.stop());
  return { directory, past };
}

/** Index of the state that is served; -1 when there never was such a state. */
async function stateServed(target: Target, past: Past): Promise<number> {
  const now = await listed(target);
  return past.findLastIndex(
    (state) => state.size === now.size && [...state].every(([name, text]) => now.get(name)?.text === text),
  );
}

async function startDamaged(directory: string, past: Past, what: string): Promise<"refused" | "whole"> {
  await using server = startServer({ directory });
  const outcome = await server.ready.then(
    (target) => stateServed(target, past),
    () => "refused" as const,
  );
  if (outcome === "refused") {
    const said = server.complaints();
    assert.match(
      said,
      /^error: --data-dir .*(damaged|not a Purlin store|newer version|were acknowledged)/,
      `${what}: ${said}`,
    );
    assert.equal(said.trim().split("\n").length, 1, `${what}: ${said}`);
    return "refused";
  }
  assert.notEqual(outcome, -1, `${what}: what is served never was`);
  assert.equal(outcome, past.length - 1, `${what}: lost ${past.length - 1 - outcome} writes silently`);
  return "whole";
}

for (const isKilled of [false, true]) {
  const files = isKilled ? ["store.db", "store.db-wal"] : ["store.db"];
  const title = isKilled ? "killed" : "stopped";
  test(`damaged files of a server that was ${title} (seed ${seed})`, async () => {
    const chance = createChance(seed + Number(isKilled));
    const { directory, past } = await prepare(isKilled);
    const outcomes = { refused: 0, whole: 0 };
    for (let round = 0; round < share(0.3); round += 1) {
      const file = chance.pick(files);
      const damage = chance.pick(Object.keys(damages));
      const copy = `${directory}-${round}`;
      cpSync(directory, copy, { recursive: true });
      try {
        damages[damage]?.(join(copy, file), chance);
        outcomes[await startDamaged(copy, past, `round ${round}: ${damage} in ${file}`)] += 1;
      } finally {
        rmSync(copy, { recursive: true, force: true });
      }
    }
    // After a kill much of either file may not matter: it is in the other one too, or is no longer read. Few rounds may all hit that.
    if (!isKilled) assert.ok(outcomes.refused > 0, `no damage was noticed: ${JSON.stringify(outcomes)}`);
  });
}
