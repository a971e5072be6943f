// SPDX-License-Identifier: Apache-2.0
// `purlin diff` calls functions that only the cluster can reach through kube-apiserver, which forwards to the kubelet of the Pod. The suite
// plays that kubelet, and the function has certificates as Crossplane makes them.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { after, before, test } from "node:test";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import { createCrossplaneAuthority, issueAsCrossplane } from "@purlin/certificates/testing";
import { startControlPlane } from "@purlin/control-plane";
import {
  nopLogger,
  type RunFunctionRequest,
  type RunFunctionResponse,
  request,
  response,
  start,
} from "@purlin/function-sdk";
import { accessFromKubeconfig, createHttpsTransport, createKubeClient, type Kubeconfig } from "@purlin/kube-client";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { load } from "js-yaml";
import { type Outcome, runInProcess } from "../../packages/cli/test/test-io.ts";
import { startRealCluster } from "../../tools/peers/real-cluster.ts";
import { eventually, type UserView, userView } from "../e2e/harness/plane.ts";
import { compositionOf, definitionOf, namespaceOf } from "../e2e/harness/sample-kinds.ts";

const namespace = "crossplane-system";
const app = { apiVersion: "forward.example.org/v1", kind: "App" };
const podType = { apiVersion: "v1", kind: "Pod" };
const revisionType = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" };
const functionPort = 9443;

/** The path and the port that the kubelet was asked for, as kube-apiserver wrote them. */
const forwarded: string[] = [];
const stack = new AsyncDisposableStack();
let view: UserView;
let purlin: (...args: readonly string[]) => Promise<Outcome>;

function compose(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req);
  const { resource: xr } = request.getObservedCompositeResource(req);
  // Larger than a frame, both ways.
  const data = { text: xr.getString("spec.text"), padding: "x".repeat(200_000) };
  response.setDesiredComposedResource(rsp, "map", { apiVersion: "v1", kind: "ConfigMap", data }, { ready: true });
  return rsp;
}

before(async () => {
  const folder = mkdtempSync(join(tmpdir(), "port-forward-"));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const authority = createCrossplaneAuthority();
  const pems = (pair: { readonly certPem: string; readonly keyPem: string }) => ({
    "ca.crt": authority.certPem,
    "tls.crt": pair.certPem,
    "tls.key": pair.keyPem,
  });
  const dnsNames = [`compose.${namespace}`, `compose.${namespace}.svc`, `named.${namespace}`];
  const certificate = pems(issueAsCrossplane(authority, { dnsNames, usages: ["server"] }));
  for (const [file, text] of Object.entries(certificate)) writeFileSync(join(folder, file), text);
  const options = { address: "127.0.0.1:0", tlsCertsDir: folder, metricsAddress: "", log: nopLogger };
  const fn = stack.use(await start(compose, options));
  const kubelet = await startKubelet(fn.port);
  stack.defer(() => void kubelet.close());

  const cluster = await startRealCluster({
    controllers: ["namespace-controller", "serviceaccount-controller", "garbage-collector-controller"],
    apiserverFlags: ["--kubelet-preferred-address-types=InternalIP"],
  });
  stack.defer(() => cluster.stop());
  const file = cluster.kubeconfig;
  const access = await accessFromKubeconfig(JSON.parse(readFileSync(file, "utf8")) as Kubeconfig, { file, env: {} });
  const client = createKubeClient(createHttpsTransport(access, { userAgent: "crossplane" }));
  stack.defer(() => client.close());
  stack.use(startControlPlane({ client, functions: { security: "plaintext" } }));
  view = userView(client);
  await view.apply(
    namespaceOf(namespace),
    { apiVersion: "v1", kind: "Node", metadata: { name: "node" } },
    secretOf(pems(issueAsCrossplane(authority, { dnsNames: ["crossplane"], usages: ["client"] }))),
    definitionOf({
      group: "forward.example.org",
      kind: "App",
      scope: "Namespaced",
      spec: { text: { type: "string" } },
    }),
    compositionOf("app", app, "compose"),
  );
  const node = await view.get({ apiVersion: "v1", kind: "Node" }, { name: "node" });
  const { port } = kubelet.address() as AddressInfo;
  const status = {
    addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
  };
  await client.update({ ...node, status }, { subresource: "status" });
  await podOf("compose-1", { "pkg.crossplane.io/revision": "compose-1" });
  await revisionAt("compose", `dns:///compose.${namespace}:${functionPort}`);
  await eventually("the Composition has a revision", async () => {
    const { items } = await client.list({ apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositionRevision" });
    return items.length > 0;
  });
  await eventually("Apps are served", () => client.list(app));
  const env = { PATH: process.env["PATH"], HOME: folder, KUBECONFIG: file };
  purlin = (...args) => runInProcess(args, { cwd: folder, env });
  writeFileSync(
    join(folder, "app.yaml"),
    JSON.stringify({ ...app, metadata: { name: "shop", namespace: "default" }, spec: { text: "hello" } }),
  );
});
after(() => stack.disposeAsync());

const secretOf = (pems: Readonly<Record<string, string>>): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "crossplane-tls-client", namespace },
  data: Object.fromEntries(Object.entries(pems).map(([key, text]) => [key, Buffer.from(text).toString("base64")])),
});

