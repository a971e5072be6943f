// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { tempDirectory } from "../../test/store/temp-store.ts";
import { objectCodec } from "../rest/object-codec.ts";
import { openStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { StoreFollower, type StoreFollowerOptions } from "./store-follower.ts";

interface Scene extends AsyncDisposable {
  readonly store: Store<JsonObject>;
  /** What was looked at, in order. */
  readonly looks: string[];
  readonly errors: unknown[];
  put(key: string): Promise<void>;
  /** Settles when everything that was asked for was looked at. */
  rest(): Promise<void>;
}

function follow(options: Partial<StoreFollowerOptions> = {}): Scene {
  const store = openStore<JsonObject>({ directory: tempDirectory(), codec: objectCodec });
  const looks: string[] = [];
  const errors: unknown[] = [];
  const follower = new StoreFollower({
    store,
    prefix: "/kept/",
    onError: (error) => errors.push(error),
    retryDelayMs: 1,
    ...options,
    reconcile: async (subject) => {
      looks.push(subject);
      await options.reconcile?.(subject);
    },
  });
  follower.start();
  return {
    store,
    looks,
    errors,
    put: async (key) => {
      await store.write(key, () => ({ action: "put", value: {} }));
    },
    rest: async () => {
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    },
    [Symbol.asyncDispose]: async () => {
      follower.stop();
      await store.close();
    },
  };
}

test("each key below the prefix is looked at when it changes, and nothing else", async () => {
  await using scene = follow();
  await scene.put("/kept/a");
  await scene.put("/other/b");
  await scene.put("/kept/c");
  await scene.rest();
  assert.deepEqual(scene.looks, ["/kept/a", "/kept/c"]);
});

test("keys of one subject that change together are looked at once", async () => {
  await using scene = follow({ subjectOf: () => "all" });
  await Promise.all(["/kept/a", "/kept/b", "/kept/c"].map(scene.put));
  await scene.rest();
  assert.deepEqual(scene.looks, ["all"]);
});

test("what changes during a look is looked at once more, never twice at a time", async () => {
  const gate = Promise.withResolvers<void>();
  let atOnce = 0;
  let most = 0;
  await using scene = follow({
    reconcile: async () => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      await gate.promise;
      atOnce -= 1;
    },
  });
  await scene.put("/kept/a");
  await scene.put("/kept/a");
  await scene.put("/kept/a");
  await scene.rest();
  assert.deepEqual(scene.looks, ["/kept/a"]);
  gate.resolve();
  await scene.rest();
  assert.deepEqual([scene.looks.length, most], [2, 1]);
});

test("a reconcile that fails is reported and retried", async () => {
  const { promise: triedAgain, resolve } = Promise.withResolvers<void>();
  const failure = new Error("not now");
  let calls = 0;
  await using scene = follow({
    subjectOf: () => "all",
    reconcile: async () => {
      calls += 1;
      if (calls === 1) throw failure;
      resolve();
    },
  });
  await scene.put("/kept/a");
  await triedAgain;
  assert.deepEqual([scene.looks, scene.errors], [["all", "all"], [failure]]);
});

test("a follower that was left behind by history looks at everything again", async () => {
  await using scene = follow();
  const busy = Promise.all(Array.from({ length: 300 }, (_, i) => scene.put(`/kept/${i}`)));
  await busy;
  scene.store.compact(scene.store.revision);
  await scene.put("/kept/last");
  await scene.rest();
  assert.ok(scene.looks.includes("/kept/last"));
  assert.equal(new Set(scene.looks).size, 301);
});

test("nothing is looked at after it was stopped", async () => {
  const store = openStore<JsonObject>({ directory: tempDirectory(), codec: objectCodec });
  await using _closing = store;
  const looks: string[] = [];
  const follower = new StoreFollower({
    store,
    prefix: "/kept/",
    onError: () => {},
    reconcile: async (key) => void looks.push(key),
  });
  follower.start();
  follower.stop();
  follower.enqueue("/kept/a");
  await store.write("/kept/b", () => ({ action: "put", value: {} }));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(looks, []);
});
