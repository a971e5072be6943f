// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { experimental } from "@grpc/grpc-js";
import { type ManualClock, manualClock } from "@purlin/base/testing";
import {
  authorityOf,
  ChannelResolver,
  contextOptions,
  parseEndpoint,
  refreshMs,
  serverNameOf,
} from "./channel-resolver.ts";

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

const accepted = {
  Service: {
    reason: "what packages publish",
    text: "dns:///fn.ns:9443",
    want: { kind: "tcp", host: "fn.ns", port: 9443 },
    authority: "fn.ns:9443",
    serverName: "fn.ns",
  },
  Plain: {
    reason: "what people type",
    text: "localhost:9443",
    want: { kind: "tcp", host: "localhost", port: 9443 },
    authority: "localhost:9443",
    serverName: "localhost",
  },
  Address: {
    reason: "an address is a host",
    text: "127.0.0.1:1",
    want: { kind: "tcp", host: "127.0.0.1", port: 1 },
    authority: "127.0.0.1:1",
    serverName: "127.0.0.1",
  },
  Brackets: {
    reason: "IPv6 needs brackets to have a port",
    text: "dns:///[::1]:65535",
    want: { kind: "tcp", host: "::1", port: 65_535 },
    authority: "[::1]:65535",
    serverName: "::1",
  },
  Socket: {
    reason: "gRPC's short form",
    text: "unix:/run/fn.sock",
    want: { kind: "unix", path: "/run/fn.sock" },
    authority: "localhost",
    serverName: "localhost",
  },
  SocketUri: {
    reason: "gRPC's long form",
    text: "unix:///run/fn.sock",
    want: { kind: "unix", path: "/run/fn.sock" },
    authority: "localhost",
    serverName: "localhost",
  },
  RelativeSocket: {
    reason: "a path below the working directory",
    text: "unix:fn.sock",
    want: { kind: "unix", path: "fn.sock" },
    authority: "localhost",
    serverName: "localhost",
  },
};

for (const [name, { reason, text, want, authority, serverName }] of Object.entries(accepted)) {
  test(`endpoint ${name}: ${reason}`, () => {
    const endpoint = parseEndpoint(text);
    assert.deepEqual(endpoint, want);
    assert.equal(authorityOf(endpoint), authority);
    assert.equal(serverNameOf(endpoint), serverName);
  });
}

const refused: Readonly<Record<string, RegExp>> = {
  "": /endpoint "" has no valid host and port: expected dns:\/\/\/host:port, host:port or unix:path/,
  "fn.ns": /has no valid host and port/,
  "dns:///fn.ns": /has no valid host and port/,
  "dns://8.8.8.8/fn.ns:9443": /names a DNS server, which is not supported/,
  "https://fn.ns/run": /has the unknown scheme "https"/,
  "fn.ns:0": /has no valid host and port/,
  "fn.ns:65536": /has no valid host and port/,
  "fn.ns:http": /has no valid host and port/,
  "::1:9443": /has no valid host and port/,
  "fn ns:9443": /has no valid host and port/,
  "unix:": /has no path/,
  "unix://host": /has no path/,
};

for (const [text, message] of Object.entries(refused)) {
  test(`endpoint ${JSON.stringify(text)} is refused with the forms that are accepted`, () => {
    assert.throws(() => parseEndpoint(text), message);
  });
}