/** A ready Pod on the suite's node. */
async function podOf(name: string, labels: Readonly<Record<string, string>>): Promise<void> {
  const ports = [{ name: "grpc", containerPort: functionPort }];
  const containers = [{ name: "package-runtime", image: "registry.example.org/compose:v1", ports }];
  await view.apply({
    ...podType,
    metadata: { name, namespace, labels },
    spec: { nodeName: "node", containers, automountServiceAccountToken: false },
  } as KubeObject);
  const made = await view.get(podType, { name, namespace });
  const conditions = [{ type: "Ready", status: "True" }];
  await view.users.update({ ...made, status: { phase: "Running", conditions } } as KubeObject, {
    subresource: "status",
  });
}

/** Makes a Function whose one revision is called at an endpoint. */
async function revisionAt(name: string, endpoint: string): Promise<void> {
  const image = `127.0.0.1:1/acme/${name}:v1`;
  await view.apply(
    {
      apiVersion: "pkg.crossplane.io/v1",
      kind: "Function",
      metadata: { name },
      spec: { package: image },
    } as KubeObject,
    {
      ...revisionType,
      metadata: { name: `${name}-1`, labels: { "pkg.crossplane.io/package": name } },
      spec: { desiredState: "Active", image, revision: 1 },
    } as KubeObject,
  );
  const made = await view.get(revisionType, { name: `${name}-1` });
  const status = { endpoint, capabilities: ["composition"] };
  await view.users.update({ ...made, status } as KubeObject, { subresource: "status" });
}

