// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { leaderLeaseName } from "@purlin/control-plane";
import { mastersGroup, startApiServer } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import { createDirectTransport, createKubeClient, type KubeClient } from "@purlin/kube-client";
import { leaseSpecOf, leaseType } from "@purlin/kube-controller";
import {
  buildImage,
  createRegistryClient,
  openContentStore,
  parseReference,
  pushPackage,
  startRegistry,
} from "@purlin/oci";
import { runInProcess, TestIo } from "../../test/test-io.ts";
import { run } from "../run.ts";

interface Cluster extends AsyncDisposable {
  readonly users: KubeClient;
  readonly kubeconfig: string;
  readonly folder: string;
}

async function startCluster(): Promise<Cluster> {
  const folder = tempFolder();
  const server = await startApiServer({ kinds: builtinKinds, directory: join(folder.path, "data") });
  const { kubeconfig } = await server.listen();
  const file = join(folder.path, "kubeconfig");
  writeFileSync(file, kubeconfig);
  const users = createKubeClient(createDirectTransport(server.handle, { name: "admin", groups: [mastersGroup] }));
  return {
    users,
    kubeconfig: file,
    folder: folder.path,
    async [Symbol.asyncDispose]() {
      await users.close();
      await server.close();
      folder[Symbol.dispose]();
    },
  };
}

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

interface StartedOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly addresses?: readonly string[];
}

const loopback = ["--metrics-address", "127.0.0.1:0", "--health-address", "127.0.0.1:0"];

/** `purlin start` in this process, and what it says. */
class Started implements AsyncDisposable {
  readonly #stopping = new AbortController();
  readonly #io: TestIo;
  readonly exitCode: Promise<number>;

  constructor(cluster: Cluster, ...more: readonly (string | StartedOptions)[]) {
    const { env, addresses = loopback } = more.find((one) => typeof one !== "string") ?? {};
    const flags = more.filter((one) => typeof one === "string");
    this.#io = new TestIo({ signal: this.#stopping.signal, cwd: cluster.folder, ...(env && { env }) });
    const args = ["--kubeconfig", cluster.kubeconfig, "--allow-development-functions", ...addresses, ...flags];
    this.exitCode = run(["start", ...args], this.#io);
  }

  get lines(): Line[] {
    const complete = this.#io.stderr.text.split("\n").slice(0, -1);
    return complete.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as Line);
  }

  async said(message: string): Promise<Line> {
    const find = (): Line | undefined => this.lines.find(({ msg }) => msg === message);
    await until(`it says "${message}", not only ${JSON.stringify(this.lines)}`, async () => find() !== undefined);
    return find() as Line;
  }

