// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { manualClock } from "@purlin/base/testing";
import { OpenAPICache, type OpenAPIReader } from "./schema-fetcher.ts";

const key = "apis/example.org/v1";
const url = `/openapi/v3/${key}?hash=1`;
const kind = (name: string): { group: string; version: string; kind: string } => ({
  group: "example.org",
  version: "v1",
  kind: name,
});
const thing = { type: "object", "x-kubernetes-group-version-kind": [kind("Thing")] };
const reader: OpenAPIReader = {
  index: async () => new Map([[key, url]]),
  document: async () => ({ components: { schemas: { "org.example.v1.Thing": thing } } }),
};

test("whatever functions ask for, a limited number of kinds that do not exist is remembered, and those that do always", async () => {
  const cache = new OpenAPICache(reader, manualClock(Date.UTC(2026, 0, 1)));
  for (let i = 0; i < 3000; i++) assert.equal(await cache.schema(key, url, kind(`No${i}`)), undefined);
  assert.equal(cache.remembered, 1000);
  const found = await cache.schema(key, url, kind("Thing"));
  assert.notEqual(found, undefined);
  assert.equal(await cache.schema(key, url, kind("Thing")), found, "encoded once");
  assert.equal(cache.remembered, 1001);
  assert.equal(await cache.schema(key, url, kind("No2999")), undefined);
});
