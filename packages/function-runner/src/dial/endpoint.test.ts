// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { authorityOf, parseEndpoint, serverNameOf } from "./endpoint.ts";

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