  async stop(): Promise<number> {
    this.#stopping.abort(new Error("stopped"));
    return this.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 60_000;
  while (!(await holds().catch(() => false))) {
    if (performance.now() > end) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const lease = { namespace: "crossplane-system", name: leaderLeaseName };

test("it installs our kinds on an empty cluster, leads, serves its state, and gives the Lease back", async () => {
  await using cluster = await startCluster();
  const started = new Started(cluster);
  await started.said("all controllers run");
  const { items } = await cluster.users.list({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
  });
  const names = items.map(({ metadata }) => metadata.name);
  for (const name of [
    "compositeresourcedefinitions.apiextensions.crossplane.io",
    "compositions.apiextensions.crossplane.io",
    "compositionrevisions.apiextensions.crossplane.io",
    "functions.pkg.crossplane.io",
    "functionrevisions.pkg.crossplane.io",
    "deploymentruntimeconfigs.pkg.crossplane.io",
  ]) {
    assert.ok(names.includes(name), name);
  }
  const runtimeConfig = { apiVersion: "pkg.crossplane.io/v1beta1", kind: "DeploymentRuntimeConfig" };
  assert.ok(await cluster.users.get(runtimeConfig, { name: "default" }), "what runs unless a package says otherwise");
  for (const name of ["crossplane-root-ca", "crossplane-tls-client"]) {
    const secret = await cluster.users.get({ apiVersion: "v1", kind: "Secret" }, { ...lease, name });
    assert.ok((secret["data"] as Record<string, string>)["tls.crt"], name);
  }
  const held = leaseSpecOf(await cluster.users.get(leaseType, lease));
  assert.deepEqual(
    [held.holderIdentity, held.leaseDurationSeconds],
    [(await started.said("starting"))["identity"], 60],
  );
  const { health, metrics } = await started.said("serving");
  assert.equal((await fetch(`http://${health}/readyz`)).status, 200);
  const text = await (await fetch(`http://${metrics}/metrics`)).text();
  assert.match(text, /^engine_controllers_started_total\{controller="defined\/compositeresourcedefinition/m);
  assert.match(text, /^process_cpu_seconds_total /m);
  assert.equal(await started.stop(), 0);
  assert.equal(leaseSpecOf(await cluster.users.get(leaseType, lease)).holderIdentity ?? "", "");
});

test("recorded runs are served at --recorder-address, which needs a folder to record in", async () => {
  await using cluster = await startCluster();
  const address = ["--recorder-address", "127.0.0.1:0"];
  const refused = await runInProcess(["start", "--kubeconfig", cluster.kubeconfig, ...address]);
  assert.deepEqual([refused.exitCode, refused.stderr], [2, "error: --recorder-address: needs --recorder-dir DIR\n"]);
  await using started = new Started(cluster, "--recorder-dir", "runs", ...address);
  await started.said("all controllers run");
  const { runs } = await started.said("serving");
  const answer = await fetch(`http://${runs}/purlin/v1/runs?limit=5`);
  assert.deepEqual([answer.status, await answer.json()], [200, { items: [], dropped: 0, problem: null }]);
  const unknown = await fetch(`http://${runs}/purlin/v1/runs/01ZZZZ`);
  const { kind, reason } = (await unknown.json()) as Record<string, unknown>;
  assert.deepEqual([unknown.status, kind, reason], [404, "Status", "NotFound"]);
});

test("settings without effect are logged once each, and without an election there is no Lease", async () => {
  await using cluster = await startCluster();
  const socket = join(cluster.folder, "inspector.sock");
  const env = { LEADER_ELECTION: "false", TLS_SERVER_CERTS_DIR: "/tls/server", ENABLE_WEBHOOKS: "true" };
  const flags = ["--enable-signature-verification", "--enable-pipeline-inspector"];
  await using started = new Started(cluster, { env }, ...flags, "--pipeline-inspector-socket", socket);
  await started.said("all controllers run");
  const said = started.lines.filter(({ msg }) => msg === "setting has no effect");
  assert.deepEqual(
    said.map(({ setting, value }) => `${setting} ${value}`),
    ["$TLS_SERVER_CERTS_DIR /tls/server", "--enable-signature-verification true"],
  );
  assert.equal(said[0]?.["reason"], "the certificate of webhooks is that of --tls-server-secret-name");
  await assert.rejects(cluster.users.get(leaseType, lease), /not found/);
});

test("ports, the namespace and the name of the client Secret come from the environment, as in Crossplane's chart", async () => {
  await using cluster = await startCluster();
  const env = { POD_NAMESPACE: "system", TLS_CLIENT_SECRET_NAME: "client", METRICS_PORT: "0", HEALTH_PROBE_PORT: "0" };
  await using started = new Started(cluster, { env, addresses: [] });
  await started.said("all controllers run");
  const { metrics, health } = await started.said("serving");
  for (const address of [metrics, health]) assert.match(String(address), /:[1-9]\d*$/);
  const secret = await cluster.users.get({ apiVersion: "v1", kind: "Secret" }, { namespace: "system", name: "client" });
  assert.ok((secret["data"] as Record<string, string>)["tls.crt"]);
});

test("packages run in Deployments with the names from the flag, or in an external runtime", async () => {
  await using cluster = await startCluster();
  const { users, folder } = cluster;
  const registry = await startRegistry({ directory: join(folder, "registry") });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => registry.close());
  const reference = `${registry.address}/acme/fn:v1`;
  await pushFunction(join(folder, "build"), reference);
  const functions = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };
  const fn = { ...functions, metadata: { name: "fn" }, spec: { package: reference } };
  const namesOf = async (kind: string, apiVersion = "v1"): Promise<string[]> => {
    const { items } = await users.list({ apiVersion, kind }, { namespace: "crossplane-system" });
    return items.map(({ metadata }) => metadata.name ?? "");
  };
  const elsewhere = new Started(cluster, "--package-runtime", "Function=External");
  await elsewhere.said("all controllers run");
  await users.create(fn);
  const revisions = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" };
  await until("it waits for the external runtime", async () => {
    const { items } = await users.list(revisions);
    return JSON.stringify(items[0]?.["status"]).includes("waiting for package runtime controller");
  });
  assert.deepEqual(await namesOf("Service"), []);
  assert.equal(await elsewhere.stop(), 0);
  await using _started = new Started(cluster, "--enable-function-revision-selectors");
  await until("a Deployment is there", async () => (await namesOf("Deployment", "apps/v1")).length === 1);
  const [revision = ""] = await namesOf("Deployment", "apps/v1");
  assert.match(revision, /^fn-[0-9a-f]{12}$/);
  await until("it has a Service of its own", async () => (await namesOf("Service")).includes(revision));
  await until("and a certificate", async () => (await namesOf("Secret")).includes(`${revision}-tls-server`));
});

/** Builds and pushes a package of which nothing runs here. */
async function pushFunction(directory: string, reference: string): Promise<void> {
  const store = await openContentStore(directory);
  const image = await buildImage(store, {
    platform: { os: "linux", architecture: "amd64" },
    process: { entrypoint: ["/fn"], cmd: [], env: [], workingDir: "/", user: "2000" },
    base: [],
    layers: [],
    packageYaml: "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: fn}\n",
  });
  await pushPackage(createRegistryClient(), store, { images: [image], to: parseReference(reference) });
}

test("it waits while another process is the leader, logs that, and takes over when the Lease is free", async () => {
  await using cluster = await startCluster();
  const { users } = cluster;
  await users.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "crossplane-system" } });
  const spec = {
    holderIdentity: "crossplane-0",
    leaseDurationSeconds: 60,
    acquireTime: "2030-01-01T00:00:00.000000Z",
    renewTime: "2030-01-01T00:00:00.000000Z",
    leaseTransitions: 1,
  };
  await users.create({ ...leaseType, metadata: lease, spec });
  await using started = new Started(cluster);
  const waiting = await started.said("waiting for the leader's Lease");
  assert.equal(waiting["holder"], "crossplane-0");
  const { health } = await started.said("serving");
  assert.equal((await fetch(`http://${health}/readyz`)).status, 200, "a replica that waits is ready");
  const { items } = await users.list({ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" });
  assert.deepEqual(items, [], "a replica that does not lead changes nothing");
  const held = await users.get(leaseType, lease);
  await users.update({ ...held, spec: { ...leaseSpecOf(held), holderIdentity: "", leaseDurationSeconds: 1 } });
  await started.said("all controllers run");
});

test("it refuses to start beside a live Crossplane, and changes nothing", async () => {
  await using cluster = await startCluster();
  const { users } = cluster;
  await users.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "upbound" } });
  const labels = { app: "crossplane" };
  const created = await users.create({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "crossplane", namespace: "upbound", labels },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "main:1" }] } },
    },
  });
  await users.update({ ...created, status: { replicas: 1, readyReplicas: 1 } }, { subresource: "status" });
  const { exitCode, stderr } = await runInProcess([
    ...["start", "--kubeconfig", cluster.kubeconfig, "--allow-development-functions", "--namespace", "upbound"],
  ]);
  assert.equal(exitCode, 3);
  assert.match(stderr, /^error: Deployment "crossplane" in namespace "upbound" runs Crossplane/);
  assert.match(stderr, /kubectl --namespace upbound scale deployment crossplane --replicas=0/);
  await assert.rejects(users.get(leaseType, { ...lease, namespace: "upbound" }));
});

