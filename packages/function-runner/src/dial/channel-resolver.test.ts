// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { experimental } from "@grpc/grpc-js";
import { type ManualClock, manualClock } from "@purlin/base/testing";
import { contextOptions } from "./channel-context.ts";
import { ChannelResolver, refreshMs } from "./channel-resolver.ts";
import { parseEndpoint } from "./endpoint.ts";

interface Watched {
  readonly resolver: ChannelResolver;
  readonly clock: ManualClock;
  readonly reports: string[];
  readonly lookups: PromiseWithResolvers<string[]>[];
  /** Answers the oldest open lookup. */
  readonly answer: (...addresses: string[]) => Promise<void>;
}

function watch(endpoint: string): Watched {
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const reports: string[] = [];
  const lookups: PromiseWithResolvers<string[]>[] = [];
  const names = {
    resolve(): Promise<string[]> {
      const lookup = Promise.withResolvers<string[]>();
      lookups.push(lookup);
      return lookup.promise;
    },
  };
  const context = { endpoint: parseEndpoint(endpoint), names, clock, secured: false, problem: undefined };
  const resolver = new ChannelResolver(
    { scheme: "purlin", path: endpoint },
    (list) => {
      reports.push(list.ok ? list.value.map(experimental.endpointToString).join(" ") : list.error.details);
      return true;
    },
    contextOptions(context),
  );
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const answer = async (...addresses: string[]): Promise<void> => {
    lookups.shift()?.resolve(addresses);
    await settle();
  };
  return { resolver, clock, reports, lookups, answer };
}

test("addresses are reported sorted and once, whatever order DNS gives them in", async () => {
  const { resolver, clock, reports, answer } = watch("fn.ns:9443");
  resolver.updateResolution();
  await answer("10.0.0.2", "10.0.0.1", "10.0.0.2");
  clock.advance(refreshMs);
  await answer("10.0.0.1", "10.0.0.2");
  assert.deepEqual(reports, ["[10.0.0.1:9443] [10.0.0.2:9443]"]);
});

test("asked while a lookup is under way, it does not start another", () => {
  const { resolver, lookups } = watch("fn.ns:9443");
  resolver.updateResolution();
  resolver.updateResolution();
  assert.equal(lookups.length, 1);
});

test("asked again right after a lookup, it waits a second, and asks once", async () => {
  const { resolver, clock, lookups, answer } = watch("fn.ns:9443");
  resolver.updateResolution();
  await answer("10.0.0.1");
  for (let i = 0; i < 3; i++) resolver.updateResolution();
  clock.advance(999);
  assert.equal(lookups.length, 0);
  clock.advance(1);
  assert.equal(lookups.length, 1);
});

test("once destroyed it waits for nothing and reports nothing; asked again it starts over", async () => {
  const { resolver, clock, reports, lookups, answer } = watch("fn.ns:9443");
  resolver.updateResolution();
  await answer("10.0.0.1");
  resolver.updateResolution();
  clock.advance(1_000);
  resolver.destroy();
  assert.equal(clock.waiting, 0);
  await answer("10.0.0.9");
  assert.deepEqual(reports, ["[10.0.0.1:9443]"]);
  assert.equal(clock.waiting, 0, "a late answer schedules nothing");

  resolver.updateResolution();
  assert.equal(lookups.length, 1, "a channel that wakes up does not wait");
  await answer("10.0.0.1");
  assert.deepEqual(reports, ["[10.0.0.1:9443]", "[10.0.0.1:9443]"]);
  resolver.destroy();
});

test("a failed lookup is reported and repeated; known addresses are not withdrawn by it", async () => {
  const { resolver, clock, reports, lookups } = watch("fn.ns:9443");
  resolver.updateResolution();
  lookups.shift()?.reject(new Error("no such host"));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(reports, ['cannot look up host "fn.ns": no such host']);
  clock.advance(250);
  assert.equal(lookups.length, 1);
  resolver.destroy();
});

test("a socket has one address for ever", async () => {
  const { resolver, clock, reports, lookups } = watch("unix:/run/fn.sock");
  resolver.updateResolution();
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(reports, ["[/run/fn.sock]"]);
  assert.deepEqual([lookups.length, clock.waiting], [0, 0]);
});

test("the authority of a target is its host and port", () => {
  assert.equal(ChannelResolver.getDefaultAuthority({ path: "fn.ns:9443" }), "fn.ns:9443");
  assert.equal(ChannelResolver.getDefaultAuthority({ path: "unix:/run/fn.sock" }), "localhost");
});
