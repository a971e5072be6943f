// SPDX-License-Identifier: Apache-2.0
// Secrets of a replayed run: which are read again, which values are restored, and how responses are compared without showing them.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import {
  create,
  encode,
  fromJson,
  type JsonObject,
  RunFunctionRequest,
  RunFunctionResponse,
} from "@purlin/function-protocol";
import { notFound } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { openRunStore, type Run, readStoreMark } from "@purlin/run-store";
import { recordedRun, recordedStep } from "../../test/recorded-runs.ts";
import { TestIo } from "../../test/test-io.ts";
import type { Cluster } from "../cluster/cluster-client.ts";
import { comparable, restoreSecrets, storeMark } from "./replay-command.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const input = { args: [], options: { recorderDir: "runs" } };

/** A folder with the key of a recorder. */
function recorderFolder(): TempFolder {
  const folder = tempFolder();
  openRunStore({ directory: join(folder.path, "runs") })[Symbol.dispose]();
  return folder;
}

/** A control plane with Secrets, and the names that were asked for. */
function clusterOf(secrets: Readonly<Record<string, Readonly<Record<string, string>>>>, asked: string[] = []): Cluster {
  const get = async (_: unknown, { namespace, name }: { readonly namespace: string; readonly name: string }) => {
    asked.push(`${namespace}/${name}`);
    const data = secrets[`${namespace}/${name}`];
    if (data === undefined) throw notFound({ group: "", resource: "secrets" }, name);
    const encoded = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, base64(value)]));
    return { apiVersion: "v1", kind: "Secret", metadata: { namespace, name }, data: encoded } as KubeObject;
  };
  const cluster: Partial<Record<keyof Cluster, unknown>> = { client: { get }, namespace: "default" };
  return cluster as Cluster;
}

const revision = (...credentials: readonly JsonObject[]): JsonObject => ({
  spec: {
    pipeline: [
      { step: "other", credentials: [{ secretRef: { namespace: "n", name: "other" } }] },
      { step: "a", credentials: [...credentials] },
    ],
  },
});

/** The Secrets that are read for a step. */
async function askedFor(run: Partial<Run>, request: object): Promise<string[]> {
  using folder = recorderFolder();
  const asked: string[] = [];
  const io = new TestIo({ cwd: folder.path });
  const step = recordedStep("a", { request });
  await restoreSecrets(recordedRun(run), step, { input, io, cluster: clusterOf({}, asked) });
  return asked;
}

describe("the Secrets of a step", () => {
  test("are those of its credentials, and of no other step", async () => {
    const credentials = [
      { name: "db", source: "Secret", secretRef: { namespace: "n", name: "db" } },
      { name: "none", source: "None" },
      { name: "half", secretRef: { name: "half" } },
    ];
    assert.deepEqual(await askedFor({ revision: revision(...credentials) }, {}), ["n/db"]);
    assert.deepEqual(await askedFor({ revision: undefined }, {}), []);
    assert.deepEqual(await askedFor({ revision: { spec: { pipeline: "x" } } }, {}), []);
  });

  test("are those among the objects of its request, and those with connection details, each once", async () => {
    const secret = (name: string) => ({
      resource: { apiVersion: "v1", kind: "Secret", metadata: { namespace: "n", name } },
    });
    const writer = {
      resource: { kind: "DB", metadata: { namespace: "own" }, spec: { writeConnectionSecretToRef: { name: "conn" } } },
    };
    const elsewhere = {
      resource: {
        kind: "DB",
        metadata: { namespace: "own" },
        spec: { writeConnectionSecretToRef: { name: "c", namespace: "far" } },
      },
    };
    const request = {
      observed: { composite: elsewhere, resources: { s: secret("observed"), w: writer } },
      desired: { resources: { s: secret("desired"), again: secret("observed") } },
      requiredResources: { r: { items: [secret("required")] } },
      extraResources: { e: { items: [secret("extra")] } },
    };
    assert.deepEqual(await askedFor({}, request), [
      ...["far/c", "n/observed", "own/conn", "n/desired", "n/required", "n/extra"],
    ]);
  });

  test("are not objects that only look like one", async () => {
    const resource = { apiVersion: "example.org/v1", kind: "Secret", metadata: { namespace: "n", name: "custom" } };
    assert.deepEqual(await askedFor({}, { observed: { resources: { a: { resource } } } }), []);
  });
});

