// SPDX-License-Identifier: Apache-2.0
// A disk that is full, and files that may not be written: writes fail with a Status, reads and watches continue, and when the trouble
// is over so is the failing. Nothing that was answered is lost, nothing that failed appears.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cacheDirectory } from "../../tools/peers/cache-directory.ts";
import { etcd } from "../../tools/peers/kubernetes.ts";
import { installed } from "../../tools/peers/peer.ts";
import type { Target } from "../conformance/harness/wire.ts";
import { openStream } from "../conformance/harness/wire-stream.ts";
import { type Answer, ask, configMap, configMaps, listed } from "./harness/config-maps.ts";
import { onReadOnlyDirectory, onSmallDisk, setImmutable } from "./harness/own-mounts.ts";
import { chaosDirectory, startServer } from "./harness/server-process.ts";

const megabyte = 1024 * 1024;

/** Writes until a write fails; gives the names that were answered and the failure. */
async function writeUntilRefused(target: Target, prefix: string): Promise<{ names: string[]; refusal: Answer }> {
  const names: string[] = [];
  for (let i = 0; i < 5000; i += 1) {
    const name = `${prefix}-${i}`;
    const answer = await ask(target, "POST", configMaps, configMap(name, "x".repeat(50_000)));
    if (answer.code !== 201) return { names, refusal: answer };
    names.push(name);
  }
  return assert.fail("the disk never got full");
}

function assertRefused({ code, body }: Answer, text: RegExp): void {
  assert.deepEqual([code, body.kind, body.reason], [503, "Status", "ServiceUnavailable"]);
  assert.match(body.message ?? "", text);
}

/** Everything a client may still want, and the names that are there. */
async function assertReadable(target: Target, names: readonly string[]): Promise<void> {
  assert.deepEqual([...(await listed(target)).keys()].sort(), names.toSorted());
  assert.equal((await ask(target, "GET", `${configMaps}/${names[0]}`)).code, 200);
  assert.equal((await ask(target, "GET", "/api/v1/namespaces/default")).code, 200);
  const watch = await openStream(target, { method: "GET", path: `${configMaps}?watch=true&resourceVersion=0` });
  for (const _ of names) assert.equal(((await watch.next(60_000)) as { type: string }).type, "ADDED");
  watch.close();
}

test("a full disk", async () => {
  const directory = chaosDirectory();
  await using server = startServer({ directory, wrapper: onSmallDisk(directory, 12 * megabyte) });
  const target = await server.ready;
  const seen = `/proc/${server.child.pid}/root${directory}`;
  writeFileSync(join(seen, "ballast"), Buffer.alloc(4 * megabyte));
  const { names, refusal } = await writeUntilRefused(target, "full");
  assertRefused(refusal, /full: free some space, or delete objects; reading continues/);
  assert.ok(names.length > 5);
  assert.equal((await ask(target, "GET", "/readyz")).code, 500, "it says that it is not well");
  await assertReadable(target, names);
  assertRefused(
    await ask(target, "PUT", `${configMaps}/${names[0]}`, configMap(names[0] ?? "", "y".repeat(50_000))),
    /full/,
  );
  assertRefused(await ask(target, "POST", configMaps, configMap("again", "x".repeat(50_000))), /full/);

  rmSync(join(seen, "ballast"));
  assert.equal((await ask(target, "POST", configMaps, configMap("after", "room again"))).code, 201);
  assert.equal((await ask(target, "GET", "/readyz")).code, 200);
  await assertReadable(target, [...names, "after"]);
  assert.equal(await server.stop(), 0);
});

test("a write that fails on a full disk is never visible to readers", async () => {
  const directory = chaosDirectory();
  await using server = startServer({ directory, wrapper: onSmallDisk(directory, 12 * megabyte) });
  const target = await server.ready;
  const watch = await openStream(target, { method: "GET", path: `${configMaps}?watch=true` });
  const { names } = await writeUntilRefused(target, "seen");
  const [first = ""] = names;
  await ask(target, "POST", configMaps, configMap("never", "x".repeat(50_000)));
  assert.equal((await ask(target, "GET", `${configMaps}/never`)).code, 404);
  // Deleting needs a little room too, which is kept for it.
  assert.equal((await ask(target, "DELETE", `${configMaps}/${first}`)).code, 200);
  for (const name of [...names, first]) {
    const event = (await watch.next(60_000)) as { readonly object: { readonly metadata: { readonly name: string } } };
    assert.equal(event.object.metadata.name, name);
  }
  await assert.rejects(watch.next(300), /no event/);
  watch.close();
});

