// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { applyDefaults, defaultHost, type Whereabouts } from "./serve-options.ts";

const rows: { where: string; at: Whereabouts; host: string }[] = [
  { where: "on a machine", at: { env: {}, pid: 4711 }, host: "127.0.0.1" },
  { where: "in a Pod", at: { env: { KUBERNETES_SERVICE_HOST: "10.0.0.1" }, pid: 7 }, host: "" },
  { where: "as the program of a container", at: { env: {}, pid: 1 }, host: "" },
];

for (const { where, at, host } of rows) {
  test(`${where} a function listens on ${host || "all interfaces"} by default`, () => {
    assert.equal(defaultHost(at), host);
    const { address, metricsAddress } = applyDefaults({ insecure: true }, at);
    assert.deepEqual([address, metricsAddress], [`${host}:9443`, `${host}:8080`]);
    const explicit = applyDefaults({ insecure: true, address: ":1", metricsAddress: "" }, at);
    assert.deepEqual([explicit.address, explicit.metricsAddress], [":1", ""]);
  });
}
