// SPDX-License-Identifier: Apache-2.0
// An API of another server behind both servers: registration, availability, forwarding, discovery and OpenAPI.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { connect } from "node:tls";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import { startApiServer } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import { startRealCluster } from "../../tools/peers/real-cluster.ts";
import { type AggregatedServer, group, groupVersion, startAggregatedServer } from "./harness/aggregated-server.ts";
import { readOptions } from "./harness/options.ts";

const { only } = readOptions(process.argv.slice(2), process.env);
const title = "both servers aggregate the API of another server";

interface Target {
  readonly url: string;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

interface Answer {
  readonly code: number | undefined;
  readonly type: string | undefined;
  readonly own: string | undefined;
  readonly text: string;
  readonly isComplete: boolean;
}

type Body = Readonly<Record<string, unknown>>;

async function open(
  target: Target,
  line: string,
  more: { body?: Body; headers?: Body } = {},
): Promise<IncomingMessage> {
  const [method = "", path = ""] = line.split(" ");
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const headers = { ...(more.body && { "content-type": type }), ...more.headers } as Record<string, string>;
  const { ca, cert, key } = target;
  const sent = request(`${target.url}${path}`, { method, ca, cert, key, agent: false, headers }, resolve);
  sent.on("error", reject);
  sent.end(more.body && JSON.stringify(more.body));
  return promise;
}

async function send(target: Target, line: string, more: { body?: Body; headers?: Body } = {}): Promise<Answer> {
  const response = await open(target, line, more);
  const chunks: Buffer[] = [];
  const done = Promise.withResolvers<boolean>();
  response.on("data", (chunk: Buffer) => chunks.push(chunk));
  response.on("end", () => done.resolve(true));
  response.on("error", () => done.resolve(false));
  const isComplete = await done.promise;
  const { "content-type": type, "x-own": own } = response.headers;
  return { code: response.statusCode, type, own: own as string, text: Buffer.concat(chunks).toString(), isComplete };
}

const services = "/apis/apiregistration.k8s.io/v1/apiservices";
const name = `v1.${group}`;
const objects = `/apis/${groupVersion}/namespaces/default/flunders`;
const aggregatedForm = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const tableForm = "application/json;as=Table;v=v1;g=meta.k8s.io";

function apiService(spec: Body, own = name): Body {
  return { apiVersion: "apiregistration.k8s.io/v1", kind: "APIService", metadata: { name: own }, spec };
}

/** The same conversation with either server; what is not the same by chance is masked. */
async function converse(target: Target, backend: AggregatedServer): Promise<Record<string, unknown>> {
  const said: Record<string, unknown> = {};
  // Signatures of certificates differ in length by a few bytes.
  const mask = (text: string): string =>
    text.replaceAll(String(backend.port), "PORT").replaceAll(/\b\d+ bytes/g, "N bytes");
  const ask = async (step: string, line: string, more: { body?: Body; headers?: Body } = {}): Promise<void> => {
    const { text, ...answer } = await send(target, line, more);
    said[step] = { ...answer, text: mask(text) };
  };
  const refused = async (step: string, body: Body): Promise<void> => {
    const { code, text } = await send(target, `POST ${services}`, { body });
    said[step] = [code, mask(text)];
  };
  const condition = async (): Promise<Body> => {
    const { text } = await send(target, `GET ${services}/${name}`);
    const { status } = JSON.parse(text) as { status?: { conditions?: Body[] } };
    return status?.conditions?.[0] ?? {};
  };
  const until = async (step: string, reason: string): Promise<void> => {
    const deadline = Date.now() + 60_000;
    let found = await condition();
    while (found["reason"] !== reason && Date.now() < deadline) {
      await delay(50);
      found = await condition();
    }
    said[step] = [found["type"], found["status"], found["reason"], mask(String(found["message"]))];
  };
  const spec = {
    ...{ group, version: "v1", groupPriorityMinimum: 1000, versionPriority: 15 },
    service: { name: "agg", namespace: "default", port: backend.port },
    caBundle: backend.caBundle,
  };
  const { caBundle: _, service: __, ...local } = spec;
  await refused("nothing", apiService({}));
  await refused("another name", apiService(spec, "other"));
  await refused("priorities too low", apiService({ ...spec, groupPriorityMinimum: 0, versionPriority: -1 }));
  await refused("priorities too high", apiService({ ...spec, groupPriorityMinimum: 20_001, versionPriority: 1001 }));
  await refused("an authority without a service", apiService({ ...local, caBundle: spec.caBundle }));
  await refused("no verification without a service", apiService({ ...local, insecureSkipTLSVerify: true }));
  await refused("an authority and no verification", apiService({ ...spec, insecureSkipTLSVerify: true }));
  await refused("an empty service", apiService({ ...spec, service: {} }));
  await refused("a port out of range", apiService({ ...spec, service: { ...spec.service, port: 70_000 } }));
  await refused("names of a wrong form", apiService({ ...spec, group: "Wardle_", version: "V1" }, "V1.Wardle_"));

  const service = async (body: Body): Promise<void> => {
    const path = "/api/v1/namespaces/default/services";
    await send(target, `DELETE ${path}/agg`);
    await send(target, `POST ${path}`, {
      body: { apiVersion: "v1", kind: "Service", metadata: { name: "agg" }, ...body },
    });
  };
  await send(target, `POST ${services}`, { body: apiService(spec) });
  await until("without the service", "ServiceNotFound");
  await ask("an object while unavailable", `GET ${objects}/hello`);
  await ask("the version while unavailable", `GET /apis/${groupVersion}`);
  await ask("the group while unavailable", `GET /apis/${group}`);
  await service({ spec: { type: "ClusterIP", ports: [{ port: 443 }] } });
  await until("another port", "ServicePortError");
  await service({ spec: { type: "ClusterIP", ports: [{ port: backend.port }] } });
  await until("no endpoints", "EndpointsNotFound");
  backend.isHealthy = false;
  await service({ spec: { type: "ExternalName", externalName: "localhost" } });
  await until("a server that fails", "FailedDiscoveryCheck");
  backend.isHealthy = true;
  await send(target, `PATCH ${services}/${name}`, { body: { metadata: { labels: { a: "b" } } } });
  await until("a server that works", "Passed");
  const { text: table } = await send(target, `GET ${services}/${name}`, { headers: { accept: tableForm } });
  said["row"] = (JSON.parse(table) as { rows: { cells: unknown[] }[] }).rows[0]?.cells.slice(0, 3);

  backend.take();
  const forged = {
    ...{ "x-remote-user": "evil", "x-remote-group": "system:masters", "x-remote-extra-foo": "x" },
    ...{ "x-remote-uid": "1", "x-custom": "kept", connection: "close, x-hop", "x-hop": "1" },
    ...{ "x-forwarded-for": "9.9.9.9", authorization: "Bearer abc" },
  };
  await ask("an object", `GET ${objects}/hello?z=%20a&pretty=1`, { headers: forged });
  const jane = {
    ...{ "impersonate-user": "jane", "impersonate-group": "g1", "impersonate-uid": "u1" },
    "impersonate-extra-a%2fb": "v",
  };
  await ask("a user without rights", `POST ${objects}`, { body: { a: 1 }, headers: jane });
  const rbac = "rbac.authorization.k8s.io";
  const rules = [{ apiGroups: [group], resources: ["*"], verbs: ["*"] }];
  const role = { apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata: { name: "wardle" }, rules };
  await send(target, `POST /apis/${rbac}/v1/clusterroles`, { body: role });
  const binding = {
    ...{ apiVersion: `${rbac}/v1`, kind: "ClusterRoleBinding", metadata: { name: "wardle" } },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "wardle" },
    subjects: [{ apiGroup: rbac, kind: "User", name: "jane" }],
  };
  await send(target, `POST /apis/${rbac}/v1/clusterrolebindings`, { body: binding });
  while ((await send(target, `POST ${objects}`, { body: { a: 1 }, headers: jane })).code !== 200) await delay(50);
  said["received"] = backend
    .take()
    .slice(0, 2)
    .map((one) => ({ ...one, headers: one.headers.flatMap(maskedHeader(mask)) }));

