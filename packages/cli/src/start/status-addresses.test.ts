// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { statusAddresses } from "./start-command.ts";

const pod = { KUBERNETES_SERVICE_HOST: "10.0.0.1" };
const rows: {
  options: Record<string, string>;
  env?: typeof pod;
  metrics: string | undefined;
  health: string | undefined;
}[] = [
  { options: {}, metrics: "127.0.0.1:8080", health: "127.0.0.1:8081" },
  { options: {}, env: pod, metrics: ":8080", health: ":8081" },
  { options: { metricsPort: "1", healthProbePort: "2" }, metrics: "127.0.0.1:1", health: "127.0.0.1:2" },
  { options: { metricsPort: "1", healthProbePort: "2" }, env: pod, metrics: ":1", health: ":2" },
  { options: { metricsAddress: ":9", healthAddress: "0" }, metrics: ":9", health: undefined },
];

for (const { options, env, metrics, health } of rows) {
  test(`${JSON.stringify(options)} ${env === undefined ? "on a machine" : "in a Pod"}`, () => {
    const addresses = statusAddresses({ args: [], options }, env ?? {});
    assert.deepEqual(addresses, { metricsAddress: metrics, healthAddress: health });
  });
}
