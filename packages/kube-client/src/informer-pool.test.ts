// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeReader } from "./client.ts";
import { createInformerPool } from "./informer-pool.ts";

const maps = { apiVersion: "v1", kind: "ConfigMap" };
const secrets = { apiVersion: "v1", kind: "Secret" };

/** A server without objects whose watches stay open, and what it was asked for. */
function emptyServer(): { readonly reader: KubeReader; readonly asked: string[]; readonly open: Set<string> } {
  const asked: string[] = [];
  const open = new Set<string>();
  const reader: KubeReader = {
    get: () => Promise.reject(new Error("not expected")),
    async list({ kind }, { labelSelector } = {}) {
      asked.push(["list", kind, labelSelector].filter(Boolean).join(" "));
      return { items: [], resourceVersion: "1" };
    },
    async watch({ kind }, { signal } = {}) {
      open.add(kind);
      return (async function* () {
        if (signal?.aborted !== true)
          await new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true }));
        open.delete(kind);
      })();
    },
  };
  return { reader, asked, open };
}

test("the leases of a type share one informer, and types have their own", async () => {
  const { reader, asked } = emptyServer();
  const pool = createInformerPool(reader);
  const [one, two, other] = [pool.acquire(maps), pool.acquire({ ...maps }), pool.acquire(secrets)];
  assert.equal(one.informer, two.informer);
  assert.notEqual(one.informer, other.informer);
  assert.deepEqual(one.informer.type, maps);
  await Promise.all([one.informer.synced(), other.informer.synced()]);
  assert.deepEqual(asked.toSorted(), ["list ConfigMap", "list Secret"]);
  await pool.stop();
});

test("the same kind in another version is another type", async () => {
  const pool = createInformerPool(emptyServer().reader);
  const [one, two] = [pool.acquire(maps), pool.acquire({ ...maps, apiVersion: "v2" })];
  assert.notEqual(one.informer, two.informer);
  await pool.stop();
});

test("the informer stops with its last lease; a lease that is released twice counts once", async () => {
  const pool = createInformerPool(emptyServer().reader);
  const [one, two] = [pool.acquire(maps), pool.acquire(maps)];
  await one.informer.synced();
  await one.release();
  await one.release();
  assert.equal(pool.peek(maps), two.informer);
  await two.release();
  assert.equal(pool.peek(maps), undefined);
  const again = pool.acquire(maps);
  assert.notEqual(again.informer, one.informer, "a stopped informer is not used again");
  await two.release();
  assert.equal(pool.peek(maps), again.informer, "an old lease does not release a new informer");
  await pool.stop();
});

test("a look at a type makes no informer", async () => {
  const { reader, asked } = emptyServer();
  const pool = createInformerPool(reader);
  assert.equal(pool.peek(maps), undefined);
  assert.deepEqual(asked, []);
});

test("the options of the pool are those of its informers", async () => {
  const { reader, asked } = emptyServer();
  const pool = createInformerPool(reader, { labelSelector: "a=b" });
  await pool.acquire(maps).informer.synced();
  assert.deepEqual(asked, ["list ConfigMap a=b"]);
  await pool.stop();
});

test("after stop no watch is open, and a new lease is of an informer that has stopped", async () => {
  const { reader, open } = emptyServer();
  const pool = createInformerPool(reader);
  const lease = pool.acquire(maps);
  await lease.informer.synced();
  await pool.stop();
  assert.deepEqual([pool.peek(maps), open.size], [undefined, 0]);
  const late = pool.acquire(maps);
  await assert.rejects(late.informer.synced());
  await late.release();
  await lease.release();
  assert.deepEqual([pool.peek(maps), open.size], [undefined, 0]);
});
