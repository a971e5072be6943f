// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "@purlin/base";
import { create, Schema, SchemaSelector, Struct } from "@purlin/function-protocol";
import type { SchemaFetcher } from "@purlin/function-runner";
import { awaitPublication, createRecentKinds } from "./function-plane.ts";

/** A clock whose waits end at once, and a server that publishes a schema after this many looks. */
function setting(publishedAfter: number) {
  let now = 0;
  let looks = 0;
  const clock: Clock = {
    now: () => now,
    schedule(delayMs, task) {
      now += delayMs;
      queueMicrotask(task);
      return () => {};
    },
  };
  const fetcher: SchemaFetcher = {
    schema: async () =>
      ++looks > publishedAfter ? create(Schema, { openapiV3: Struct.from({ type: "object" }) }) : create(Schema),
    invalidate() {},
  };
  const recent = createRecentKinds(clock);
  return {
    recent,
    schemas: awaitPublication(fetcher, { recent, clock }),
    looks: () => looks,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

const gadget = create(SchemaSelector, { apiVersion: "example.org/v1", kind: "Gadget" });

test("a kind that came a moment ago is waited for", async () => {
  const { recent, schemas, looks } = setting(3);
  recent.changed(["example.org/v1/Gadget"]);
  assert.notEqual((await schemas.schema(gadget)).openapiV3, undefined);
  assert.equal(looks(), 4);
});

test("a kind without a recent CRD change is not waited for", async () => {
  for (const minutes of [undefined, 1]) {
    const { recent, schemas, looks, pass } = setting(3);
    recent.changed([minutes === undefined ? "example.org/v1/Other" : "example.org/v1/Gadget"]);
    pass((minutes ?? 0) * 60_000);
    assert.equal((await schemas.schema(gadget)).openapiV3, undefined);
    assert.equal(looks(), 1);
  }
});

test("one that is never published is waited for ten seconds at most", async () => {
  const { recent, schemas, looks } = setting(Number.POSITIVE_INFINITY);
  recent.changed(["example.org/v1/Gadget"]);
  assert.equal((await schemas.schema(gadget)).openapiV3, undefined);
  assert.ok(looks() > 10 && looks() < 100, String(looks()));
});

test("one that went is not waited for", async () => {
  const { recent, schemas, looks } = setting(3);
  recent.changed(["example.org/v1/Gadget"]);
  recent.gone(["example.org/v1/Gadget"]);
  assert.equal((await schemas.schema(gadget)).openapiV3, undefined);
  assert.equal(looks(), 1);
});

test("many waiters read again together", async () => {
  const tasks: (() => void)[] = [];
  const clock: Clock = {
    now: () => 0,
    schedule(_delayMs, task) {
      tasks.push(task);
      return () => {};
    },
  };
  const recent = createRecentKinds(clock);
  recent.changed(["example.org/v1/Gadget"]);
  let isPublished = false;
  let invalidations = 0;
  const fetcher: SchemaFetcher = {
    schema: async () => create(Schema, isPublished ? { openapiV3: Struct.from({ type: "object" }) } : {}),
    invalidate: () => void invalidations++,
  };
  const { schema } = awaitPublication(fetcher, { recent, clock });
  const answers = Array.from({ length: 100 }, () => schema(gadget));
  for (const looks of [1, 2, 3]) {
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(tasks.length, 1);
    isPublished = looks === 3;
    tasks.pop()?.();
    assert.equal(invalidations, looks);
  }
  for (const answer of await Promise.all(answers)) assert.notEqual(answer.openapiV3, undefined);
});