test("writes queued behind one that meets a full disk are refused with it", () => {
  const directory = chaosDirectory();
  const [program = "", ...args] = onSmallDisk(directory, 12 * megabyte);
  const writer = join(import.meta.dirname, "harness", "queued-writes.ts");
  const printed = execFileSync(program, [...args, process.execPath, writer, directory], { encoding: "utf8" });
  const { outcomes, held, after, onDisk } = JSON.parse(printed) as Record<string, string[]>;
  assert.equal(outcomes?.length, 4);
  for (const text of outcomes ?? []) assert.match(text, /full: free some space/);
  assert.deepEqual(held, ["/base=1@2"]);
  assert.equal(after, "written", "there is room for small ones");
  assert.deepEqual(onDisk, ["/after=1@7", "/base=1@2"]);
});

test("files that may no longer be written", async () => {
  const directory = chaosDirectory();
  await using server = startServer({ directory });
  const target = await server.ready;
  assert.equal((await ask(target, "POST", configMaps, configMap("before", "1"))).code, 201);
  const files = ["store.db", "store.db-wal"].map((name) => join(directory, name));
  try {
    for (const path of files) setImmutable(path, true);
    assertRefused(
      await ask(target, "POST", configMaps, configMap("refused", "2")),
      /cannot write to the store in .*; reading continues/,
    );
    await assertReadable(target, ["before"]);
    const token = await ask(target, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
      spec: { resourceAttributes: { verb: "get", resource: "pods" } },
    });
    assert.equal(token.code, 201, "what stores nothing needs no disk");
  } finally {
    for (const path of files) setImmutable(path, false);
  }
  assert.equal((await ask(target, "POST", configMaps, configMap("after", "3"))).code, 201);
  await assertReadable(target, ["before", "after"]);
});

test("a directory that is read-only from the start is served, and left as it is", async () => {
  const directory = chaosDirectory();
  {
    await using first = startServer({ directory });
    const target = await first.ready;
    assert.equal((await ask(target, "POST", configMaps, configMap("kept", "1"))).code, 201);
    // Killed, so that what was answered is in the write-ahead log alone.
    await first.kill();
  }
  {
    await using server = startServer({ directory, wrapper: onReadOnlyDirectory(directory) });
    const target = await server.ready;
    await server.complained(/^warning: --data-dir .* is read-only: serving existing data, rejecting writes\n$/);
    await assertReadable(target, ["kept"]);
    const refusal = /read-only when the server started: make it writable and start again; reading continues/;
    assertRefused(await ask(target, "POST", configMaps, configMap("refused", "2")), refusal);
    assertRefused(await ask(target, "DELETE", `${configMaps}/kept`), refusal);
    assert.equal((await ask(target, "GET", "/readyz")).code, 500, "it says that it is not well");
    assert.equal(await server.stop(), 0);
  }
  await using again = startServer({ directory });
  const target = await again.ready;
  await assertReadable(target, ["kept"]);
  assert.equal((await ask(target, "POST", configMaps, configMap("after", "3"))).code, 201);
});

test("the store of the reference does not start on a directory that is read-only", () => {
  const directory = chaosDirectory();
  const [program = "", ...args] = onReadOnlyDirectory(directory);
  const flags = [
    `--data-dir=${directory}`,
    "--listen-client-urls=http://127.0.0.1:0",
    "--advertise-client-urls=http://127.0.0.1:0",
  ];
  const etcdProgram = join(installed(etcd, cacheDirectory), "etcd");
  const { status, stderr } = spawnSync(program, [...args, etcdProgram, ...flags], {
    encoding: "utf8",
    timeout: 60_000,
  });
  assert.equal(status, 1, stderr);
  assert.match(stderr, /read-only file system/);
});

test("an empty directory that is read-only is refused in one line", async () => {
  const directory = chaosDirectory();
  await using refused = startServer({ directory, wrapper: onReadOnlyDirectory(directory) });
  await assert.rejects(refused.ready, /--data-dir .*read-only/i);
  assert.equal(refused.complaints().trim().split("\n").length, 1, refused.complaints());
});
