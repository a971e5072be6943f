// SPDX-License-Identifier: Apache-2.0
// `purlin runs listen` beside a real Crossplane: its core composes, and what its pipeline inspector sends is recorded, shown and
// replayed. Crossplane runs on the embedded API server, with the CRDs of Purlin.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";

import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { compositionCrds, keptCrds } from "@purlin/composition";
import { nopLogger, start } from "@purlin/function-sdk";
import { type ApiServer, mastersGroup, startApiServer } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import { createDirectTransport, createKubeClient, type KubeClient } from "@purlin/kube-client";
import { installCrds } from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import { packageCrds } from "@purlin/package-manager";
import { run } from "../../packages/cli/src/run.ts";
import { runInProcess, TestIo } from "../../packages/cli/test/test-io.ts";
import { cacheDirectory } from "../../tools/peers/cache-directory.ts";
import { crossplaneRender, crossplaneRenderIn } from "../../tools/peers/crossplane-render.ts";
import { freePort } from "../../tools/peers/free-port.ts";
import { installed } from "../../tools/peers/peer.ts";
import { eventually } from "../e2e/harness/plane.ts";
import { type CertificateFiles, createCertificateFiles } from "./certificate-files.ts";
import { composeNote } from "./programs/note-function.ts";

const namespace = "default";
const canary = "canary-secret-of-crossplane";
const group = "inspected.example.org";
const note = { apiVersion: `${group}/v1`, kind: "Note" };
const revisionType = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" };

let directory: string;
let certificates: CertificateFiles;
let server: ApiServer;
let users: KubeClient;
let crossplane: ChildProcess;
let listening: Promise<number>;
let address: string;
let crossplaneLog = "";
const stopping = new AbortController();
const closing = new AsyncDisposableStack();
const recorder = ["--recorder-dir", "runs"];

/** The composite resources' kind, its Composition of two steps, and the function as a package manager would publish it. */
async function definePlatform(): Promise<void> {
  const properties = { spec: { type: "object", properties: { text: { type: "string" } } } };
  const schema = { openAPIV3Schema: { type: "object", properties } };
  const step = (name: string): object => ({
    step: name,
    functionRef: { name: "function-note" },
    credentials: [{ name: "login", source: "Secret", secretRef: { namespace, name: "login" } }],
  });
  await apply(
    { apiVersion: "v1", kind: "Secret", metadata: { namespace, name: "login" }, stringData: { password: canary } },
    {
      apiVersion: "apiextensions.crossplane.io/v2",
      kind: "CompositeResourceDefinition",
      metadata: { name: `notes.${group}` },
      spec: {
        group,
        scope: "Namespaced",
        names: { kind: "Note", plural: "notes" },
        versions: [{ name: "v1", served: true, referenceable: true, schema }],
      },
    },
    {
      apiVersion: "apiextensions.crossplane.io/v1",
      kind: "Composition",
      metadata: { name: "notes" },
      spec: {
        compositeTypeRef: note,
        mode: "Pipeline",
        pipeline: [step("first"), step("second")],
      },
    } as unknown as KubeObject,
    {
      ...revisionType,
      metadata: {
        name: "function-note-1",
        labels: { "pkg.crossplane.io/package": "function-note" },
        // The package is a name only: Crossplane must not look for it.
        annotations: { "crossplane.io/paused": "true" },
      },
      spec: { desiredState: "Active", image: "registry.example.org/function-note:v1", revision: 1 },
    },
  );
  const revision = await users.get(revisionType, { name: "function-note-1" });
  const status = { endpoint: `dns:///localhost:${address.split(":").at(-1)}`, capabilities: ["composition"] };
  await users.update({ ...revision, status }, { subresource: "status" });
}

async function apply(...objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) {
    await eventually(`${object.kind} ${object.metadata.name} is accepted`, () =>
      users.apply(object, { fieldManager: "test", force: true }),
    );
  }
}

