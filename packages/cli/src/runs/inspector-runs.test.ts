// SPDX-License-Identifier: Apache-2.0
// Runs that come from a pipeline inspector: over its socket, and from a file.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import {
  create,
  inspector,
  RunFunctionRequest as Request,
  Resource,
  type RunFunctionRequest,
  RunFunctionResponse,
  State,
  Struct,
  Timestamp,
  toJson,
} from "@purlin/function-protocol";
import { createInspectorSink } from "@purlin/function-runner";
import { runInProcess, TestIo } from "../../test/test-io.ts";
import { run } from "../run.ts";

const canary = "canary-secret-value";
const target = { functionName: "fn", revisionName: "fn-1", packageRef: "", endpoint: "", revision: 1 };

function metaOf(trace: string, stepIndex: number): inspector.StepMeta {
  const value = create(inspector.CompositionMeta, {
    compositionName: "apps",
    compositeResourceName: "shop",
    compositeResourceNamespace: "default",
    compositeResourceUid: "u1",
    compositeResourceApiVersion: "example.org/v1",
    compositeResourceKind: "App",
  });
  return create(inspector.StepMeta, {
    timestamp: create(Timestamp, { seconds: BigInt(Math.floor(Date.now() / 1000)), nanos: 0 }),
    traceId: trace,
    spanId: `${trace}-${stepIndex}`,
    stepIndex,
    stepName: `step-${stepIndex}`,
    functionName: "fn",
    context: { case: "compositionMeta", value },
  });
}

const resourceOf = (object: object): Resource => create(Resource, { resource: Struct.from(object) });

function requestOf(text: string): RunFunctionRequest {
  const xr = {
    apiVersion: "example.org/v1",
    kind: "App",
    metadata: { name: "shop", namespace: "default" },
    spec: { text },
  };
  return create(Request, { observed: create(State, { composite: resourceOf(xr) }) });
}

function responseOf(text: string): RunFunctionResponse {
  const secret = { apiVersion: "v1", kind: "Secret", stringData: { password: canary } };
  const map = { apiVersion: "v1", kind: "ConfigMap", data: { text, url: `https://u:${canary}@host` } };
  const resources = new Map([
    ["map", resourceOf(map)],
    ["secret", resourceOf(secret)],
  ]);
  return create(RunFunctionResponse, { desired: create(State, { resources }) });
}

test("runs listen records what a control plane sends to its inspector, without secrets", async () => {
  using folder = tempFolder();
  const socket = join(folder.path, "inspector.sock");
  const stopping = new AbortController();
  const io = new TestIo({ cwd: folder.path, signal: stopping.signal });
  const listening = run(["runs", "listen", "--socket", "inspector.sock", "--recorder-dir", "runs"], io);
  while (!io.stdout.text.includes("listening on")) await new Promise((resolve) => setTimeout(resolve, 10));
  const sink = createInspectorSink(socket, { timeoutMs: 10_000 });
  for (const [trace, text] of [
    ["one", "hello"],
    ["two", "changed"],
  ] as const) {
    for (const index of [0, 1]) {
      const meta = metaOf(trace, index);
      await sink.request({ meta, target, request: requestOf(text) });
      const fails = trace === "two" && index === 1;
      await sink.response(
        fails ? { meta, target, error: `no login with ${canary}` } : { meta, target, response: responseOf(text) },
      );
    }
  }
  sink.close();
  stopping.abort();
  assert.equal(await listening, 0);
  const purlin = (...argv: readonly string[]) =>
    runInProcess([...argv, "--recorder-dir", "runs"], { cwd: folder.path });
  const { stdout } = await purlin("runs", "ls", "App/shop");
  assert.match(stdout, /App\/default\/shop +- +inspector +2 +0 +\d+ms +failed\n.*App\/default\/shop .* composed\n$/s);
  const inNamespace = async (...words: readonly string[]) =>
    (await purlin("runs", "ls", "-o", "json", ...words)).stdout;
  const countOf = async (...words: readonly string[]): Promise<number> =>
    (JSON.parse(await inNamespace(...words)) as { readonly items: readonly object[] }).items.length;
  assert.deepEqual([await countOf("-n", "default"), await countOf("-n", "other"), await countOf()], [2, 0, 2]);
  assert.deepEqual([await countOf("App/shop", "-n", "default"), await countOf("App/shop", "-n", "other")], [2, 0]);
  const elsewhere = await purlin("runs", "show", "App/shop", "-n", "other");
  assert.deepEqual(
    [elsewhere.exitCode, elsewhere.stderr],
    [1, "error: no recorded run of App/shop reached its pipeline\n"],
  );
  const shown = await purlin("runs", "show", "App/shop");
  assert.match(shown.stdout, /error: no login with \*\*REDACTED:[0-9a-f]{8}\*\*/);
  assert.ok(!shown.stdout.includes(canary));
  const blamed = await purlin("runs", "blame", "App/shop", "map", "data.text");
  assert.match(blamed.stdout, /map +data\.text +"hello" +step-0 +fn/);
  const exported = await purlin("runs", "export", "App/shop", "-o", "case");
  assert.match(
    exported.stderr,
    /^warning: the package of fn was not recorded: set spec\.package or purlin\.dev\/source in .*functions\.yaml\n$/,
  );
  const replayed = await purlin("runs", "replay", "App/shop");
  assert.deepEqual([replayed.exitCode, /specify the function with --with/.test(replayed.stderr)], [2, true]);
});

