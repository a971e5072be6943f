// SPDX-License-Identifier: Apache-2.0
// Backends of APIServices that are hostile or broken: nothing that they do holds or ends the server.
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { after, before, test } from "node:test";
import { createCrossplaneAuthority, issueAsCrossplane } from "@purlin/certificates/testing";
import { startTestServer, type TestServer } from "@purlin/kube-builtin/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { answerValue, textOf } from "../../test/test-server.ts";

const services = "/apis/apiregistration.k8s.io/v1/apiservices";
const group = "odd.example.com";
const objects = `/apis/${group}/v1/things`;
const stack = new AsyncDisposableStack();
let server: TestServer;
/** How the backend responds to everything but the availability check. */
let respond: (request: IncomingMessage, response: ServerResponse) => void = (_, response) => void response.end("{}");

before(async () => {
  // A form of certificates that OpenSSL does not accept and Go does; the conformance suite has usual ones.
  const authority = createCrossplaneAuthority();
  const pair = issueAsCrossplane(authority, { dnsNames: ["odd.default.svc"], usages: ["server"] });
  const sockets = new Set<Socket>();
  const backend = createServer({ cert: pair.certPem, key: pair.keyPem }, (request, response) => {
    response.on("error", () => {});
    const isCheck = request.url === `/apis/${group}/v1` && request.headers["accept"] === undefined;
    if (isCheck) response.end("{}");
    else respond(request, response);
  });
  backend.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
  });
  backend.listen(0, "127.0.0.1");
  await once(backend, "listening");
  const { port } = backend.address() as AddressInfo;
  const webhookTargets = new Map([["default/odd:443", { host: "127.0.0.1", port }]]);
  server = stack.use(await startTestServer({ webhookTargets }));
  stack.defer(() => {
    for (const socket of sockets) socket.destroy();
    backend.close();
  });
  const service = { metadata: { name: "odd" }, spec: { type: "ExternalName", externalName: "unused" } };
  await server.post("/api/v1/namespaces/default/services", { apiVersion: "v1", kind: "Service", ...service });
  await server.post(services, {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: `v1.${group}` },
    spec: {
      ...{ group, version: "v1", groupPriorityMinimum: 1000, versionPriority: 15 },
      service: { name: "odd", namespace: "default" },
      caBundle: Buffer.from(authority.certPem).toString("base64"),
    },
  });
  await server.until(`${services}/v1.${group}`, (response) => JSON.stringify(answerValue(response)).includes("Passed"));
});
after(() => stack.disposeAsync());

async function ask(path: string = objects, query = ""): Promise<readonly [number, string]> {
  const response = await server.send(query === "" ? path : `${path}?${query}`);
  return [response.code, response.kind === "complete" ? textOf(response) : "a stream"];
}

const mebibyte = Buffer.alloc(1024 * 1024, " ");

const oddities: Readonly<
  Record<string, { readonly by: typeof respond; readonly want: RegExp; readonly query?: string }>
> = {
  "never responds": { by: () => {}, query: "timeout=300ms", want: /^50[34] / },
  "sends headers and never a body": {
    by: (_, response) => response.flushHeaders(),
    query: "timeout=300ms",
    want: /^50[34] /,
  },
  "sends a byte now and then": {
    by: (_, response) => {
      const timer = setInterval(() => response.write("x"), 50);
      response.on("close", () => clearInterval(timer));
    },
    query: "timeout=300ms",
    want: /^50[34] /,
  },
  "closes the connection": { by: ({ socket }) => socket.destroy(), want: /^503 error trying to reach service: EOF\n/ },
  "does not speak HTTP": { by: ({ socket }) => void socket.end("SMTP ready\r\n"), want: /^503 error trying to reach/ },
  "sends a very long header": {
    by: (_, response) => response.setHeader("x", "y".repeat(200_000)).end(),
    want: /^503 error trying to reach service: /,
  },
  "sends a status that does not exist": {
    by: ({ socket }) => void socket.end("HTTP/1.1 999 No\r\n\r\n"),
    want: /^503 /,
  },
  "switches protocols": {
    by: ({ socket }) => void socket.end("HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),
    want: /^503 error trying to reach service: /,
  },
  redirects: {
    by: (_, response) => response.writeHead(302, { location: "/x" }).end(),
    want: /^502 the backend attempted/,
  },
  "never ends": {
    by: (_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(mebibyte));
      };
      response.on("drain", more);
      more();
    },
    want: /^503 error trying to reach service: the response has more than 8388608 bytes/,
  },
};

for (const [what, { by, want, query }] of Object.entries(oddities)) {
  test(`a backend that ${what} gives an error, and the server continues`, async () => {
    respond = by;
    assert.match((await ask(objects, query)).join(" "), want);
    assert.equal((await server.send("/api/v1/namespaces/default")).code, 200);
  });
}

test("a request to upgrade the connection that did not come over one is refused with the reason", async () => {
  let isAsked = false;
  respond = (_, response) => {
    isAsked = true;
    response.end("{}");
  };
  const headers = { connection: "keep-alive, Upgrade", upgrade: "SPDY/3.1" };
  const response = await server.send(objects, { headers });
  const { message } = answerValue(response) as { readonly message?: string };
  const text = "cannot upgrade the connection to SPDY/3.1: the request did not come over HTTP/1.1";
  assert.deepEqual([response.code, message, isAsked], [400, text, false]);
  assert.equal((await server.send(objects, { headers: { connection: "keep-alive" } })).code, 200);
});

