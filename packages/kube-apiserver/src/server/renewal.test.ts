// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { connect } from "node:tls";
import { type ManualClock, manualClock } from "@purlin/base/testing";
import { builtinKinds } from "@purlin/kube-builtin";
import { tempDirectory } from "../../test/store/temp-store.ts";
import { connectClient } from "../../test/test-client.ts";
import { startApiServer } from "./api-server.ts";

// Real clients check certificates by the real time: the server lives in the past, and catches up when its clock is moved.
const dayMs = 86_400_000;
const start = (): ManualClock => manualClock(Date.now() - 300 * dayMs);

/** The certificate a new connection is shown. */
async function servedCertificate(port: number): Promise<X509Certificate> {
  const socket = connect({ port, host: "localhost", rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const certificate = socket.getPeerX509Certificate();
  socket.destroy();
  return certificate ?? assert.fail("no certificate was shown");
}

test("a running server renews its certificates, and old connections and old kubeconfigs continue", async () => {
  const clock = start();
  let renewals = 0;
  const onRenewed = (): void => {
    renewals += 1;
  };
  await using server = await startApiServer({ kinds: builtinKinds, directory: tempDirectory(), clock, onRenewed });
  const listener = await server.listen({ host: "localhost" });
  const { authority, admin } = server.certificates;
  const before = { served: await servedCertificate(listener.port), config: listener.kubeconfig };
  const { port } = listener;
  const options = { protocol: "h2", port, authorityPem: authority.certPem, pair: admin } as const;
  await using client = await connectClient(options);
  assert.equal((await client.send("/api/v1/namespaces")).code, 200);

  clock.advance(300 * dayMs);
  assert.equal(renewals, 1);
  const served = await servedCertificate(listener.port);
  assert.notEqual(served.serialNumber, before.served.serialNumber);
  assert.ok(served.verify(new X509Certificate(authority.certPem).publicKey), "issued by the same authority");
  assert.notEqual(listener.kubeconfig, before.config);
  assert.equal((await client.send("/api/v1/namespaces")).code, 200, "an old connection");
  await using again = await connectClient(options);
  assert.equal((await again.send("/api/v1/namespaces")).code, 200, "an old kubeconfig");
});

test("a failed renewal is reported, and the server continues with its certificates", async () => {
  const clock = start();
  const directory = tempDirectory();
  const errors: unknown[] = [];
  await using server = await startApiServer({
    kinds: builtinKinds,
    directory,
    clock,
    onControllerError: (error) => errors.push(error),
  });
  const { port } = await server.listen({ host: "localhost" });
  const before = await servedCertificate(port);
  rmSync(join(directory, "pki"), { recursive: true });
  writeFileSync(join(directory, "pki"), "not a folder");
  clock.advance(250 * dayMs);
  assert.match(String(errors[0]), /cannot renew the certificates in .*/);
  assert.equal((await servedCertificate(port)).serialNumber, before.serialNumber);
});
