// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { test } from "node:test";
import { isFunctionError } from "../errors/function-error.ts";
import { listen, parseTcpAddress } from "./listen.ts";

const addresses: Record<string, { host?: string; port: number } | undefined> = {
  ":9443": { port: 9443 },
  ":0": { port: 0 },
  "0.0.0.0:9443": { host: "0.0.0.0", port: 9443 },
  "localhost:80": { host: "localhost", port: 80 },
  "my-host.example.org:65535": { host: "my-host.example.org", port: 65_535 },
  "[::]:9443": { host: "::", port: 9443 },
  "[::1]:0": { host: "::1", port: 0 },
  "[fe80::1%eth0]:1": { host: "fe80::1%eth0", port: 1 },
  "": undefined,
  "9443": undefined,
  ":": undefined,
  localhost: undefined,
  "localhost:": undefined,
  "localhost:http": undefined,
  "localhost:65536": undefined,
  "localhost:-1": undefined,
  "::1:9443": undefined,
  "[::1]": undefined,
  "[]:1": undefined,
  "http://localhost:80": undefined,
  "localhost:80 ": undefined,
};

for (const [address, want] of Object.entries(addresses)) {
  test(`address ${JSON.stringify(address)}`, () => {
    if (want !== undefined) {
      assert.deepEqual(parseTcpAddress(address), want);
      return;
    }
    assert.throws(
      () => parseTcpAddress(address),
      (error: unknown) => isFunctionError(error, "INVALID_OPTION") && error.message.includes(JSON.stringify(address)),
    );
  });
}

const hasIpv6 = Object.values(networkInterfaces()).some((one) => one?.some(({ address }) => address === "::1"));

test("the bound address is one that can be dialled", async () => {
  for (const host of ["127.0.0.1", ...(hasIpv6 ? ["[::1]"] : [])]) {
    const server = createServer();
    const { address, port } = await listen(server, "tcp", `${host}:0`);
    assert.equal(address, `${host}:${port}`);
    assert.ok(port > 0);
    server.close();
    await once(server, "close");
  }
});
