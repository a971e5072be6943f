// SPDX-License-Identifier: Apache-2.0
// A full disk: objects can be deleted, which makes room, and nothing needs a restart.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Answer, ask, configMap, configMaps, listed } from "../../chaos/harness/config-maps.ts";
import { onSmallDisk } from "../../chaos/harness/own-mounts.ts";
import { chaosDirectory, type ServerProcess, startServer } from "../../chaos/harness/server-process.ts";
import type { Target } from "../../conformance/harness/wire.ts";

const megabyte = 1024 * 1024;
const purlin = fileURLToPath(new URL("../../../packages/cli/bin/purlin.js", import.meta.url));

interface FullServer {
  readonly server: ServerProcess;
  readonly target: Target;
  readonly names: readonly string[];
}

/** Writes objects of a size, with finalizers, until the disk has no room for one more. */
async function fill(target: Target, size: number, finalizers: readonly string[]): Promise<string[]> {
  const names: string[] = [];
  for (;;) {
    const name = `full-${names.length}`;
    const object = { metadata: { name, finalizers }, data: { text: "x".repeat(size) } };
    const answer = await ask(target, "POST", configMaps, object);
    if (answer.code !== 201) {
      assertFull(answer);
      return names;
    }
    names.push(name);
    assert.ok(names.length < 20_000, "the disk never got full");
  }
}

function assertFull({ code, body }: Answer): void {
  assert.deepEqual([code, body.kind, body.reason], [503, "Status", "ServiceUnavailable"], body.message ?? "no message");
  assert.match(body.message ?? "", /is full: free some space, or delete objects; reading continues/);
}

async function startFull(size: number, finalizers: readonly string[] = []): Promise<FullServer> {
  const directory = chaosDirectory();
  const server = startServer({ directory, wrapper: onSmallDisk(directory, 12 * megabyte) });
  const target = await server.ready;
  const names = await fill(target, size, finalizers);
  return { server, target, names };
}

for (const size of [20_000, 900_000]) {
  test(`every object of ${size} bytes can be deleted from a full disk, and then there is room again`, async () => {
    const { server, target, names } = await startFull(size);
    await using _server = server;
    assert.equal((await ask(target, "GET", "/readyz")).code, 500, "it is not ready while it is full");
    const some = names.slice(0, 150);
    for (const name of some) {
      const { code, body } = await ask(target, "DELETE", `${configMaps}/${name}`);
      assert.equal(code, 200, `${name} of ${names.length}: ${body.message}`);
    }
    const left = await listed(target);
    assert.deepEqual(
      [...left.keys()].filter((name) => some.includes(name)),
      [],
    );
    await until(async () => (await ask(target, "POST", configMaps, configMap("after", "y".repeat(size)))).code === 201);
    assert.equal((await ask(target, "GET", "/readyz")).code, 200);
    assert.equal(await server.stop(), 0);
  });
}

test("objects with finalizers go through all of their deletion on a full disk, and cannot be used to fill it further", async () => {
  const { server, target, names } = await startFull(20_000, ["example.org/hold"]);
  await using _server = server;
  const [first = ""] = names;
  for (const name of names.slice(0, 20)) {
    assert.equal((await ask(target, "DELETE", `${configMaps}/${name}`)).code, 200, `${name} is marked`);
    if (name === first)
      assertFull(await ask(target, "PATCH", `${configMaps}/${name}`, { data: { more: "x".repeat(50_000) } }));
    const released = await ask(target, "PATCH", `${configMaps}/${name}`, { metadata: { finalizers: null } });
    assert.equal(released.code, 200, `${name} is released: ${released.body.message}`);
    assert.equal((await ask(target, "GET", `${configMaps}/${name}`)).code, 404);
  }
  assert.equal(await server.stop(), 0);
});

test("writers that try again and again on a full disk do not keep others from deleting", async () => {
  const { server, target, names } = await startFull(50_000);
  await using _server = server;
  const attack = { isOver: false };
  const writers = Array.from({ length: 4 }, async (_, writer) => {
    for (let i = 0; !attack.isOver; i += 1) {
      await ask(target, "POST", configMaps, configMap(`again-${writer}-${i}`, "x".repeat(50_000)));
    }
  });
  for (const name of names.slice(0, 10)) {
    // One that shares a commit with a refused write is refused with it.
    await until(async () => [200, 404].includes((await ask(target, "DELETE", `${configMaps}/${name}`)).code));
  }
  attack.isOver = true;
  await Promise.all(writers);
});

