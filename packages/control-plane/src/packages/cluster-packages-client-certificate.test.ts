// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type Clock, type Log, silentLog } from "@purlin/base";
import type { KeyPair } from "@purlin/certificates";
import { createCrossplaneAuthority, issueAsCrossplane } from "@purlin/certificates/testing";
import { create, RunFunctionRequest } from "@purlin/function-protocol";
import { createDiallingRunner } from "@purlin/function-runner";
import { nopLogger, start as serveFunction } from "@purlin/function-sdk";
import { createInformerPool } from "@purlin/kube-client";
import { createControllerClient } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type EmbeddedApi, startEmbeddedApi } from "../../test/embedded-api.ts";
import { createClientCertificate, inNamespace } from "./cluster-packages.ts";

const namespace = "default";
const secretType = { apiVersion: "v1", kind: "Secret" };
const key = { namespace, name: "crossplane-tls-client" };
const dayMs = 86_400_000;

interface Scene extends AsyncDisposable {
  readonly api: EmbeddedApi;
  readonly certificate: ReturnType<typeof createClientCertificate>;
  keep(): Promise<AsyncDisposable>;
  /** Moves time, and runs due tasks. */
  advance(ms: number): Promise<void>;
  readonly logged: string[];
}

async function start(): Promise<Scene> {
  const api = await startEmbeddedApi();
  const kube = inNamespace(api.connect(), namespace);
  const informers = createInformerPool(kube);
  const client = createControllerClient({ client: kube, informers, uncached: [] });
  let now = Date.now();
  const waiting = new Set<() => void>();
  const clock: Clock = {
    now: () => now,
    schedule(_, task) {
      waiting.add(task);
      return () => waiting.delete(task);
    },
  };
  const logged: string[] = [];
  const log: Log = { ...silentLog, info: (message, fields) => void logged.push(`${message}: ${fields?.["error"]}`) };
  const certificate = createClientCertificate();
  const deps = { client, namespace, clock };
  const surroundings = { deps, informers, log, serviceAccount: "crossplane" };
  return {
    api,
    certificate,
    logged,
    keep: () => certificate.keep(surroundings, new AbortController().signal),
    async advance(ms) {
      await eventually("a task is scheduled", () => waiting.size > 0);
      now += ms;
      for (const task of [...waiting]) if (waiting.delete(task)) task();
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await informers.stop();
      await api[Symbol.asyncDispose]();
    },
  };
}

test("it is made, used, and renewed when its time comes", async () => {
  await using scene = await start();
  const { api, certificate } = scene;
  await using _keeping = await scene.keep();
  const first = certificate.security.current();
  const data = (await api.users.get(secretType, key))["data"];
  await scene.advance(100 * dayMs);
  assert.deepEqual((await api.users.get(secretType, key))["data"], data, "a hundred days are nothing");
  await scene.advance(150 * dayMs);
  await eventually("it is renewed", async () => certificate.security.current() !== first);
  assert.notDeepEqual((await api.users.get(secretType, key))["data"], data);
});

test("one that is deleted is made again, at once", async () => {
  await using scene = await start();
  const { api, certificate } = scene;
  await using _keeping = await scene.keep();
  const first = certificate.security.current();
  await api.users.delete({ ...secretType, ...key });
  await eventually("another one is used", async () => certificate.security.current() !== first);
  assert.ok(await api.users.get(secretType, key));
});

test("an invalid certificate stops the start, and is logged later; the last valid one stays in use", async () => {
  await using scene = await start();
  const { api, certificate } = scene;
  const broken = { ...secretType, metadata: key, data: { "tls.crt": Buffer.from("nonsense").toString("base64") } };
  await api.users.create(broken);
  await assert.rejects(
    scene.keep(),
    /^Error: Secret "default\/crossplane-tls-client" has no valid client certificate for functions: it needs .*; delete it/,
  );
  await api.users.delete({ ...secretType, ...key });
  await eventually("the cache contains it", async () => {
    await using _trial = await scene.keep();
    return true;
  });
  await using _keeping = await scene.keep();
  certificate.security.current();
  const stored = await api.users.get(secretType, key);
  await api.users.update({ ...stored, data: { "tls.crt": "", "tls.key": "eA==", "ca.crt": "eA==" } });
  await eventually("it is logged", async () =>
    scene.logged.some((line) => line.includes("has no valid client certificate for functions")),
  );
  certificate.security.current();
});

test("after a take-over, functions that Crossplane gave certificates are called with the one it gave us", async (t) => {
  await using scene = await start();
  const authority = createCrossplaneAuthority();
  const client = issueAsCrossplane(authority, { dnsNames: [`crossplane.${namespace}`], usages: ["client"] });
  const server = issueAsCrossplane(authority, { dnsNames: ["localhost"], usages: ["server"] });
  const ca = { "ca.crt": authority.certPem };
  const secret = (name: string, { certPem, keyPem }: KeyPair, more: Record<string, string> = {}): KubeObject => ({
    ...secretType,
    metadata: { namespace, name },
    data: encoded({ "tls.crt": certPem, "tls.key": keyPem, ...more }),
  });
  await scene.api.users.create(secret("crossplane-root-ca", authority));
  const existing = await scene.api.users.create(secret("crossplane-tls-client", client, ca));
  await using _keeping = await scene.keep();
  assert.deepEqual((await scene.api.users.get(secretType, key))["data"], existing["data"], "it is kept");

  const directory = mkdtempSync(join(tmpdir(), "purlin-take-over-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const files = { "tls.crt": server.certPem, "tls.key": server.keyPem, ...ca };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  const options = { address: "127.0.0.1:0", tlsCertsDir: directory, metricsAddress: "", log: nopLogger };
  await using fn = await serveFunction((req, ctx) => ctx.to(req), options);
  const runner = createDiallingRunner({ security: scene.certificate.security });
  t.after(() => runner.close());
  const target = {
    functionName: "fn",
    revisionName: "fn-1",
    packageRef: "",
    endpoint: `localhost:${fn.port}`,
    revision: 1,
  };
  const request = create(RunFunctionRequest, { meta: { tag: "hello", capabilities: [] } });
  const { meta } = await runner.run(target, request, { deadline: Date.now() + 60_000 });
  assert.equal(meta?.tag, "hello");
});

function encoded(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString("base64")]));
}
