// SPDX-License-Identifier: Apache-2.0
// What both servers have after kill -9, and what a watcher that resumes sees.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { type CrashingServer, crashingEmbedded, crashingReference } from "./harness/crashing-servers.ts";
import type { Loose } from "./harness/loose.ts";
import { readOptions } from "./harness/options.ts";
import { send, type Target } from "./harness/wire.ts";
import { openStream } from "./harness/wire-stream.ts";

const { only } = readOptions(process.argv.slice(2), process.env);
const isWanted = (title: string): boolean => only.length === 0 || only.some((part) => title.includes(part));

const collection = "/api/v1/namespaces/default/configmaps";
const crashes = 3;

interface Written {
  readonly name: string;
  readonly version: bigint;
}

/** Creates an object; undefined when there was no response, so that the outcome is unknown. */
async function create(target: Target, name: string): Promise<Written | undefined> {
  try {
    const body = JSON.stringify({ metadata: { name }, data: { name } });
    const headers = { "content-type": "application/json" };
    const answer = await send(target, { method: "POST", path: collection, headers, body });
    if (answer.code !== 201) return undefined;
    return { name, version: BigInt((answer.body as Loose).metadata.resourceVersion) };
  } catch {
    return undefined;
  }
}

/** The reference says "later" for a moment after a start, until its memory is filled. */
async function whenTaken<T extends { readonly code: number }>(ask: () => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + 60_000; ; await delay(100)) {
    const answer = await ask();
    if (answer.code !== 429 || Date.now() > deadline) return answer;
  }
}

async function listed(target: Target): Promise<ReadonlyMap<string, bigint>> {
  const { body } = await whenTaken(() => send(target, { method: "GET", path: collection }));
  const items: readonly Loose[] = (body as Loose).items;
  return new Map(items.map(({ metadata }) => [metadata.name, BigInt(metadata.resourceVersion)]));
}

/** Writes with several clients until stopped; returns what was acknowledged. */
function writers(target: Target, prefix: string): { readonly acknowledged: Written[]; stop(): Promise<void> } {
  const acknowledged: Written[] = [];
  let isRunning = true;
  let next = 0;
  const work = async (): Promise<void> => {
    while (isRunning) {
      const written = await create(target, `${prefix}-${next++}`);
      if (written) acknowledged.push(written);
    }
  };
  const working = Array.from({ length: 8 }, work);
  const stop = async (): Promise<void> => {
    isRunning = false;
    await Promise.all(working);
  };
  return { acknowledged, stop };
}

async function untilCount(acknowledged: readonly Written[], count: number): Promise<void> {
  while (acknowledged.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Everything acknowledged is there after every crash, with the version that was acknowledged. */
async function nothingIsLost(server: CrashingServer): Promise<void> {
  const all: Written[] = [];
  for (let round = 0; round <= crashes; round += 1) {
    const { acknowledged, stop } = writers(server.target, `r${round}`);
    await untilCount(acknowledged, 10_000 / (crashes + 1));
    const [crashed] = await Promise.all([server.crash(), stop()]);
    assert.equal(crashed, undefined);
    all.push(...acknowledged);
    const now = await listed(server.target);
    const lost = all.filter(({ name, version }) => now.get(name) !== version);
    assert.deepEqual(lost, [], `after crash ${round + 1}`);
  }
  assert.ok(all.length >= 10_000);
}

/** A watcher that resumes sees what it had not seen, or gets 410; versions never go back. */
async function watchersMissNothing(server: CrashingServer): Promise<void> {
  const { target } = server;
  const { body } = await whenTaken(() => send(target, { method: "GET", path: collection }));
  let last = BigInt((body as Loose).metadata.resourceVersion);
  for (let round = 0; round < crashes; round += 1) {
    const { acknowledged, stop } = writers(target, `w${round}`);
    const seen = new Set<string>();
    const before = await follow(target, last, { seen, wanted: 200 });
    await Promise.all([server.crash(), stop()]);
    const names = new Set(acknowledged.map(({ name }) => name));
    const after = await follow(target, before, { seen, names });
    assert.deepEqual(
      [...names].filter((name) => !seen.has(name)),
      [],
      "missed",
    );
    const probe = await create(target, `p${round}`);
    assert.ok(probe && probe.version > after, "a version went back");
    for (const { version } of acknowledged) assert.ok(version < probe.version, "a version was given twice");
    last = probe.version;
  }
}

interface Following {
  readonly seen: Set<string>;
  /** Ends when this many were seen. */
  readonly wanted?: number;
  /** Ends when all of these were seen. */
  readonly names?: ReadonlySet<string>;
}

/** Watches from a version, over again when the stream ends, and gives the last version seen. */
async function follow(
  target: Target,
  from: bigint,
  { seen, wanted = 0, names = new Set() }: Following,
): Promise<bigint> {
  let last = from;
  const isDone = (): boolean => seen.size >= wanted && [...names].every((name) => seen.has(name));
  while (!isDone()) {
    const path = `${collection}?watch=true&resourceVersion=${last}`;
    const stream = await whenTaken(() => openStream(target, { method: "GET", path }));
    while (!isDone()) {
      const event = (await stream.next()) as Loose;
      if (event === undefined) break;
      if (event.type === "ERROR") {
        assert.equal(event.object.code, 410, JSON.stringify(event));
        // A client that cannot resume lists again.
        for (const [name, version] of await listed(target)) {
          seen.add(name);
          if (version > last) last = version;
        }
        break;
      }
      const version = BigInt(event.object.metadata.resourceVersion);
      assert.ok(version > last, "events out of order");
      last = version;
      seen.add(event.object.metadata.name);
    }
    stream.close();
  }
  return last;
}

/** Runs a test on a server that is whole in the end. */
async function withServer(
  start: () => Promise<CrashingServer>,
  run: (server: CrashingServer) => Promise<void>,
): Promise<void> {
  const server = await start();
  const condition = await run(server).then(server.stop, async (error) => {
    await server.stop();
    throw error;
  });
  assert.equal(condition, "ok");
}

const servers = { embedded: crashingEmbedded, reference: crashingReference };

describe("kill -9", { concurrency: 1 }, () => {
  for (const [name, start] of Object.entries(servers)) {
    const watching = `watchers of the ${name} server miss nothing`;
    if (isWanted(watching)) {
      test(watching, { timeout: 240_000 }, async () => {
        await withServer(start, watchersMissNothing);
      });
    }
    const keeping = `the ${name} server loses nothing it acknowledged`;
    if (isWanted(keeping)) {
      test(keeping, { timeout: 240_000 }, async () => {
        await withServer(start, nothingIsLost);
      });
    }
  }
});