const wrongDocuments = [
  "[]",
  '{"paths":7,"items":[1],"resources":[null,{"name":3}]}',
  '{"paths":{"/apis/odd.example.com/v1/":{"get":7}},"definitions":{"a":{"type":{}},"b":1}}',
  "{",
  "null",
  "[".repeat(100_000),
];

test("documents of a wrong form are left out of discovery and OpenAPI", async () => {
  for (const [index, text] of wrongDocuments.entries()) {
    const requested = new Set<string>();
    respond = (request, response) => {
      requested.add(request.url ?? "");
      response.setHeader("content-type", "application/json").end(text);
    };
    await server.patch(`${services}/v1.${group}`, { spec: { versionPriority: index + 1 } });
    await server.until("/apis", () => requested.size === 4);
    const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    const discovery = await server.send("/apis", { headers: { accept: aggregated } });
    assert.ok(JSON.stringify(answerValue(discovery)).includes(`{"name":"${group}"}`));
    const swagger = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    for (const accept of ["application/json", swagger]) {
      const response = await server.send("/openapi/v2", { headers: { accept } });
      assert.equal(response.code, 200);
      assert.ok(response.kind === "complete" && (response.payload?.chunks() ?? []).length > 0);
    }
    for (const document of ["/openapi/v3", "/apis"]) assert.equal((await server.send(document)).code, 200, document);
  }
});

const manyValues = `[${"0,".repeat(250_000)}0]`;

test("a response of too many values is refused to clients in this process", async () => {
  respond = (_, response) => void response.setHeader("content-type", "application/json").end(manyValues);
  assert.equal(
    (await ask()).join(" "),
    "503 error trying to reach service: the response has more than 250000 values\n",
  );
});

test("an event of too many values ends the watch of a client in this process", async () => {
  respond = (_, response) => void response.end(`${manyValues}\n`);
  const response = await server.send(`${objects}?watch=true`);
  assert.ok(response.kind === "stream");
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const stream = response.open(() => {
    try {
      const events = stream.take();
      for (const event of events ?? []) event.value();
      if (events === undefined) resolve("it ended without an error");
    } catch (error) {
      resolve(error);
    }
  });
  assert.match(String(await promise), /an event of the backend has too many values/);
  stream.close();
});

test("a resource that a backend lists several times is listed once, with its subresources", async () => {
  const rows = [{ name: "a", kind: "A" }, { name: "a", kind: "Z" }, { name: "a/status", kind: "A" }, { name: "b" }];
  respond = (_, response) => {
    response.setHeader("content-type", "application/json").end(JSON.stringify({ resources: rows }));
  };
  await server.patch(`${services}/v1.${group}`, { spec: { versionPriority: 77 } });
  const resources = async (): Promise<JsonObject[]> => {
    const headers = { accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" };
    const list = answerValue(await server.send("/apis", { headers })) as { readonly items: readonly JsonObject[] };
    const found = list.items.find(({ metadata }) => (metadata as JsonObject)["name"] === group);
    const [version] = (found?.["versions"] ?? []) as readonly JsonObject[];
    return (version?.["resources"] ?? []) as JsonObject[];
  };
  while ((await resources()).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  const shown = (await resources()).map(({ resource, responseKind, subresources = [] }) => [
    resource,
    (responseKind as JsonObject)["kind"],
    (subresources as readonly JsonObject[]).map(({ subresource }) => subresource),
  ]);
  assert.deepEqual(shown, [
    ["a", "A", ["status"]],
    ["b", "", []],
  ]);
});

test("a path with dots does not reach a backend", async () => {
  let reached = 0;
  respond = (_, response) => {
    reached += 1;
    response.end("{}");
  };
  for (const path of [`${objects}/..`, `${objects}/../x`, `${objects}/%2e%2E/x`, `/apis/${group}/v1//things`]) {
    assert.equal((await server.send(path)).code, 404, path);
  }
  assert.equal(reached, 0);
});

test("a client in this process reads objects and watches them", async () => {
  const body: JsonObject = { kind: "Thing", metadata: { name: "a" } };
  respond = (request, response) => {
    response.setHeader("content-type", "application/json");
    if (request.url?.includes("watch=true")) response.end('{"type":"ADDED"}\n{"type":"MODIFIED"}\n');
    else response.end(JSON.stringify(body));
  };
  assert.deepEqual(answerValue(await server.send(`${objects}/a`)), body);
  const response = await server.send(`${objects}?watch=true`);
  assert.equal(response.kind, "stream");
  if (response.kind !== "stream") return;
  const events: unknown[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const read = (): void => {
    const taken = stream.take();
    events.push(...(taken ?? []).map((event) => event.value()));
    if (taken === undefined) resolve();
    else if (taken.length > 0) read();
  };
  const stream = response.open(() => read());
  read();
  await promise;
  assert.deepEqual(events, [{ type: "ADDED" }, { type: "MODIFIED" }]);
});