  for (const last of ["missing", "gone", "partly", "redirected"]) await ask(last, `GET ${objects}/${last}`);
  const watch = await open(target, `GET ${objects}?watch=true`);
  const events = watch[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const first = await events.next();
  backend.release();
  const second = await events.next();
  said["watch"] = [watch.statusCode, String(first.value), String(second.value), (await events.next()).done];

  await ask("the version", `GET /apis/${groupVersion}`);
  await ask("the group", `GET /apis/${group}`);
  const { text: groups } = await send(target, "GET /apis");
  said["groups"] = (JSON.parse(groups) as { groups: { name: string }[] }).groups.map((one) => one.name);
  said["discovery"] = await eventually(async () => {
    const item = await discovered(target);
    return JSON.stringify(item).includes("Current") ? item : undefined;
  });
  said["v3 index"] = await eventually(async () => {
    const { text } = await send(target, "GET /openapi/v3");
    return (JSON.parse(text) as { paths: Body }).paths[`apis/${groupVersion}`];
  });
  await ask("v3 document", `GET /openapi/v3/apis/${groupVersion}`);
  said["v2"] = await eventually(async () => {
    const { text } = await send(target, "GET /openapi/v2");
    const { paths, definitions } = JSON.parse(text) as { paths: Body; definitions: Body };
    const own = paths[`/apis/${groupVersion}/`];
    return own && [own, definitions["com.example.wardle.Flunder"]];
  });

  backend.take();
  for (const how of ["echo", "last", "cut", "refused", "plain", "moved", "closed", "garbage", "silent?timeout=1s"]) {
    const text = await switched(target, `${objects}/hello/${how}`, how === "echo" ? forgedLines : []);
    // What the parser of the server expected instead.
    said[`upgrade, ${how}`] = how === "garbage" ? text.split("\n", 1) : text;
  }
  const denied = ["Impersonate-User: jack"];
  said["upgrade without rights"] = await switched(target, `${objects}/hello/echo`, denied);
  said["upgrades received"] = backend
    .take()
    .map((one) => ({ ...one, headers: one.headers.flatMap(maskedHeader(mask)) }));
  said["upgrade of a plain path"] = (await switched(target, "/version", [])).split("\n", 1);

  backend.isHealthy = false;
  await send(target, `PATCH ${services}/${name}`, { body: { metadata: { labels: { a: "c" } } } });
  await until("a server that fails again", "FailedDiscoveryCheck");
  said["stale discovery"] = await eventually(async () => {
    const item = await discovered(target);
    return JSON.stringify(item).includes("Stale") ? item : undefined;
  });
  await ask("an object after it failed", `GET ${objects}/hello`);
  backend.isHealthy = true;
  await send(target, `PATCH ${services}/${name}`, { body: { spec: { caBundle: null } } });
  said["an unknown authority"] = await eventually(async () => {
    const { message } = await condition();
    return String(message).includes("x509") ? mask(String(message)) : undefined;
  });
  await send(target, `PATCH ${services}/${name}`, { body: { spec: { insecureSkipTLSVerify: true } } });
  await until("without verification", "Passed");
  await ask("an object without verification", `GET ${objects}/hello`);
  const bundle = Buffer.from("no certificate").toString("base64");
  await send(target, `PATCH ${services}/${name}`, {
    body: { spec: { insecureSkipTLSVerify: null, caBundle: bundle } },
  });
  said["an authority that cannot be read"] = await eventually(async () => {
    const { code, text } = await send(target, `GET ${objects}/hello`);
    return code === 500 ? text : undefined;
  });
  await send(target, `DELETE ${services}/${name}`);
  said["after the deletion"] = await eventually(async () => {
    const { code, text } = await send(target, `GET ${objects}/hello`);
    return code === 404 ? text : undefined;
  });
  return said;
}

const forgedLines = [
  ...["X-Remote-User: evil", "X-Remote-Group: system:masters", "X-Remote-Extra-Foo: x", "X-Remote-Uid: 1"],
  ...["X-Custom: kept", "X-Forwarded-For: 9.9.9.9", "Sec-WebSocket-Protocol: v5"],
];

/**
 * All that a client receives that asks to switch protocols, sends a text after the response, and waits for the end. Headers are sorted;
 * those that concern one request or the connection of a refusal are left out.
 */
async function switched(target: Target, path: string, lines: readonly string[]): Promise<string> {
  const { hostname: host, port } = new URL(target.url);
  const { ca, cert, key } = target;
  const socket = connect({
    host,
    port: Number(port),
    ca,
    cert,
    key,
    servername: "localhost",
    ALPNProtocols: ["http/1.1"],
  });
  // Without an agent Go sends one of its own.
  const asked = [`GET ${path} HTTP/1.1`, "Host: api", "User-Agent: client", "Connection: Upgrade", "Upgrade: SPDY/3.1"];
  socket.write(`${[...asked, ...lines].join("\r\n")}\r\n\r\n`);
  let text = "";
  let isSent = false;
  socket.on("data", (bytes: Buffer) => {
    text += bytes.toString();
    if (!isSent && text.includes("early ")) socket.write("and late");
    isSent ||= text.includes("early ");
    if (text.endsWith("and late")) socket.end();
    // A connection that may be used again is not.
    if (isWhole(text)) socket.end();
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.on("error", () => {}).on("close", resolve);
  await promise;
  const [before = "", ...after] = text.split("\r\n\r\n");
  const [first = "", ...headers] = before.split("\r\n");
  const kept = headers.filter((header) => /^(?:upgrade|x-own|content-type|sec-)/i.test(header));
  const body = after.join("\r\n\r\n").replace(/^[0-9a-f]+\r\n([\s\S]*)\r\n0\r\n\r\n$/, "$1");
  return [first, ...kept.map((header) => header.toLowerCase()).sort(), "", body].join("\n");
}

/** Whether a response other than a switch of protocols is complete. */
function isWhole(text: string): boolean {
  const [head = "", ...rest] = text.split("\r\n\r\n");
  if (rest.length === 0 || head.startsWith("HTTP/1.1 101 ")) return false;
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(head) ?? [];
  return length === undefined ? text.endsWith("0\r\n\r\n") : rest.join("\r\n\r\n").length >= Number(length);
}

async function discovered(target: Target): Promise<unknown> {
  const { text } = await send(target, "GET /apis", { headers: { accept: aggregatedForm } });
  const { items } = JSON.parse(text) as { items: { metadata: { name: string } }[] };
  return items.find(({ metadata }) => metadata.name === group);
}

async function eventually<T>(ask: () => Promise<T | undefined>): Promise<T | undefined> {
  const deadline = Date.now() + 60_000;
  for (let found = await ask(); ; found = await ask()) {
    if (found !== undefined || Date.now() > deadline) return found;
    await delay(50);
  }
}

/** Go's client adds headers of its own; the identity of a certificate and the identifier of a request are not the same. */
const maskedHeader =
  (mask: (text: string) => string) =>
  (header: string): string[] => {
    const [key = ""] = header.split(": ");
    if (["accept-encoding", "connection", "audit-id"].includes(key)) return [];
    return key.includes("credential-id") ? [`${key}: MASKED`] : [mask(header)];
  };

async function compareServers(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "conformance-aggregated-"));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const authority = createAuthority({ commonName: "front-proxy-ca" });
  const client = issueCertificate(authority, { commonName: "front-proxy-client", usages: ["client"] });
  const write = (file: string, text: string): string => {
    writeFileSync(join(directory, file), text, { mode: 0o600 });
    return join(directory, file);
  };
  const cluster = await startRealCluster({
    apiserverFlags: [
      `--proxy-client-cert-file=${write("client.crt", client.certPem)}`,
      `--proxy-client-key-file=${write("client.key", client.keyPem)}`,
      `--requestheader-client-ca-file=${write("ca.crt", authority.certPem)}`,
      "--requestheader-allowed-names=front-proxy-client",
      "--requestheader-extra-headers-prefix=X-Remote-Extra-",
      "--requestheader-group-headers=X-Remote-Group",
      "--requestheader-username-headers=X-Remote-User",
    ],
  });
  stack.defer(() => cluster.stop());
  const server = await startApiServer({ kinds: builtinKinds, directory: join(directory, "embedded") });
  stack.defer(() => server.close());
  const { url } = await server.listen();
  const { authority: own, admin, frontProxy } = server.certificates;
  const [forOurs, forReference] = await Promise.all([
    startAggregatedServer("agg", [frontProxy.certPem]),
    startAggregatedServer("agg", [authority.certPem]),
  ]);
  stack.use(forOurs);
  stack.use(forReference);
  const [ours, reference] = await Promise.all([
    converse({ url, ca: own.certPem, cert: admin.certPem, key: admin.keyPem }, forOurs),
    converse(
      { url: cluster.server, ca: cluster.caPem, cert: cluster.admin.certPem, key: cluster.admin.keyPem },
      forReference,
    ),
  ]);
  assert.deepEqual(ours, reference);
}

if (only.length === 0 || only.some((part) => title.includes(part))) test(title, compareServers);