test("runs listen prints a document in each line with -o json", async () => {
  using folder = tempFolder();
  const stopping = new AbortController();
  const io = new TestIo({ cwd: folder.path, signal: stopping.signal });
  const argv = ["runs", "listen", "--socket", "inspector.sock", "--recorder-dir", "runs", "-o", "json"];
  const listening = run(argv, io);
  while (!io.stdout.text.includes("listening")) await new Promise((resolve) => setTimeout(resolve, 10));
  const sink = createInspectorSink(join(folder.path, "inspector.sock"), { timeoutMs: 10_000 });
  const meta = metaOf("one", 0);
  await sink.request({ meta, target, request: requestOf("hello") });
  await sink.response({ meta, target, response: responseOf("hello") });
  sink.close();
  stopping.abort();
  assert.equal(await listening, 0);
  const recorded = { apiVersion: "example.org/v1", kind: "App", namespace: "default", name: "shop" };
  const lines = io.stdout.text.trimEnd().split("\n");
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    [{ listening: join(folder.path, "inspector.sock") }, { recorded, outcome: "composed" }],
  );
});

test("runs listen leaves the socket of another process alone, and replaces one that is left over", async () => {
  using folder = tempFolder();
  const argv = ["runs", "listen", "--socket", "inspector.sock", "--recorder-dir", "runs"];
  const stopping = new AbortController();
  const io = new TestIo({ cwd: folder.path, signal: stopping.signal });
  const listening = run(argv, io);
  while (!io.stdout.text.includes("listening")) await new Promise((resolve) => setTimeout(resolve, 10));
  const second = await runInProcess(argv, { cwd: folder.path });
  assert.equal(second.exitCode, 1);
  assert.match(
    second.stderr,
    /^error: --socket .*inspector\.sock: cannot listen: another process serves this socket\n$/,
  );
  stopping.abort();
  assert.equal(await listening, 0);
  const left = createServer().listen(join(folder.path, "left.sock"));
  await once(left, "listening");
  // Closing removes the file: a process that was killed leaves it.
  renameSync(join(folder.path, "left.sock"), join(folder.path, "inspector.sock"));
  await new Promise((resolve) => left.close(resolve));
  const again = new TestIo({ cwd: folder.path, signal: AbortSignal.abort() });
  assert.equal(await run(argv, again), 0, again.stderr.text);
});

/** A store in which no run can be stored. */
async function fullStore(folder: string): Promise<void> {
  writeFileSync(join(folder, "none.jsonl"), "");
  await runInProcess(["runs", "import", "none.jsonl", "--recorder-dir", "runs"], { cwd: folder });
  using database = new DatabaseSync(join(folder, "runs", "runs.db"));
  database.exec("CREATE TRIGGER full BEFORE INSERT ON run BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END");
}

