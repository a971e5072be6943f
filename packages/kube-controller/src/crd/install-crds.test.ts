// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { mastersGroup, startApiServer } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import { createDirectTransport, createKubeClient, type KubeClient } from "@purlin/kube-client";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { crdType, createCrd, isEstablished } from "./crd.ts";
import { type InstallProgress, installCrds } from "./install-crds.ts";
import { type Fields, flag, object, text } from "./schema.ts";

let client: KubeClient;
let writes: string[] = [];
let stop: () => Promise<void>;

before(async () => {
  const directory = mkdtempSync(join(tmpdir(), "install-crds-"));
  const server = await startApiServer({ kinds: builtinKinds, directory });
  const transport = createDirectTransport(server.handle, { name: "admin", groups: [mastersGroup] });
  client = createKubeClient({
    ...transport,
    request: (request) => {
      if (request.method !== "GET") writes.push(`${request.method} ${request.path}`);
      return transport.request(request);
    },
  });
  stop = async () => {
    await client.close();
    await server.close();
    rmSync(directory, { recursive: true, force: true });
  };
});
after(() => stop());

function crd(plural: string, spec: Fields, kind = `Kind${plural}`): KubeObject {
  const version = { name: "v1", fields: { spec: object(spec) }, columns: [], hasStatus: true };
  return createCrd({ group: "example.org", kind, plural, versions: [version] });
}

async function install(...crds: readonly KubeObject[]): Promise<InstallProgress[]> {
  const progress: InstallProgress[] = [];
  writes = [];
  await installCrds(client, crds, { onProgress: (one) => progress.push(one) });
  return progress;
}

suite("installing CRDs", () => {
  test("creates them and waits until their kinds are served", async () => {
    const progress = await install(crd("as", { a: text }), crd("bs", { b: text }));
    assert.deepEqual(progress.map(({ what }) => what).sort(), ["created", "created", "established", "established"]);
    assert.deepEqual([progress.at(-1)?.established, progress.at(-1)?.total], [2, 2]);
    const type = { apiVersion: "example.org/v1", kind: "Kindas" };
    const made = await client.create({ ...type, metadata: { name: "x" }, spec: { a: "1", unknown: "2" } });
    assert.deepEqual(made["spec"], { a: "1" });
  });

  test("writes nothing when nothing is missing", async () => {
    await install(crd("cs", { a: text }));
    const progress = await install(crd("cs", { a: text }));
    assert.deepEqual(
      progress.map(({ what }) => what),
      ["unchanged", "established"],
    );
    assert.deepEqual(writes, []);
  });

  test("adds what is missing and keeps what is there, stored objects included", async () => {
    await install(crd("ds", { theirs: text }));
    const type = { apiVersion: "example.org/v1", kind: "Kindds" };
    await client.create({ ...type, metadata: { name: "x" }, spec: { theirs: "kept" } });
    await client.patch(
      { ...crdType, name: "ds.example.org" },
      { metadata: { labels: { app: "crossplane" } } },
      { type: "merge" },
    );
    const progress = await install(crd("ds", { ours: flag }));
    assert.deepEqual(
      progress.map(({ what }) => what),
      ["updated", "established"],
    );
    assert.deepEqual(writes, ["PUT /apis/apiextensions.k8s.io/v1/customresourcedefinitions/ds.example.org"]);
    const changed = await client.patch({ ...type, name: "x" }, { spec: { ours: true } }, { type: "merge" });
    assert.deepEqual(changed["spec"], { theirs: "kept", ours: true });
    const stored = await client.get(crdType, { name: "ds.example.org" });
    assert.deepEqual(stored.metadata.labels, { app: "crossplane" });
    assert.ok(isEstablished(stored));
    assert.deepEqual(
      (await install(crd("ds", { ours: flag }))).map(({ what }) => what),
      ["unchanged", "established"],
    );
  });

  test("two at the same time agree", async () => {
    await Promise.all([
      installCrds(client, [crd("es", { a: text })]),
      installCrds(client, [crd("es", { b: text })]),
      installCrds(client, [crd("es", { c: text })]),
    ]);
    const stored = await client.get(crdType, { name: "es.example.org" });
    const { versions } = stored["spec"] as { readonly versions: readonly { readonly schema: JsonObject }[] };
    const schema = JSON.stringify(versions[0]?.schema);
    for (const field of ["a", "b", "c"]) assert.ok(schema.includes(`"${field}":{"type":"string"}`), schema);
  });

  test("names the CRD that the server refuses, and its field", async () => {
    const wrong = crd("fs", { a: { type: "text" } });
    await assert.rejects(
      install(wrong),
      /^Error: cannot install CustomResourceDefinition "fs\.example\.org": .*Unsupported value: "text"/,
    );
  });

  test("names the CRD whose names another one has", async () => {
    await install(crd("gs", {}, "Taken"));
    await assert.rejects(
      install(crd("hs", {}, "Taken")),
      /^Error: cannot install CustomResourceDefinition "hs\.example\.org": .*is already in use/,
    );
  });

  test("rejects when the signal aborts, or when it takes too long", async () => {
    await assert.rejects(
      installCrds(client, [crd("is", {})], { signal: AbortSignal.abort(new Error("enough")) }),
      /cannot install CustomResourceDefinition "is\.example\.org": .*enough/,
    );
    await assert.rejects(
      installCrds(client, [crd("js", {})], { timeoutMs: 0 }),
      /"js\.example\.org": the API server has not established it in time/,
    );
  });
});
