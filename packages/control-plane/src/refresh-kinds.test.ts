// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { manualClock } from "@purlin/base/testing";
import { type Informer, type InformerPool, NoMatchError, type RestMapper } from "@purlin/kube-client";
import { createKindRefresher, type KindRefresher } from "./follow-crds.ts";

const app = { apiVersion: "example.org/v1", kind: "App" };

interface Scene {
  readonly calls: string[];
  readonly refresher: KindRefresher;
  readonly clock: ReturnType<typeof manualClock>;
}

interface Situation {
  readonly isHeld?: boolean;
  readonly isServed?: boolean;
  readonly isEstablished?: boolean;
}

function scene(situation: Situation = {}): Scene {
  const { isServed = true, isEstablished = true } = situation;
  const calls: string[] = [];
  const clock = manualClock();
  const informer = { relist: () => void calls.push("list") } as Informer;
  const informers = { peek: () => (situation.isHeld === false ? undefined : informer) } as unknown as InformerPool;
  const mapper: RestMapper = {
    forget: (apiVersion) => void calls.push(`forget ${apiVersion}`),
    async mapping(type) {
      if (!isServed) throw new NoMatchError(type);
      return { ...type, resource: "apps", namespaced: true };
    },
  };
  const info = (message: string, fields?: object): void => {
    calls.push(`info ${message} ${JSON.stringify(fields)}`);
  };
  const log = { debug() {}, info, error() {} };
  const deps = { informers, mapper, clock, log, isEstablished: () => isEstablished };
  return { calls, clock, refresher: createKindRefresher(deps) };
}

const once = ["forget example.org/v1", "list"];
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("a kind is mapped and listed again at once, and twice more as servers take up the change", async () => {
  const { calls, clock, refresher } = scene();
  refresher.refresh(app);
  assert.deepEqual(calls, once);
  clock.advance(1000);
  assert.deepEqual(calls, [...once, ...once]);
  clock.advance(5000);
  await turn();
  assert.deepEqual([calls, clock.waiting], [[...once, ...once, ...once], 0]);
});

test("a second change begins again, and nothing is left waiting", () => {
  const { calls, clock, refresher } = scene();
  refresher.refresh(app);
  clock.advance(500);
  refresher.refresh(app);
  assert.equal(clock.waiting, 1);
  clock.advance(999);
  assert.equal(calls.length, 4);
  refresher.close();
  assert.equal(clock.waiting, 0);
});

test("a kind without an informer is mapped again; an informer that starts meanwhile lists again", () => {
  const held = { isHeld: false };
  const { calls, clock, refresher } = scene(held);
  refresher.refresh(app);
  assert.deepEqual(calls, ["forget example.org/v1"]);
  held.isHeld = true;
  clock.advance(1000);
  assert.deepEqual(calls, ["forget example.org/v1", ...once]);
  held.isHeld = false;
  clock.advance(5000);
  assert.deepEqual([calls.at(-1), clock.waiting], ["forget example.org/v1", 0]);
});

const unmapped = [
  { why: "its CRD is established", isEstablished: true, logged: 1 },
  { why: "its CRD is gone", isEstablished: false, logged: 0 },
];
for (const { why, isEstablished, logged } of unmapped) {
  test(`a kind that cannot be mapped in the end is logged ${logged} times: ${why}`, async () => {
    const { calls, clock, refresher } = scene({ isServed: false, isEstablished });
    refresher.refresh(app);
    clock.advance(6000);
    await turn();
    const lines = calls.filter((call) => call.startsWith("info"));
    assert.equal(lines.length, logged);
    for (const line of lines) assert.match(line, /cannot map a kind .*"kind":"App".*no matches for kind \\"App\\"/);
  });
}