test("a configuration error is one line", async () => {
  await using cluster = await startCluster();
  const reach = ["--kubeconfig", cluster.kubeconfig];
  const rows: readonly { args: readonly string[]; exitCode: number; message: RegExp }[] = [
    {
      args: [],
      exitCode: 2,
      message: /no API server configured: use --kubeconfig FILE/,
    },
    {
      args: ["--allow-development-functions", "--kubeconfig", "missing"],
      exitCode: 2,
      message: /cannot read --kubeconfig missing: no such file: check the path/,
    },
    {
      args: [...reach, "--tls-client-certs-dir", "none"],
      exitCode: 1,
      message: /--tls-client-certs-dir none: .*ca\.crt/,
    },
    {
      args: [...reach, "--package-runtime", "Docker"],
      exitCode: 2,
      message: /--package-runtime: expected Deployment, External, .*; not "Docker"/,
    },
    {
      args: [...reach, "--xpkg-cache-dir", "kubeconfig/cache"],
      exitCode: 1,
      message:
        /cannot store packages in .*kubeconfig.cache: the path or a part of it is a file, not a folder: choose another folder; see --xpkg-cache-dir/,
    },
    {
      args: [...reach, "--allow-development-functions", "--poll-interval", "x"],
      exitCode: 2,
      message: /--poll-interval: expected a duration/,
    },
    {
      args: [...reach, "--allow-development-functions", "--metrics-address", "nowhere"],
      exitCode: 1,
      message: /expected an address such as :8080 or 127\.0\.0\.1:8080, not "nowhere"/,
    },
    {
      args: [...reach, "--allow-development-functions", "--context", "other"],
      exitCode: 1,
      message: /no context "other"/,
    },
  ];
  for (const { args, exitCode, message } of rows) {
    const outcome = await runInProcess(["start", ...args], { cwd: cluster.folder });
    const error = outcome.stderr.split("\n").find((line) => line.startsWith("error:")) ?? outcome.stderr;
    assert.match(error, message);
    assert.equal(outcome.exitCode, exitCode, error);
  }
});