test("on a disk that other programs fill to the last byte, deletes still work and writes resume when there is room", async () => {
  const directory = chaosDirectory();
  const mount = join(directory, "mount");
  mkdirSync(mount);
  const server = startServer({ directory: mount, wrapper: onSmallDisk(mount, 12 * megabyte) });
  await using _server = server;
  const target = await server.ready;
  for (let i = 0; i < 20; i += 1) await ask(target, "POST", configMaps, configMap(`kept-${i}`, "x".repeat(20_000)));
  // The room for deletions is taken in the first quiet moment.
  const seen = `/proc/${server.child.pid}/root${mount}`;
  await until(async () => readdirSync(seen).includes("reserve"));
  try {
    writeFileSync(join(seen, "theirs"), Buffer.alloc(16 * megabyte));
  } catch {
    // As much as there was.
  }
  // What the write-ahead log has room for already is still taken.
  await fill(target, 500_000, []);
  for (let i = 0; i < 20; i += 1) {
    assert.equal((await ask(target, "DELETE", `${configMaps}/kept-${i}`)).code, 200, `kept-${i}`);
  }
  rmSync(join(seen, "theirs"));
  await until(async () => (await ask(target, "POST", configMaps, configMap("after", "x".repeat(20_000)))).code === 201);
  assert.equal(await server.stop(), 0);
});

test("a store of an earlier version starts on a full disk, with the room that is kept for deletions", async () => {
  const [before, directory] = [chaosDirectory(), chaosDirectory()];
  const earlier = startServer({ directory: before });
  const target = await earlier.ready;
  for (let i = 0; i < 5; i += 1) await ask(target, "POST", configMaps, configMap(`kept-${i}`, "x".repeat(20_000)));
  await until(async () => readdirSync(before).includes("reserve"));
  assert.equal(await earlier.stop(), 0);
  // As the version before this one left it: it knew no identities.
  const database = new DatabaseSync(join(before, "store.db"));
  database.exec("PRAGMA user_version = 1; DELETE FROM meta WHERE name IN ('identity', 'wal')");
  database.close();
  rmSync(join(before, "acknowledged"));
  const full = 'cp -a "$0/." "$1" && { cat /dev/zero >"$1/theirs" 2>/dev/null || true; } && shift && exec "$@"';
  const wrapper = [...onSmallDisk(directory, 24 * megabyte), "sh", "-c", full, before, directory];
  await using server = startServer({ directory, wrapper });
  const again = await server.ready;
  assert.equal([...(await listed(again)).keys()].filter((name) => name.startsWith("kept-")).length, 5);
  for (let i = 0; i < 5; i += 1) {
    const { code, body } = await ask(again, "DELETE", `${configMaps}/kept-${i}`);
    assert.equal(code, 200, body.message ?? "no message");
  }
});

test("a backup that does not fit is refused before it fills the disk, and leaves nothing behind", () => {
  const directory = chaosDirectory();
  const mount = join(directory, "mount");
  mkdirSync(mount);
  const archive = join(directory, "zeros.purlin");
  writeFileSync(join(directory, "store.db"), Buffer.alloc(150 * megabyte));
  assert.equal(spawnSync("tar", ["-czf", archive, "-C", directory, "store.db"]).status, 0);
  const [command = "", ...words] = onSmallDisk(mount, 300 * megabyte);
  const restore = `"$0" "$1" restore "$2" --data-dir "$3/data"; echo "exit $?"; ls -A "$3"; df -k --output=used "$3" | tail -1`;
  const args = [...words, "sh", "-c", restore, process.execPath, purlin, archive, mount];
  const { stdout, stderr } = spawnSync(command, args, { encoding: "utf8", cwd: directory });
  assert.match(
    stderr,
    /cannot restore .*: store\.db needs 300\.0 MiB, and the disk has 300\.0 MiB free, of which 64\.0 MiB stay free/,
  );
  assert.deepEqual(stdout.trim().split(/\s*\n\s*/), ["exit 1", "0"], stderr);
});

/** Within a minute. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < 600; i += 1) {
    if (await isSo()) return;
    await new Promise((go) => setTimeout(go, 100));
  }
  assert.fail("it never was so");
}