test("a store that is full fails runs import, and ends runs listen", async () => {
  using folder = tempFolder();
  await fullStore(folder.path);
  const meta = metaOf("one", 0);
  const messages = [
    { meta: toJson(inspector.StepMeta, meta), request: toJson(Request, requestOf("hello")) },
    { meta: toJson(inspector.StepMeta, meta), response: toJson(RunFunctionResponse, responseOf("hello")) },
  ];
  writeFileSync(join(folder.path, "good.jsonl"), messages.map((one) => JSON.stringify(one)).join("\n"));
  const imported = await runInProcess(["runs", "import", "good.jsonl", "--recorder-dir", "runs"], { cwd: folder.path });
  assert.deepEqual([imported.exitCode, imported.stdout], [1, ""]);
  const text = /^error: --recorder-dir .*runs: runs were not recorded: database or disk is full\n$/;
  assert.match(imported.stderr, text);

  const io = new TestIo({ cwd: folder.path });
  const listening = run(["runs", "listen", "--socket", "inspector.sock", "--recorder-dir", "runs"], io);
  while (!io.stdout.text.includes("listening")) await new Promise((resolve) => setTimeout(resolve, 10));
  const sink = createInspectorSink(join(folder.path, "inspector.sock"), { timeoutMs: 10_000 });
  const send = async (): Promise<void> => {
    for (const trace of ["one", "two"]) {
      await sink.request({ meta: metaOf(trace, 0), target, request: requestOf(trace) });
      await sink.response({ meta: metaOf(trace, 0), target, response: responseOf(trace) });
    }
  };
  // The command ends at the first run that it cannot store, maybe before it has answered all messages.
  void send().catch(() => {});
  assert.equal(await listening, 1);
  sink.close();
  assert.match(io.stderr.text, text);
});

test("runs import records a file of messages, and names the line that is not one", async () => {
  using folder = tempFolder();
  const line = (value: object): string => JSON.stringify(value);
  const meta = toJson(inspector.StepMeta, metaOf("one", 0));
  const lines = [
    line({ meta, request: toJson(Request, requestOf("hello")) }),
    line({
      meta,
      response: Buffer.from(JSON.stringify(toJson(RunFunctionResponse, responseOf("hello")))).toString("base64"),
    }),
  ];
  writeFileSync(join(folder.path, "good.jsonl"), `${lines.join("\n")}\n`);
  writeFileSync(join(folder.path, "bad.jsonl"), `${lines[0]}\n{"meta": 7}\n`);
  const purlin = (...argv: readonly string[]) =>
    runInProcess([...argv, "--recorder-dir", "runs"], { cwd: folder.path });
  const good = await purlin("runs", "import", "good.jsonl");
  assert.deepEqual([good.exitCode, good.stdout], [0, "1 run recorded\n"]);
  assert.match((await purlin("runs", "show", "App/shop")).stdout, /data\.text: "hello"/);
  const asData = await purlin("runs", "import", "good.jsonl", "-o", "json");
  const report = { apiVersion: "cli.purlin.dev/v1", kind: "ImportReport", recorded: 1 };
  assert.deepEqual(JSON.parse(asData.stdout), report);
  const bad = await purlin("runs", "import", "bad.jsonl");
  assert.deepEqual([bad.exitCode, /bad\.jsonl:2: not a message of a pipeline inspector/.test(bad.stderr)], [2, true]);
  const missing = await purlin("runs", "import", "none.jsonl");
  assert.deepEqual(
    [missing.exitCode, /cannot read the file none\.jsonl: no such file/.test(missing.stderr)],
    [2, true],
  );
  const taken = await purlin("runs", "listen", "--socket", "good.jsonl");
  assert.equal(taken.exitCode, 2);
  assert.match(taken.stderr, /^error: --socket .*good\.jsonl: it exists and is not a socket: choose another path\n$/);
});

test("runs import records every run, also when they have more bytes than may wait", async () => {
  using folder = tempFolder();
  const lines = ["one", "two", "three"].map((trace) => {
    const request = requestOf(`${trace} ${"x".repeat(23 * 2 ** 20)}`);
    return JSON.stringify({ meta: toJson(inspector.StepMeta, metaOf(trace, 0)), request: toJson(Request, request) });
  });
  writeFileSync(join(folder.path, "large.jsonl"), lines.join("\n"));
  const argv = ["runs", "import", "large.jsonl", "--recorder-dir", "runs"];
  assert.equal((await runInProcess(argv, { cwd: folder.path })).stdout, "3 runs recorded\n");
  using database = new DatabaseSync(join(folder.path, "runs", "runs.db"));
  assert.equal(database.prepare("SELECT count(*) AS runs FROM run").get()?.["runs"], 3);
});

