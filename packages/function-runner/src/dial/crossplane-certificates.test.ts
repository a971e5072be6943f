// SPDX-License-Identifier: Apache-2.0
// Functions whose certificates Crossplane issued: authority and leaf have one subject, and OpenSSL calls the leaf self-signed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type CrossplaneLeafOptions, createCrossplaneAuthority } from "@purlin/certificates/testing";
import {
  crossplaneCredentials,
  serveFunction,
  temporaryDirectory,
  writeCrossplaneFiles,
} from "../../test/function-server.ts";
import { assertNothingLeft, call, dial, rejectsSoon, request, resources, targetAt } from "../../test/runs.ts";
import { tlsFromDirectory } from "./channel-credentials.ts";
import type { NameResolver } from "./channel-resolver.ts";
import { createDiallingRunner } from "./dialling-runner.ts";

const loopback: NameResolver = { resolve: async () => ["127.0.0.1"] };
const crossplane = createCrossplaneAuthority();
const sameSubject = createCrossplaneAuthority();
const dnsNames = ["fn", "fn.ns", "fn.ns.svc"];
const dayMs = 86_400_000;

test("a function with a certificate of Crossplane is called, also after the authority was replaced", async (t) => {
  const directory = temporaryDirectory(t);
  writeCrossplaneFiles(directory, crossplane);
  const runner = dial(t, { security: tlsFromDirectory(directory), names: loopback });
  await using fn = await serveFunction({ credentials: crossplaneCredentials(crossplane, { dnsNames }) });
  await runner.run(targetAt(`fn.ns:${fn.port}`), request(), call());
  assert.equal(fn.calls.length, 1);

  await using next = await serveFunction({ credentials: crossplaneCredentials(sameSubject, { dnsNames }) });
  writeCrossplaneFiles(directory, sameSubject);
  await runner.run(targetAt(`fn.ns:${next.port}`), request(), call());
  assert.equal(next.calls.length, 1);
});

const refused: Readonly<Record<string, { leaf: Partial<CrossplaneLeafOptions>; foreign?: boolean; want: RegExp }>> = {
  "another authority with the same subject": {
    leaf: { dnsNames },
    foreign: true,
    want: /self-signed certificate, or signed by an authority that is not trusted$/,
  },
  "an expired certificate": {
    leaf: { dnsNames, notBefore: new Date(Date.now() - 2 * dayMs), notAfter: new Date(Date.now() - dayMs) },
    want: /certificate has expired$/,
  },
  "a certificate for clients": { leaf: { dnsNames, usages: ["client"] }, want: /unsuitable certificate purpose$/ },
  "a certificate for another host": {
    leaf: { dnsNames: ["other.ns"] },
    want: /Hostname\/IP does not match certificate's altnames: Host: fn\.ns\. is not in the cert's altnames: DNS:other\.ns$/,
  },
};

for (const [name, { leaf, foreign = false, want }] of Object.entries(refused)) {
  test(`a function with ${name} is not called`, async (t) => {
    const before = resources();
    const directory = temporaryDirectory(t);
    writeCrossplaneFiles(directory, crossplane);
    const credentials = crossplaneCredentials(foreign ? sameSubject : crossplane, leaf);
    await using fn = await serveFunction({ credentials });
    const runner = createDiallingRunner({ security: tlsFromDirectory(directory), names: loopback });
    await rejectsSoon((call) => runner.run(targetAt(`fn.ns:${fn.port}`), request(), call), {
      status: "DeadlineExceeded",
      message: new RegExp(`TLS handshake failed: .*${want.source}`),
    });
    assert.equal(fn.calls.length, 0);
    await assertNothingLeft(before, runner, fn);
  });
}
