// SPDX-License-Identifier: Apache-2.0
// Files of the data directory that are removed, moved, emptied, overwritten or exchanged: while the server runs, and between a crash and a
// start.
import assert from "node:assert/strict";
import {
  appendFileSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { ask, configMap, configMaps, listed } from "../../chaos/harness/config-maps.ts";
import { chaosDirectory, startServer } from "../../chaos/harness/server-process.ts";
import { send, type Target } from "../../conformance/harness/wire.ts";
import { openStream } from "../../conformance/harness/wire-stream.ts";

interface Attack {
  readonly away: (directory: string) => void;
  readonly back?: (directory: string) => void;
}

const moved = (directory: string): string => `${directory}.moved`;
const restore = (directory: string): void => {
  rmSync(directory, { recursive: true, force: true });
  renameSync(moved(directory), directory);
};

const attacks: Record<string, Attack> = {
  removed: { away: (directory) => rmSync(directory, { recursive: true }) },
  "moved and moved back": { away: (directory) => renameSync(directory, moved(directory)), back: restore },
  "replaced by an empty one": {
    away: (directory) => {
      renameSync(directory, moved(directory));
      mkdirSync(directory);
    },
    back: restore,
  },
  "replaced by a copy of itself": {
    away: (directory) => {
      renameSync(directory, moved(directory));
      cpSync(moved(directory), directory, { recursive: true });
    },
    back: restore,
  },
  "replaced by a link to another": {
    away: (directory) => {
      renameSync(directory, moved(directory));
      mkdirSync(`${directory}.other`);
      symlinkSync(`${directory}.other`, directory);
    },
    back: restore,
  },
  "replaced by a link to itself": {
    away: (directory) => {
      renameSync(directory, moved(directory));
      symlinkSync(directory, directory);
    },
    back: restore,
  },
  "replaced by a file": {
    away: (directory) => {
      renameSync(directory, moved(directory));
      writeFileSync(directory, "");
    },
    back: restore,
  },
  "robbed of its database": { away: (directory) => rmSync(join(directory, "store.db")) },
  "robbed of its write-ahead log": { away: (directory) => rmSync(join(directory, "store.db-wal")) },
};

const misplaced =
  /store\.db(-wal)? was removed, moved or replaced while the server was running: move .* back, or restart the server/;
const altered =
  /store\.db(-wal)? was truncated or overwritten by another program while the server was running: save .* with purlin export, then restart/;

async function assertRefusing(target: Target, text: RegExp): Promise<void> {
  const ready = await send(target, { method: "GET", path: "/readyz" });
  assert.equal(ready.code, 500);
  assert.match(String(ready.text), /\[-\]etcd-readiness failed/);
  const writes = [
    ["POST", configMaps, configMap("new", "2")],
    ["PUT", `${configMaps}/before`, configMap("before", "2")],
    ["PATCH", `${configMaps}/before`, { data: { text: "2" } }],
    ["DELETE", `${configMaps}/before`, undefined],
  ] as const;
  for (const [method, path, body] of writes) {
    const answer = await ask(target, method, path, body);
    assert.deepEqual([answer.code, answer.body.kind], [503, "Status"], `${method}: ${answer.body.message}`);
    assert.match(answer.body.message ?? "", text);
  }
}

for (const [what, { away, back }] of Object.entries(attacks)) {
  test(`a data directory that is ${what} under a running server`, async () => {
    const directory = chaosDirectory();
    await using server = startServer({ directory });
    const target = await server.ready;
    assert.equal((await ask(target, "POST", configMaps, configMap("before", "1"))).code, 201);
    assert.equal((await ask(target, "GET", "/readyz")).code, 200);
    away(directory);
    await assertRefusing(target, misplaced);
    assert.equal((await listed(target)).get("before")?.text, "1", "reading continues");
    const watch = await openStream(target, { method: "GET", path: `${configMaps}?watch=true&resourceVersion=0` });
    assert.equal(((await watch.next(60_000)) as { type: string }).type, "ADDED");
    watch.close();
    if (back !== undefined) {
      back(directory);
      assert.equal((await ask(target, "PUT", `${configMaps}/before`, configMap("before", "3"))).code, 200);
      assert.equal((await ask(target, "GET", "/readyz")).code, 200);
    }
    assert.equal(await server.stop(), 0);
    rmSync(moved(directory), { recursive: true, force: true });
    rmSync(`${directory}.other`, { recursive: true, force: true });
  });
}

/** As `cp -a` of an older copy over the files that are there. */
const overwrite =
  (...names: string[]) =>
  (directory: string, copy: string): void => {
    for (const name of names) {
      const { atime, mtime } = statSync(join(copy, name));
      copyFileSync(join(copy, name), join(directory, name));
      utimesSync(join(directory, name), atime, mtime);
    }
  };

const alterations: Record<string, (directory: string, copy: string) => void> = {
  "the write-ahead log is emptied": (directory) => truncateSync(join(directory, "store.db-wal"), 0),
  "the database is emptied": (directory) => truncateSync(join(directory, "store.db"), 0),
  "the database and its log are overwritten with older ones": overwrite("store.db", "store.db-wal"),
};
for (const [why, alter] of Object.entries(alterations)) {
  test(`while the server runs, writes and readiness fail at once: ${why}`, async () => {
    const [directory, copy] = [chaosDirectory(), chaosDirectory()];
    await using server = startServer({ directory });
    const target = await server.ready;
    assert.equal((await ask(target, "POST", configMaps, configMap("before", "1"))).code, 201);
    cpSync(directory, copy, { recursive: true, preserveTimestamps: true });
    assert.equal((await ask(target, "PUT", `${configMaps}/before`, configMap("before", "acknowledged"))).code, 200);
    alter(directory, copy);
    await assertRefusing(target, altered);
    assert.equal((await listed(target)).get("before")?.text, "acknowledged", "reading continues");
    await server.kill();
    await using again = startServer({ directory });
    const outcome = await again.ready.then(
      async (next) => (await listed(next)).get("before")?.text,
      () => again.complaints(),
    );
    assert.match(outcome ?? "nothing", /^acknowledged$|^error: --data-dir .*(were acknowledged|is damaged)/);
  });
}

test("garbage behind the write-ahead log of a running server stops nothing and loses nothing", async () => {
  const directory = chaosDirectory();
  await using server = startServer({ directory });
  const target = await server.ready;
  assert.equal((await ask(target, "POST", configMaps, configMap("before", "1"))).code, 201);
  appendFileSync(join(directory, "store.db-wal"), "garbage".repeat(10_000));
  assert.equal((await ask(target, "GET", "/readyz")).code, 200);
  assert.equal((await ask(target, "PUT", `${configMaps}/before`, configMap("before", "2"))).code, 200);
  await server.kill();
  await using again = startServer({ directory });
  assert.equal((await listed(await again.ready)).get("before")?.text, "2");
});

const losses: Record<string, (directory: string, older: string, foreign: string) => void> = {
  "the write-ahead log is missing": (directory) => rmSync(join(directory, "store.db-wal")),
  "the write-ahead log is empty": (directory) => truncateSync(join(directory, "store.db-wal"), 0),
  "the write-ahead log is an older one": (directory, older) =>
    cpSync(join(older, "store.db-wal"), join(directory, "store.db-wal")),
  "the database and its log are older ones": (directory, older) => {
    cpSync(join(older, "store.db"), join(directory, "store.db"));
    cpSync(join(older, "store.db-wal"), join(directory, "store.db-wal"));
  },
  "the database is missing": (directory) => {
    rmSync(join(directory, "store.db"));
    rmSync(join(directory, "store.db-wal"));
  },
  "the write-ahead log and the marker are missing": (directory) => {
    rmSync(join(directory, "store.db-wal"));
    rmSync(join(directory, "acknowledged"));
  },
  "the write-ahead log is of another server": (directory, _, foreign) =>
    cpSync(join(foreign, "store.db-wal"), join(directory, "store.db-wal")),
  "the marker is of another server": (directory, _, foreign) =>
    cpSync(join(foreign, "acknowledged"), join(directory, "acknowledged")),
};

const crashed = chaosDirectory();
const older = chaosDirectory();
const foreign = chaosDirectory();
let last = 0n;

before(async () => {
  await using server = startServer({ directory: crashed });
  const target = await server.ready;
  for (let i = 0; i < 5; i += 1) await ask(target, "POST", configMaps, configMap(`early-${i}`, "1"));
  cpSync(crashed, older, { recursive: true });
  for (let i = 0; i < 5; i += 1) await ask(target, "POST", configMaps, configMap(`late-${i}`, "1"));
  for (const { version } of (await listed(target)).values()) if (version > last) last = version;
  await server.kill();
  await using other = startServer({ directory: foreign });
  for (let i = 0; i < 20; i += 1) await ask(await other.ready, "POST", configMaps, configMap(`foreign-${i}`, "1"));
  await other.kill();
});

for (const [why, damage] of Object.entries(losses)) {
  test(`after a crash, an error says what is lost and how to continue: ${why}`, async () => {
    const directory = chaosDirectory();
    cpSync(crashed, directory, { recursive: true });
    damage(directory, older, foreign);
    {
      await using refused = startServer({ directory });
      await assert.rejects(refused.ready);
      const said = refused.complaints();
      assert.match(said, /^error: --data-dir .* were acknowledged/);
      assert.match(said, /restore both from a backup, or add --accept-data-loss once/);
      assert.equal(said.trim().split("\n").length, 1, said);
    }
    await using server = startServer({ directory, args: ["--accept-data-loss"] });
    const target = await server.ready;
    await server.complained(/are lost, as was accepted/);
    assert.deepEqual(
      [...(await listed(target)).keys()].filter((name) => name.startsWith("foreign")),
      [],
    );
    const { code, body } = await ask(target, "POST", configMaps, configMap("after", "1"));
    assert.equal(code, 201);
    assert.ok(BigInt(body.metadata.resourceVersion) > last, "a version that clients have seen came again");
    assert.equal(await server.stop(), 0);
  });
}