test("runs import reads what the sidecar of the inspector prints", async () => {
  using folder = tempFolder();
  // The line of the sidecar's own documentation, with a payload.
  const compositionMeta = {
    compositeResourceApiVersion: "example.org/v1",
    compositeResourceKind: "XDatabase",
    compositeResourceName: "my-db",
    compositeResourceNamespace: "default",
    compositeResourceUid: "abc-123",
    compositionName: "my-composition",
  };
  const ids = { functionName: "function-patch-and-transform", iteration: 0, stepIndex: 0, stepName: "patch" };
  const meta = { compositionMeta, ...ids, timestamp: "2026-01-15T10:30:00.250Z" };
  const first = { ...meta, spanId: "span-456", traceId: "trace-789" };
  const second = { ...meta, spanId: "span-457", traceId: "trace-790", timestamp: "2026-01-15T11:30:00Z" };
  const composite = { apiVersion: "example.org/v1", kind: "XDatabase", metadata: { name: "my-db" } };
  const request = { meta: { tag: "t" }, observed: { composite: { resource: composite } } };
  const map = { apiVersion: "v1", kind: "ConfigMap", data: { text: "from a sidecar" } };
  const lines = [
    { meta: first, payload: request, type: "REQUEST" },
    { meta: first, payload: { desired: { resources: { map: { resource: map } } } }, type: "RESPONSE" },
    { meta: second, payload: request, type: "REQUEST" },
    { meta: second, payload: null, error: "no such function", type: "RESPONSE" },
  ];
  writeFileSync(join(folder.path, "log.jsonl"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const purlin = (...argv: readonly string[]) =>
    runInProcess([...argv, "--recorder-dir", "runs"], { cwd: folder.path });
  const imported = await purlin("runs", "import", "log.jsonl");
  assert.deepEqual([imported.exitCode, imported.stdout], [0, "2 runs recorded\n"], imported.stderr);
  const { items } = JSON.parse((await purlin("runs", "ls", "-o", "json")).stdout) as {
    readonly items: readonly { readonly id: string; readonly began: string; readonly outcome: string }[];
  };
  assert.deepEqual(
    items.map(({ began, outcome }) => [began, outcome]),
    [
      ["2026-01-15T11:30:00.000Z", "failed"],
      ["2026-01-15T10:30:00.250Z", "composed"],
    ],
  );
  assert.match((await purlin("runs", "show", items[1]?.id ?? "")).stdout, /data\.text: "from a sidecar"/);
  assert.match((await purlin("runs", "show", items[0]?.id ?? "")).stdout, /no such function/);
});

test("an imported run with a path as its name is exported into the folder only, and pipes and devices are not imported", async () => {
  using folder = tempFolder({ "project/.keep": "" });
  const cwd = join(folder.path, "project");
  const purlin = (...argv: readonly string[]) => runInProcess([...argv, "--recorder-dir", "runs"], { cwd });
  const meta = toJson(inspector.StepMeta, metaOf("one", 0));
  const lines = [
    { meta, request: toJson(Request, requestOf("hello")) },
    { meta, response: toJson(RunFunctionResponse, responseOf("hello")) },
  ];
  const text = lines
    .map((line) => JSON.stringify(line))
    .join("\n")
    .replaceAll('"shop"', '"../../../evil"');
  writeFileSync(join(cwd, "hostile.jsonl"), text);
  const imported = await purlin("runs", "import", "hostile.jsonl");
  assert.deepEqual([imported.exitCode, imported.stdout], [0, "1 run recorded\n"], imported.stderr);
  const { items } = JSON.parse((await purlin("runs", "ls", "-o", "json")).stdout) as { items: { id: string }[] };
  const exported = await purlin("runs", "export", items[0]?.id ?? "", "-o", "out/of/case");
  assert.equal(exported.exitCode, 0, exported.stderr);
  const tests = readdirSync(join(cwd, "out/of/case")).filter((name) => name.endsWith(".test.yaml"));
  assert.match(tests.join(), /^\.\._\.\._\.\._evil-\w+\.test\.yaml$/);
  assert.deepEqual(readdirSync(folder.path), ["project"]);
  assert.deepEqual(readdirSync(cwd).toSorted(), [".keep", "hostile.jsonl", "out", "runs"]);
  const device = await purlin("runs", "import", "/dev/zero");
  assert.deepEqual([device.exitCode, /it is a device, not a regular file/.test(device.stderr)], [2, true]);
});
