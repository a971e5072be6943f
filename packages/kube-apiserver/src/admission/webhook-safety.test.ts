// SPDX-License-Identifier: Apache-2.0
// Webhooks and policies that misbehave: every request ends, nothing is half written, and the server starts.
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { createServer, type Server } from "node:https";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { after, before, test } from "node:test";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import { builtinKinds } from "@purlin/kube-builtin";
import type { JsonObject } from "@purlin/kube-objects/json";
import { objectsAt } from "@purlin/kube-objects/object";
import { Registry } from "prom-client";
import { tempDirectory } from "../../test/store/temp-store.ts";
import { answerValue, startTestServer, type TestServer, testRequest } from "../../test/test-server.ts";
import { AdmissionMetrics } from "../metrics/admission-metrics.ts";
import type { ResourceType } from "../registry/registry.ts";
import type { CompleteResponse } from "../request/api-request.ts";
import { startApiServer } from "../server/api-server.ts";
import { webhookOf } from "./admission-webhook.ts";
import { callValidating } from "./webhook-dispatch.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const registration = "/apis/admissionregistration.k8s.io/v1";
const validating = `${registration}/validatingwebhookconfigurations`;

const authority = createAuthority({ commonName: "webhooks" });
const pair = issueCertificate(authority, { commonName: "hook", ipAddresses: ["127.0.0.1"], usages: ["server"] });

let server: TestServer;
let hook: Server;
let onReview: (body: string, respond: (text: string) => void) => void = () => {};

before(async () => {
  server = await startTestServer({ kinds: builtinKinds });
  hook = createServer({ key: pair.keyPem, cert: pair.certPem }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => onReview(Buffer.concat(chunks).toString(), (text) => response.end(text)));
  });
  hook.listen(0, "127.0.0.1");
  await once(hook, "listening");
});
after(async () => {
  hook.closeAllConnections();
  hook.close();
  await server[Symbol.asyncDispose]();
});