async function startCrossplane(kubeconfig: string, socket: string): Promise<void> {
  const [metrics, health] = [await freePort(), await freePort()];
  const args = [
    ...["core", "start", "--enable-pipeline-inspector", `--pipeline-inspector-socket=${socket}`],
    ...[`--tls-client-certs-dir=${certificates.client}`, `--metrics-port=${metrics}`, `--health-probe-port=${health}`],
    ...["--enable-webhooks=false", "--package-runtime=External", `--xpkg-cache-dir=${directory}`],
  ];
  const { core } = crossplaneRenderIn(installed(crossplaneRender, cacheDirectory));
  crossplane = spawn(core, args, {
    env: { KUBECONFIG: kubeconfig, HOME: directory },
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [crossplane.stdout, crossplane.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      crossplaneLog = (crossplaneLog + String(chunk)).slice(-20_000);
    });
  }
}

before(async () => {
  directory = mkdtempSync(join(tmpdir(), "inspected-"));
  certificates = createCertificateFiles();
  const options = { address: "127.0.0.1:0", tlsCertsDir: certificates.server, metricsAddress: "", log: nopLogger };
  const served = closing.use(await start(composeNote, options));
  address = served.address;
  server = await startApiServer({ kinds: builtinKinds, directory: join(directory, "data") });
  const kubeconfig = join(directory, "kubeconfig");
  writeFileSync(kubeconfig, (await server.listen()).kubeconfig, { mode: 0o600 });
  users = createKubeClient(createDirectTransport(server.handle, { name: "admin", groups: [mastersGroup] }));
  await installCrds(users, [...compositionCrds(), ...keptCrds(), ...packageCrds({ functionRevisionSelectors: false })]);
  await apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "crossplane-system" } });
  await definePlatform();
  const socket = join(directory, "inspector.sock");
  const io = new TestIo({ cwd: directory, signal: stopping.signal });
  listening = run(["runs", "listen", "--socket", socket, ...recorder], io);
  await eventually("the socket is there", async () => existsSync(socket));
  await startCrossplane(kubeconfig, socket);
});
after(async () => {
  if (crossplane?.exitCode === null && crossplane.signalCode === null) {
    crossplane.kill("SIGKILL");
    await once(crossplane, "exit");
  }
  stopping.abort();
  await listening;
  await users?.close();
  await server?.close();
  await closing.disposeAsync();
  certificates?.[Symbol.dispose]();
  rmSync(directory, { recursive: true, force: true });
});

const purlin = (...args: readonly string[]) => runInProcess([...args, ...recorder], { cwd: directory });

/** The list of runs of a composite resource, once one ended in this way. */
async function recorded(name: string, text: string, outcome: RegExp): Promise<string> {
  let changes = 0;
  return eventually(
    `a run of ${name} is recorded`,
    async () => {
      // Crossplane gives a message up after 100 ms: on a busy machine it has to compose again.
      const annotations = { "test.example.org/change": String(changes++) };
      await apply({ ...note, metadata: { namespace, name, annotations }, spec: { text } });
      await delay(500);
      const { exitCode, stdout } = await purlin("runs", "ls", `Note/${name}`);
      const isWhole = stdout.split("\n").some((line) => outcome.test(line) && /inspector +2 /.test(line));
      return exitCode === 0 && (isWhole || /failed/.test(outcome.source)) && outcome.test(stdout) && stdout;
    },
    () => crossplaneLog,
  );
}

test("what a real Crossplane sends is recorded, shown, blamed and replayed, without secrets", async () => {
  const listed = await recorded("hello", "hello", /composed/);
  assert.match(listed, /Note\/default\/hello +\S+ +inspector +2 /);
  const shown = await purlin("runs", "show", "Note/hello");
  assert.match(shown.stdout, /first/);
  assert.match(shown.stdout, /data\.text: "hello"/);
  const blamed = await purlin("runs", "blame", "Note/hello", "note", "data.text");
  assert.match(blamed.stdout, /note +data\.text +"hello" +first +function-note/);
  const program = join(import.meta.dirname, "programs", "note-function.ts");
  const replayed = await purlin("runs", "replay", "Note/hello", "--step", "second", "--with", program);
  assert.equal(replayed.exitCode, 0, replayed.stdout + replayed.stderr);
  const file = readFileSync(join(directory, "runs", "runs.db"));
  for (const text of [listed, shown.stdout, file.toString("latin1")]) assert.ok(!text.includes(canary));
});

test("a fatal result of a function is a failed run, with its message", async () => {
  await recorded("bad", "fatal", /failed/);
  const { stdout } = await purlin("runs", "show", "Note/bad");
  assert.match(stdout, /the text is fatal/);
});