describe("a value", () => {
  test("is restored where its mark is that of the recorded one, and stays hidden where it has changed", async () => {
    using folder = recorderFolder();
    const mark = readStoreMark(join(folder.path, "runs"));
    const hidden = (text: string): string => mark(Buffer.from(text));
    const observed = {
      composite: {
        resource: { spec: { url: `https://u:${hidden("same-password")}@host`, old: hidden("old-password") } },
      },
    };
    const step = recordedStep("a", { request: { observed } });
    const run = recordedRun({ revision: revision({ secretRef: { namespace: "n", name: "db" } }) });
    const cluster = clusterOf({ "n/db": { a: "same-password", b: "new-password" } });
    const request = await restoreSecrets(run, step, { input, io: new TestIo({ cwd: folder.path }), cluster });
    assert.deepEqual(request?.observed?.composite?.resource?.value, {
      spec: { url: "https://u:same-password@host", old: hidden("old-password") },
    });
  });

  test("is not restored without a control plane or without the key", async () => {
    using folder = tempFolder();
    const io = new TestIo({ cwd: folder.path });
    const [run, step] = [recordedRun(), recordedStep("a")];
    await assert.rejects(restoreSecrets(run, step, { input, io, cluster: undefined }), {
      exitCode: 2,
      message: "--with-secrets needs a control plane",
    });
    await assert.rejects(restoreSecrets(run, step, { input, io, cluster: clusterOf({}) }), {
      message: `--with-secrets: the key of the recorder is not in ${join(folder.path, "runs")}: specify --data-dir`,
    });
  });
});

describe("two responses are compared", () => {
  const request = fromJson(RunFunctionRequest, {
    credentials: { db: { credentialData: { data: { password: base64("the-password") } } } },
  });
  const responding = (text: string): RunFunctionResponse =>
    fromJson(RunFunctionResponse, { desired: { resources: { a: { resource: { kind: "A", url: text } } } } });
  const urls = (pair: readonly RunFunctionResponse[]): unknown[] =>
    pair.map(({ desired }) => desired?.resources.get("a")?.resource?.value["url"]);

  test("with the marks of the store, where its key is known", () => {
    using folder = recorderFolder();
    const mark = readStoreMark(join(folder.path, "runs"));
    const recorded = responding(`x-${mark(Buffer.from("the-password"))}`);
    const found = urls(comparable(request, [recorded, responding("x-the-password")], mark));
    assert.equal(found[0], found[1]);
    assert.ok(!JSON.stringify(found).includes("the-password"));
    const other = responding(`x-${mark(Buffer.from("another-one"))}`);
    const [before, now] = urls(comparable(request, [other, responding("x-the-password")], mark));
    assert.notEqual(before, now, "a value that changed is a difference");
  });

  test("with one mark for all values where it is not", () => {
    const recorded = responding("x-**REDACTED:0123abcd**");
    assert.deepEqual(urls(comparable(request, [recorded, responding("x-the-password")], undefined)), [
      "x-**REDACTED**",
      "x-**REDACTED**",
    ]);
  });

  test("as they are where they have no secrets, and the given ones stay as they were", () => {
    const [recorded, now] = [responding("plain"), responding("plain")];
    const before = encode(RunFunctionResponse, now);
    const pair = comparable(create(RunFunctionRequest), [recorded, now], undefined);
    assert.deepEqual(urls(pair), ["plain", "plain"]);
    assert.ok(encode(RunFunctionResponse, now).equals(before));
  });
});

test("the mark of a store is that of its key, and missing where the key is", () => {
  using folder = recorderFolder();
  const io = new TestIo({ cwd: folder.path });
  const value = Buffer.from("value");
  assert.equal(storeMark(input, io)?.(value), readStoreMark(join(folder.path, "runs"))(value));
  assert.equal(storeMark({ args: [], options: { recorderDir: "other" } }, io), undefined);
});
