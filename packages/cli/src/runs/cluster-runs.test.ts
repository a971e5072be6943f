// SPDX-License-Identifier: Apache-2.0
// Runs of a control plane on a cluster, read through the API server's service proxy.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { serveRuns } from "@purlin/control-plane";
import { create, Resource, RunFunctionRequest, RunFunctionResponse, State, Struct } from "@purlin/function-protocol";
import { eventually } from "@purlin/kube-controller/testing";
import { forbidden, notFound } from "@purlin/kube-objects/errors";
import { openRunStore, type RunRecord } from "@purlin/run-store";
import { type Outcome, runInProcess, TestIo } from "../../test/test-io.ts";
import { run } from "../run.ts";

interface Cluster extends AsyncDisposable {
  /** The requests to the API server. */
  readonly asked: string[];
  purlin(...args: readonly string[]): Promise<Outcome>;
}

const xr = { apiVersion: "example.org/v1", kind: "App", metadata: { name: "shop", namespace: "default", uid: "u1" } };
const record = (): RunRecord => {
  const [beganMs, endedMs] = [Date.now() - 10, Date.now()];
  return { xr, after: xr, cause: "spec", beganMs, endedMs, steps: [], writes: [], outcome: "unchanged" };
};

const services = { group: "", resource: "services" };
const proxyOf = (service: string): string => `/api/v1/namespaces/${service}/proxy`;

/** An API server that forwards to the replicas of a Service in turns, as its service proxy does. Of the replicas the last one leads. */
async function startCluster({ service = "", replicas = 1, direct = 404, leads = true } = {}): Promise<Cluster> {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(tempFolder());
  const store = opened.use(openRunStore({ directory: folder.path }));
  store.record(record());
  store.flush();
  const addresses: string[] = [];
  for (let at = 1; at <= replicas; at += 1) {
    const server = await serveRuns("127.0.0.1:0", { state: leads && at === replicas ? "running" : "waiting" }, store);
    opened.defer(() => server.close());
    addresses.push(server.address);
  }
  const asked: string[] = [];
  const answer = async ({ url = "" }: IncomingMessage, response: ServerResponse): Promise<void> => {
    asked.push(url.replace(/\?.*/, ""));
    const json = (code: number, body: object): void => {
      response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    if (url.startsWith("/version")) return json(200, { gitVersion: "v1.36.0" });
    if (url.startsWith("/purlin/")) {
      const refused = direct === 404 ? notFound(services, "") : forbidden(services, "", "no rights on this path");
      return json(direct, refused.status);
    }
    if (service === "" || !url.startsWith(proxyOf(service))) return json(404, notFound(services, "purlin-runs").status);
    const replica = addresses.shift() ?? "";
    addresses.push(replica);
    const forwarded = await fetch(`http://${replica}${url.slice(proxyOf(service).length)}`);
    json(forwarded.status, (await forwarded.json()) as object);
  };
  const api = createServer((request, response) => void answer(request, response));
  api.listen(0, "127.0.0.1");
  await once(api, "listening");
  opened.defer(() => void api.close());
  opened.defer(() => api.closeAllConnections());
  const { port } = api.address() as AddressInfo;
  folder.write("kubeconfig", kubeconfig(`http://127.0.0.1:${port}`));
  const closing = opened.move();
  return {
    asked,
    purlin: (...args) => runInProcess([...args, "--kubeconfig", "kubeconfig"], { cwd: folder.path }),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

function kubeconfig(server: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server } }],
    users: [{ name: "u", user: {} }],
  });
}

const usual = "crossplane-system/services/purlin-runs:runs";

test("a run that was too large to keep is shown with its sizes", async () => {
  using folder = tempFolder();
  {
    using store = openRunStore({ directory: folder.path, bounds: { maxBytes: 2 ** 20 } });
    const large = { apiVersion: "v1", kind: "ConfigMap", data: { text: "x".repeat(5 * 2 ** 20) } };
    const resources = new Map([["map", create(Resource, { resource: Struct.from(large) })]]);
    const call = {
      request: create(RunFunctionRequest, {}),
      response: create(RunFunctionResponse, { desired: create(State, { resources }) }),
    };
    const step = { functionName: "fn", revisionName: "fn-1", packageRef: "example.org/fn:v1", durationMs: 1 };
    const steps = [{ index: 0, name: "compose", isCached: false, ...step, calls: [call] }];
    store.record({ ...record(), steps });
    store.flush();
  }
  const shown = await runInProcess(["runs", "show", "App/shop", "--recorder-dir", "."], { cwd: folder.path });
  assert.equal(shown.exitCode, 0, shown.stderr);
  assert.match(shown.stdout, /\n {2}1 object of 52\d{5} bytes was too large to keep\n/);
});