/** Serves `/portForward/NAMESPACE/POD?port=PORT` as kubelets do, for every Pod with the one function. */
async function startKubelet(port: number): Promise<Server> {
  const authority = createAuthority({ commonName: "kubelet" });
  const { certPem: cert, keyPem: key } = issueCertificate(authority, {
    commonName: "node",
    ipAddresses: ["127.0.0.1"],
    usages: ["server"],
  });
  const server = createServer({ cert, key });
  server.on("upgrade", ({ url = "", headers }, socket: Duplex) => {
    forwarded.push(url);
    const accept = createHash("sha1")
      .update(`${headers["sec-websocket-key"] ?? ""}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest("base64");
    const protocol = String(headers["sec-websocket-protocol"]);
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`,
    );
    const wanted = Number(new URL(url, "https://node").searchParams.get("port"));
    for (const channel of [0, 1]) socket.write(frame(channel, Buffer.of(wanted & 0xff, wanted >> 8)));
    // Nothing listens on other ports of the Pod.
    const pod = connect(wanted === functionPort ? port : 1, "127.0.0.1");
    pod.on("data", (data: Buffer) => socket.write(frame(0, data)));
    pod.on("error", ({ message }) =>
      socket.end(frame(1, Buffer.from(`an error occurred forwarding ${wanted}: ${message}`))),
    );
    pod.on("close", () => socket.end(Buffer.of(0x88, 0)));
    socket.on("error", () => pod.destroy()).on("close", () => pod.destroy());
    onData(socket, (data) => void pod.write(data));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

function frame(channel: number, data: Buffer): Buffer {
  const length = data.length + 1;
  const size = Buffer.alloc(8);
  size.writeBigUInt64BE(BigInt(length));
  const header = length < 126 ? [length] : length < 65_536 ? [126, length >> 8, length & 0xff] : [127, ...size];
  return Buffer.concat([Buffer.of(0x82, ...header, channel), data]);
}

/** Calls back with the data in the frames of a client. */
function onData(socket: Duplex, callback: (data: Buffer) => void): void {
  let bytes = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    while (bytes.length >= 6) {
      const code = bytes.readUInt8(1) & 0x7f;
      const start = code === 126 ? 8 : 6;
      const end = start + (code === 126 ? bytes.readUInt16BE(2) : code);
      if (bytes.length < end) return;
      const mask = bytes.subarray(start - 4, start);
      const payload = Buffer.from(bytes.subarray(start, end).map((byte, at) => byte ^ (mask[at % 4] ?? 0)));
      if (bytes.readUInt8(0) === 0x82 && payload[0] === 0) callback(payload.subarray(1));
      if (bytes.readUInt8(0) === 0x88) socket.end();
      bytes = bytes.subarray(end);
    }
  });
}

interface Report {
  readonly functions: readonly { readonly name: string; readonly route: string }[];
  readonly summary: JsonObject;
  readonly xrs: readonly { readonly errors?: readonly { readonly message?: string }[] }[];
}

async function diff(...args: readonly string[]): Promise<Report> {
  const { stdout, stderr } = await purlin("diff", "app.yaml", "-o", "json", ...args);
  assert.ok(stdout.startsWith("{"), stderr);
  return JSON.parse(stdout) as Report;
}

const routes = ({ functions }: Report): Readonly<Record<string, string>> =>
  Object.fromEntries(functions.map(({ name, route }) => [name, route]));

test("a function that only the cluster can reach is called in its Pod", async () => {
  forwarded.length = 0;
  const report = await diff();
  assert.deepEqual(routes(report), { compose: "port-forward" }, JSON.stringify(report));
  assert.match(JSON.stringify(report), /"text":"hello"/);
  assert.deepEqual([...new Set(forwarded)], [`/portForward/${namespace}/compose-1?port=${functionPort}`]);
  assert.deepEqual(routes(await diff("--functions", "live")), { compose: "port-forward" });
});

test("--print-rbac has the rights for it, and without them the error says which is missing", async () => {
  const { stdout } = await purlin("diff", "app.yaml", "--print-rbac");
  const role = load(stdout) as KubeObject & { readonly rules: readonly JsonObject[] };
  const ruleOf = (resource: string): JsonObject | undefined =>
    role.rules.find(({ resources }) => JSON.stringify(resources).includes(`"${resource}"`));
  assert.deepEqual(ruleOf("pods/portforward")?.["verbs"], ["create", "get"], stdout);
  assert.deepEqual(ruleOf("pods")?.["verbs"], ["list"]);
  const secrets = role.rules.filter(({ resources }) => JSON.stringify(resources) === '["secrets"]');
  assert.deepEqual(
    secrets.map(({ resourceNames, verbs }) => ({ resourceNames, verbs })),
    [{ resourceNames: ["crossplane-tls-client"], verbs: ["get"] }],
  );
  const binding = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "jane" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role.metadata.name },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "jane" }],
  };
  await view.apply(role, binding as KubeObject);
  await eventually("jane has the rights", async () => routes(await diff("--as", "jane"))["compose"] === "port-forward");
  for (const [kept, missing] of [
    ["get", "create"],
    ["create", "get"],
  ] as const) {
    const forward = ruleOf("pods/portforward");
    const rules = role.rules.map((rule) => (rule === forward ? { ...rule, verbs: [kept] } : rule));
    await view.apply({ ...role, rules } as KubeObject);
    // kube-apiserver gives no reason when `create` is missing.
    const refusal =
      /through a port-forward \(pods .{2}compose-1.{2} is forbidden[^()]*: grant get and create of pods\/portforward\)/;
    await eventually(`jane may not ${missing}`, async () => refusal.test(JSON.stringify(await diff("--as", "jane"))));
  }
});

test("a Pod without the label is found by the Service, and its port by name", async () => {
  await podOf("named", { app: "named" });
  await view.apply(
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "named", namespace },
      spec: { selector: { app: "named" }, ports: [{ port: 443, targetPort: "grpc" }] },
    } as KubeObject,
    compositionOf("app", app, "named"),
  );
  await revisionAt("named", `dns:///named.${namespace}:443`);
  forwarded.length = 0;
  await eventually("the new step is previewed", async () => routes(await diff())["named"] === "port-forward");
  assert.ok(forwarded.includes(`/portForward/${namespace}/named?port=${functionPort}`));
});

test("what the kubelet reports is in the error", async () => {
  await podOf("closed", { "pkg.crossplane.io/revision": "closed-1" });
  await view.apply(compositionOf("app", app, "closed"));
  await revisionAt("closed", `dns:///closed.${namespace}:9999`);
  const report = await eventually("the new step is previewed", async () => {
    const found = await diff();
    return JSON.stringify(found).includes("closed") && found;
  });
  assert.match(
    JSON.stringify(report),
    /through a port-forward \(an error occurred forwarding 9999: connect ECONNREFUSED[^)]*\), and its package cannot run here/,
  );
});
