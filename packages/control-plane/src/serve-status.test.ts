// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { Counter, Registry } from "prom-client";
import type { ControlPlaneState } from "./control-plane.ts";
import { serveStatus, serveText } from "./serve-status.ts";

const local = "127.0.0.1:0";

test("metrics are those of the registry, and nothing else is there", async () => {
  const registry = new Registry();
  new Counter({ name: "tries_total", help: "Tries.", registers: [registry] }).inc(3);
  await using servers = await serveStatus({ state: "running" }, { metricsAddress: local, registry });
  const answer = await fetch(`http://${servers.metricsAddress}/metrics?x=1`);
  assert.match(answer.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
  assert.match(await answer.text(), /^tries_total 3$/m);
  assert.equal(servers.healthAddress, undefined);
  const other = await fetch(`http://${servers.metricsAddress}/healthz`);
  assert.deepEqual([other.status, await other.text()], [404, 'not found: "/healthz"\n']);
  const post = await fetch(`http://${servers.metricsAddress}/metrics`, { method: "POST" });
  assert.equal(post.status, 405);
  const head = await fetch(`http://${servers.metricsAddress}/metrics`, { method: "HEAD" });
  assert.deepEqual([head.status, await head.text()], [200, ""]);
});

const rows: readonly { state: ControlPlaneState; healthy: number; ready: number; why: string }[] = [
  { state: "waiting", healthy: 200, ready: 200, why: "a replica that waits is what it should be" },
  { state: "starting", healthy: 200, ready: 503, why: "its controllers do not run yet" },
  { state: "running", healthy: 200, ready: 200, why: "all is well" },
  { state: "stopped", healthy: 503, ready: 503, why: "it has to be started again" },
];
for (const { state, healthy, ready, why } of rows) {
  test(`${state}: ${why}`, async () => {
    await using servers = await serveStatus({ state }, { healthAddress: local, registry: new Registry() });
    const codes = await Promise.all(
      ["healthz", "readyz"].map(async (path) => (await fetch(`http://${servers.healthAddress}/${path}`)).status),
    );
    assert.deepEqual(codes, [healthy, ready]);
  });
}

test("an invalid address, or one in use, is named; servers opened before are closed", async () => {
  const registry = new Registry();
  await assert.rejects(serveText("8080", {}), /expected an address such as :8080 or 127\.0\.0\.1:8080, not "8080"/);
  await assert.rejects(serveText(":99999", {}), /expected an address/);
  const first = await serveText(local, {});
  await assert.rejects(
    serveStatus({ state: "running" }, { metricsAddress: local, healthAddress: first.address, registry }),
    new RegExp(`cannot listen at ${first.address}: .*EADDRINUSE`),
  );
  await first.close();
});

test("a route that fails answers with the error", async () => {
  const server = await serveText(local, { "/x": () => Promise.reject(new Error("boom")) });
  const answer = await fetch(`http://${server.address}/x`);
  assert.deepEqual([answer.status, await answer.text()], [500, "boom\n"]);
  await server.close();
});