test("runs are listed and shown through the Service purlin-runs, by the replica that leads", async () => {
  await using cluster = await startCluster({ service: usual, replicas: 3 });
  const listed = await cluster.purlin("runs", "ls");
  assert.deepEqual([listed.exitCode, listed.stderr], [0, ""]);
  const [, id = "", , name] = /^RUN.*\n(\S+) +(\S+) +(\S+)/.exec(listed.stdout) ?? [];
  assert.equal(name, "App/default/shop");
  const shown = await cluster.purlin("runs", "show", id);
  assert.equal(shown.exitCode, 0, shown.stderr);
  assert.match(shown.stdout, new RegExp(id));
  const missing = await cluster.purlin("runs", "show", "01ZZZZ");
  assert.equal(
    missing.stderr,
    'error: run "01ZZZZ" not found: list runs with "purlin runs ls"; a prefix must be unique\n',
  );
  assert.equal(missing.exitCode, 1);
});

test("a user without rights on the path of the API server itself reads them too, from a Service of another name", async () => {
  await using cluster = await startCluster({ service: "infra/services/records:http", direct: 403 });
  const { exitCode, stdout, stderr } = await cluster.purlin("runs", "ls", "--recorder-service", "infra/records:http");
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /App\/default\/shop/);
  const wrong = await cluster.purlin("runs", "ls", "--recorder-service", "a/b/c");
  assert.equal(wrong.stderr, 'error: --recorder-service: expected [NAMESPACE/]NAME[:PORT], not "a/b/c"\n');
  assert.equal(wrong.exitCode, 2);
});

test("without the Service the command says how runs are served", async () => {
  await using cluster = await startCluster();
  const { exitCode, stderr } = await cluster.purlin("runs", "ls");
  assert.equal(exitCode, 1);
  assert.equal(
    stderr,
    'error: the API server has no recorded runs: serve them with "purlin start --recorder-dir DIR --recorder-address :8082" and the Service purlin-runs, or read the folder with --recorder-dir DIR (services "purlin-runs" not found)\n',
  );
});

test("while no replica leads, the command ends with what they say", async () => {
  await using cluster = await startCluster({ service: usual, replicas: 2, leads: false });
  const { exitCode, stderr } = await cluster.purlin("runs", "ls");
  assert.deepEqual([exitCode, stderr], [1, "error: this replica does not lead: another one records runs\n"]);
});

test("runs follow continues when the control plane is back, and repeats no warning", async () => {
  using folder = tempFolder();
  using store = openRunStore({ directory: folder.path });
  let asked = 0;
  const api = createServer(({ url = "" }, response) => {
    const json = (body: object): void => {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    if (url.startsWith("/version")) return json({ gitVersion: "v1.36.0" });
    asked += 1;
    // The first request finds what is there before; the third and fourth get no answer.
    if (asked === 3 || asked === 4) return void response.socket?.destroy();
    if (asked === 5) {
      store.record(record());
      store.flush();
    }
    json({ items: store.reader.list(), problem: "disk full", dropped: 2 });
  });
  await once(api.listen(0, "127.0.0.1"), "listening");
  folder.write("kubeconfig", kubeconfig(`http://127.0.0.1:${(api.address() as AddressInfo).port}`));
  const stopping = new AbortController();
  const io = new TestIo({ cwd: folder.path, signal: stopping.signal });
  try {
    const following = run(["runs", "follow", "--kubeconfig", "kubeconfig"], io).catch(() => undefined);
    await eventually("the run is printed", () => io.stdout.text.includes("App/default/shop"));
    stopping.abort();
    await following;
    const lines = io.stderr.text.split("\n");
    const counted = (part: string): number => lines.filter((line) => line.includes(part)).length;
    assert.equal(counted("warning: runs are no longer recorded: disk full"), 1);
    assert.equal(counted("note: 2 runs were not recorded"), 1);
    assert.match(io.stderr.text, /^warning: cannot read runs: .*: trying again$/m);
    assert.deepEqual([counted("trying again"), counted("internal error")], [1, 0]);
  } finally {
    api.close();
    api.closeAllConnections();
  }
});