function configuration(name: string, more: JsonObject = {}): JsonObject {
  const { port } = hook.address() as AddressInfo;
  return {
    metadata: { name },
    webhooks: [
      {
        name: `${name}.test.example.org`,
        clientConfig: {
          url: `https://127.0.0.1:${port}/`,
          caBundle: Buffer.from(authority.certPem).toString("base64"),
        },
        rules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*/*"] }],
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        timeoutSeconds: 1,
        ...more,
      },
    ],
  };
}

/** Runs something while a configuration is in effect. */
async function within(name: string, more: JsonObject, act: () => Promise<void>): Promise<void> {
  await server.post(validating, configuration(name, more));
  try {
    await act();
  } finally {
    await server.delete(`${validating}/${name}`);
  }
}

const send = async (method: string, url: string, body?: JsonObject): Promise<{ code: number; message: string }> => {
  const response = (await server.send(url, { method, ...(body && { body }) })) as CompleteResponse;
  const { message } = answerValue(response) as { readonly message?: string };
  return { code: response.code, message: message ?? "" };
};

const allowed = (body: string): string => {
  const { request } = JSON.parse(body) as { readonly request: { readonly uid: string } };
  const response = { uid: request.uid, allowed: true };
  return JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response });
};

test("a webhook that does not answer ends the request, and nothing is written", async () => {
  onReview = () => {};
  await within("hangs", {}, async () => {
    const { code, message } = await send("POST", maps, { metadata: { name: "hangs" } });
    assert.equal(code, 500);
    assert.match(
      message,
      /failed calling webhook "hangs\.test\.example\.org": .*\?timeout=1s": context deadline exceeded$/,
    );
    assert.equal((await send("GET", `${maps}/hangs`)).code, 404);
  });
});

test("a webhook that does not complete the TLS handshake ends the request in time, and nothing is written", async () => {
  const silent = createTcpServer((socket) => void socket.on("error", () => {})).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  const clientConfig = { url: `https://127.0.0.1:${port}/` };
  await within("silent", { clientConfig }, async () => {
    const { code, message } = await send("POST", maps, { metadata: { name: "silent" } });
    assert.equal(code, 500);
    assert.match(
      message,
      /failed calling webhook "silent\.test\.example\.org": .*\?timeout=1s": context deadline exceeded$/,
    );
    assert.equal((await send("GET", `${maps}/silent`)).code, 404);
  });
  silent.close();
});

test("a webhook that closes idle connections is called on a new one", async () => {
  onReview = (body, respond) => respond(allowed(body));
  let requests = 0;
  const cut = (request: IncomingMessage): void => {
    requests += 1;
    // The second request arrives on a connection that the webhook is about to close.
    if (requests === 2) request.socket.destroy();
  };
  hook.prependListener("request", cut);
  await within("idle", { timeoutSeconds: 30 }, async () => {
    for (const name of ["idle-1", "idle-2", "idle-3"]) {
      assert.equal((await send("POST", maps, { metadata: { name } })).code, 201);
    }
  });
  hook.removeListener("request", cut);
  assert.ok(requests >= 4, `${requests} requests for three writes`);
});

test("dry runs do not call a webhook with side effects, whatever its failure policy", async () => {
  // Such a configuration cannot be created in v1, but older ones are still stored.
  const attributes = { dryRun: true, operation: "CREATE" } as unknown as Parameters<typeof callValidating>[1];
  const [listed] = objectsAt(configuration("effects", { sideEffects: "Some", failurePolicy: "Ignore" }), ["webhooks"]);
  const stored = webhookOf(listed ?? {}, { configuration: "effects", namesakes: 0 });
  const registry = new Registry();
  const metrics = new AdmissionMetrics(registry);
  const deps = { conditionsHold: () => Promise.resolve(true), metrics } as unknown as Parameters<
    typeof callValidating
  >[2];
  const type = { group: "", resource: "configmaps", namespaced: true } as unknown as ResourceType;
  const selected = [{ hook: { ...stored, namespaceSelector: undefined, objectSelector: undefined }, type, index: 0 }];
  await assert.rejects(callValidating(selected, { ...attributes, type }, deps), {
    message: 'admission webhook "effects.test.example.org" does not support dry run',
  });
  const labels = 'error_type="apiserver_internal_error",name="effects.test.example.org",operation="CREATE"';
  const rejection = `{${labels},rejection_code="0",type="validating"} 1`;
  assert.ok((await registry.metrics()).includes(rejection));
});

test("a configuration that denies everything can be deleted", async () => {
  onReview = (_body, respond) => respond("{}");
  await within("itself", {}, async () => {
    assert.equal((await send("POST", maps, { metadata: { name: "itself" } })).code, 500);
  });
  assert.equal((await send("POST", maps, { metadata: { name: "itself" } })).code, 201);
});

test("a response without end is cut", async () => {
  onReview = (_body, respond) => respond(`"${"x".repeat(9 * 1024 * 1024)}"`);
  await within("endless", { timeoutSeconds: 30 }, async () => {
    const { code, message } = await send("POST", maps, { metadata: { name: "endless" } });
    assert.equal(code, 500);
    assert.match(message, /the response has more than 8388608 bytes$/);
  });
});

/** A review that answers with a patch of these operations. */
const patching = (body: string, operations: readonly JsonObject[]): string => {
  const review = JSON.parse(allowed(body)) as { readonly response: JsonObject };
  const patch = Buffer.from(JSON.stringify(operations)).toString("base64");
  return JSON.stringify({ ...review, response: { ...review.response, patchType: "JSONPatch", patch } });
};

test("a webhook cannot answer with more values or operations than a request may have", async () => {
  const mutating = `${registration}/mutatingwebhookconfigurations`;
  const add = (index: number): JsonObject => ({ op: "add", path: `/data/k${index}`, value: "v" });
  const many = (count: number): JsonObject[] => Array.from({ length: count }, (_, index) => add(index));
  const wide: JsonObject = { op: "add", path: "/data/a", value: Array.from({ length: 110_000 }, () => 1) };
  const refused: Record<string, readonly [answer: (body: string) => string, text: RegExp]> = {
    operations: [(body) => patching(body, many(10_001)), /undecodable patch .*: it has more than 10000 operations$/],
    values: [(body) => patching(body, [wide]), /undecodable patch .*: it has more than 100000 values$/],
    response: [() => `[${"0,".repeat(300_000)}0]`, /the response has more than 100000 values$/],
  };
  await server.post(mutating, configuration("patches", { timeoutSeconds: 30 }));
  try {
    for (const [name, [answer, text]] of Object.entries(refused)) {
      onReview = (body, respond) => respond(answer(body));
      const { code, message } = await send("POST", maps, { metadata: { name }, data: {} });
      assert.equal(code, 500, name);
      assert.match(message, text);
      assert.equal((await send("GET", `${maps}/${name}`)).code, 404);
    }
    onReview = (body, respond) => respond(patching(body, many(10_000)));
    assert.equal((await send("POST", maps, { metadata: { name: "patched" }, data: { a: "1" } })).code, 201);
    const response = (await server.send(`${maps}/patched`, { method: "GET" })) as CompleteResponse;
    const { data } = answerValue(response) as { readonly data: JsonObject };
    assert.equal(Object.keys(data).length, 10_001);
  } finally {
    onReview = (body, respond) => respond(allowed(body));
    await server.delete(`${mutating}/patches`);
  }
});

test("an object that changes while its webhook is asked keeps both changes", async () => {
  await server.post(maps, { metadata: { name: "race" }, data: { a: "1" } });
  let first = true;
  onReview = (body, respond) => {
    if (!first || !body.includes('"b":"2"')) return respond(allowed(body));
    first = false;
    server.patch(`${maps}/race`, { data: { c: "3" } }).then(
      () => respond(allowed(body)),
      (error: unknown) => respond(String(error)),
    );
  };
  await within("race", { timeoutSeconds: 30 }, async () => {
    const { data } = await server.patch(`${maps}/race`, { data: { b: "2" } });
    assert.deepEqual(data, { a: "1", b: "2", c: "3" });
  });
});

test("a webhook that changes the object under deletion does not keep it from being deleted", async () => {
  await server.post(maps, { metadata: { name: "used" } });
  onReview = (body, respond) => {
    if (!body.includes('"operation":"DELETE"')) return respond(allowed(body));
    server.patch(`${maps}/used`, { metadata: { annotations: { tried: "yes" } } }).then(
      () => respond(allowed(body)),
      (error: unknown) => respond(String(error)),
    );
  };
  await within("used", { timeoutSeconds: 30 }, async () => {
    assert.equal((await send("DELETE", `${maps}/used`)).code, 200);
    assert.equal((await send("GET", `${maps}/used`)).code, 404);
  });
});

test("a write under an expensive policy is refused when the budget is spent", async () => {
  const nested = "object.data.list.split(',')";
  const expression = `${nested}.all(a, ${nested}.all(b, ${nested}.all(c, ${nested}.all(d, a + b + c + d != 'x'))))`;
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] };
  await server.post(`${registration}/validatingadmissionpolicies`, {
    metadata: { name: "expensive" },
    spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression }] },
  });
  await server.post(`${registration}/validatingadmissionpolicybindings`, {
    metadata: { name: "expensive" },
    spec: { policyName: "expensive", validationActions: ["Deny"] },
  });
  const list = Array.from({ length: 200 }, (_, index) => `item-${index}`).join(",");
  const { code, message } = await send("POST", maps, { metadata: { name: "costly" }, data: { list } });
  assert.equal(code, 422);
  assert.match(message, /resulted in error: operation cancelled: actual cost limit exceeded$/);
  await server.delete(`${registration}/validatingadmissionpolicybindings/expensive`);
});

test("a server starts and can be repaired when a webhook that denies everything is not reachable", async () => {
  const directory = tempDirectory();
  const one = await startApiServer({ directory, kinds: builtinKinds });
  const unreachable = configuration("gone", { clientConfig: { url: "https://127.0.0.1:1/" } });
  await one.handle(testRequest(validating, { method: "POST", body: unreachable }));
  await one.close();
  const again = await startApiServer({ directory, kinds: builtinKinds });
  const denied = await again.handle(testRequest(maps, { method: "POST", body: { metadata: { name: "a" } } }));
  assert.equal(denied.code, 500);
  const removed = await again.handle(testRequest(`${validating}/gone`, { method: "DELETE" }));
  assert.equal(removed.code, 200);
  const made = await again.handle(testRequest(maps, { method: "POST", body: { metadata: { name: "a" } } }));
  assert.equal(made.code, 201);
  await again.close();
});
