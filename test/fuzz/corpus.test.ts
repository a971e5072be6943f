// SPDX-License-Identifier: Apache-2.0
// Every stored input of every fuzz target, run once: an input that once broke a parser must not break it again.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { allInputs, readCorpus } from "./engine/corpus.ts";
import { mutate } from "./engine/mutate.ts";
import { createRandom } from "./engine/random.ts";
import { requireCleanPrototypes } from "./engine/target.ts";
import { targets } from "./targets/index.ts";

/** Enough to notice that a target is broken; `npm run fuzz` does the rest. */
const mutations = 50;

for (const [name, load] of Object.entries(targets)) {
  test(`stored inputs of ${name} break no property`, async (context) => {
    const target = await load();
    context.after(() => target.close?.());
    const inputs = allInputs(name, target);
    assert.ok(inputs.length > 0);
    const random = createRandom(1);
    const pool = inputs.map(({ bytes }) => bytes);
    const sources = { pool, dictionary: target.dictionary, maxBytes: target.maxBytes ?? 4096 };
    const mutated = Array.from({ length: mutations }, () => mutate(random, sources));
    for (const bytes of [...pool, ...mutated]) {
      await target.run(Buffer.from(bytes));
      requireCleanPrototypes();
    }
  });
}

/** No input reached more of their code than their seeds do. */
const reachedBySeeds = ["backup", "table-path"];

test("each target has stored inputs", () => {
  const without = Object.keys(targets).filter((name) => readCorpus(name).length === 0);
  assert.deepEqual(without.toSorted(), reachedBySeeds);
});

test("each folder of stored inputs belongs to a target", () => {
  const folders = readdirSync(new URL("./corpus/", import.meta.url));
  assert.deepEqual(
    folders.filter((folder) => !(folder in targets)),
    [],
  );
});
