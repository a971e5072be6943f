// SPDX-License-Identifier: Apache-2.0
// Servers that the API server calls, whose responses are as large or odd as they like: backends of APIServices and webhooks. And made-up paths.
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import { send } from "../../conformance/harness/wire.ts";
import { startAttackedServer } from "../harness/server.ts";
import { sendJson } from "./attacked-kind.ts";

const closing = new AsyncDisposableStack();
after(() => closing.disposeAsync());
const server = closing.use(await startAttackedServer());

/** Most resident memory, in MiB, that the server may ever have. */
const mostMemory = 700;

const group = "other.example.com";
const authority = createAuthority({ commonName: "others" });
const caBundle = Buffer.from(authority.certPem).toString("base64");
let respond: (request: IncomingMessage, response: ServerResponse, body: string) => void = (_, response) =>
  void response.end("{}");
let base = "";

before(async () => {
  const usages = ["server"] as const;
  const dnsNames = ["other.default.svc"];
  const pair = issueCertificate(authority, { commonName: "other", dnsNames, ipAddresses: ["127.0.0.1"], usages });
  const other = createServer({ cert: pair.certPem, key: pair.keyPem }, (request, response) => {
    response.on("error", () => {});
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => respond(request, response, Buffer.concat(chunks).toString()));
  });
  other.on("connection", (socket) => socket.on("error", () => {}));
  other.listen(0, "127.0.0.1");
  await once(other, "listening");
  closing.defer(() => {
    other.closeAllConnections();
    other.close();
  });
  const { port } = other.address() as AddressInfo;
  base = `https://127.0.0.1:${port}`;
  const service = { metadata: { name: "other" }, spec: { type: "ExternalName", externalName: "localhost" } };
  await created("/api/v1/namespaces/default/services", { apiVersion: "v1", kind: "Service", ...service });
  await created("/apis/apiregistration.k8s.io/v1/apiservices", {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: `v1.${group}` },
    spec: {
      ...{ group, version: "v1", groupPriorityMinimum: 1000, versionPriority: 15, caBundle },
      service: { name: "other", namespace: "default", port },
    },
  });
});

async function created(path: string, object: object): Promise<void> {
  const { code, text } = await sendJson(server.target, ["POST", path], object);
  assert.ok(code === 201 || code === 409, text);
}

const repeated = (item: string, times: number): string => `[${`${item},`.repeat(times - 1)}${item}]`;

/** Documents of nearly 3 MiB, which is the most that is read of one. */
const documents: Readonly<Record<string, string>> = {
  "one resource again and again": `{"resources":${repeated('{"name":"a"}', 240_000)}}`,
  "one subresource again and again": `{"resources":${repeated('{"name":"a/b"}', 200_000)}}`,
  "as many resources as are read": `{"resources":[${Array.from({ length: 24_000 }, (_, i) => `{"name":"r${i}"}`).join()}]}`,
  "a million empty lists": `{"resources":${repeated("[]", 1_000_000)},"paths":{}}`,
  "many definitions": `{"paths":{},"definitions":{${Array.from({ length: 45_000 }, (_, i) => `"d${i}":{"a":{}}`).join()}}}`,
};

for (const [what, text] of Object.entries(documents)) {
  test(`a backend that describes ${what} holds nothing`, async () => {
    assert.ok(text.length < 3 * 1024 * 1024, "it is read");
    const asked = new Set<string>();
    respond = ({ url = "" }, response) => {
      asked.add(url);
      response.setHeader("content-type", "application/json").end(text);
    };
    await server.during(what, async () => {
      await changeService();
      const last = `/apis/${group}/v1`;
      for (const end = Date.now() + 60_000; !(asked.has("/openapi/v2") && asked.has(last)); await delay(50)) {
        assert.ok(Date.now() < end, `the server asked only for ${[...asked].join(", ")}`);
      }
      await delay(500);
      for (const path of ["/apis", "/openapi/v2"]) {
        const { code } = await send(server.target, { method: "GET", path, headers: { accept: "application/json" } });
        assert.equal(code, 200);
      }
    });
  });
}

let priority = 15;

async function changeService(): Promise<void> {
  priority += 1;
  const path = `/apis/apiregistration.k8s.io/v1/apiservices/v1.${group}`;
  const { code } = await send(server.target, {
    ...{ method: "PATCH", path, headers: { "content-type": "application/merge-patch+json" } },
    body: JSON.stringify({ spec: { versionPriority: priority } }),
  });
  assert.equal(code, 200);
}

const kind = "ConfigMap";
const webhooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const json = { "content-type": "application/json" };

const filled = (start: string, part: string, length: number): string =>
  start + part.repeat((length - start.length) / part.length);
const members = (count: number): string[] => Array.from({ length: count }, (_, index) => `k${index}: v`);

/** Texts that are not JSON, each of about this many bytes. */
const yamls: Readonly<Record<string, (length: number) => string>> = {
  "items on lines that end with a carriage return": (length) => filled("", "- a\r", length),
  "members on lines that end with a carriage return": (length) => members(length / 12).join("\r"),
  "documents that end with a carriage return": (length) => filled("", "---\r", length),
  "a text of lines that end with a carriage return": (length) => filled("a: |\r", " x\r", length),
  "null bytes": (length) => filled("a: ", "\0", length),
  "a tag": (length) => `${filled("a: !", "%41", length)} b`,
  "a tag of one letter": (length) => `${filled("a: !", "x", length)} b`,
  "a directive": (length) => `${filled("%TAG ", "TAG ", length)}\n---\na: b`,
  "an alias": (length) => filled("a: *", "x", length),
  "a word": (length) => filled("a: ", "x", length),
  "an address of colons": (length) => filled("a: ", "x:", length),
};

const answers: Readonly<Record<string, typeof respond>> = {
  "fails with a list of millions": (_, response) => response.writeHead(500, json).end(repeated("[]", 2_700_000)),
  "fails with a Status of 8 MB": (_, response) =>
    response.writeHead(500, json).end(`{"kind":"Status","message":"${"x".repeat(8_000_000)}"}`),
  "responds with a list of millions": (_, response) => response.writeHead(200, json).end(repeated("[]", 2_700_000)),
  ...Object.fromEntries(
    Object.entries(yamls).flatMap(([name, text]) =>
      [2_900_000, 8_000_000].map((length) => [
        `responds with ${length} bytes of YAML: ${name}`,
        (_: unknown, response: ServerResponse) => response.end(text(length)),
      ]),
    ),
  ),
  "switches protocols": ({ socket }) =>
    void socket.end("HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),
  "never ends its headers": ({ socket }) => {
    socket.write("HTTP/1.1 200 OK\r\nx: ");
    const timer = setInterval(() => socket.write("y".repeat(1000)), 10);
    socket.on("close", () => clearInterval(timer));
  },
  "sends interim responses without end": ({ socket }) => {
    const timer = setInterval(() => socket.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100)), 10);
    socket.on("close", () => clearInterval(timer));
  },
};

/** Creates a ConfigMap that a webhook reviews, which answers so. */
async function reviewed(
  what: string,
  answer: typeof respond,
): Promise<{ readonly code: number; readonly text: string }> {
  respond = answer;
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] };
  await created(webhooks, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "odd" },
    webhooks: [
      {
        ...{ name: "odd.example.com", rules: [rule], sideEffects: "None", admissionReviewVersions: ["v1"] },
        ...{ failurePolicy: "Fail", timeoutSeconds: 2, clientConfig: { url: `${base}/`, caBundle } },
      },
    ],
  });
  const path = "/api/v1/namespaces/default/configmaps";
  const object = { apiVersion: "v1", kind, metadata: { generateName: "odd-" } };
  const outcome = await server.during(what, () => sendJson(server.target, ["POST", path], object));
  await send(server.target, { method: "DELETE", path: `${webhooks}/odd` });
  return outcome;
}

/** Allows each write, with more in the response. */
function allowing(more: object): typeof respond {
  return (_, response, body) => {
    // The API server also asks whether the backend of the APIService is available.
    if (body === "") return void response.end("{}");
    const { uid } = (JSON.parse(body) as { readonly request: { readonly uid: string } }).request;
    const review = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" };
    response.end(JSON.stringify({ ...review, response: { uid, allowed: true, ...more } }));
  };
}

for (const [what, answer] of Object.entries(answers)) {
  test(`a webhook that ${what} refuses its own requests only, and in time`, { timeout: 60_000 }, async () => {
    const { code, text } = await reviewed(what, answer);
    assert.equal(code, 500, text.slice(0, 200));
    assert.ok(text.length < 100_000, `the error has ${text.length} characters`);
  });
}

const warnings: Readonly<Record<string, readonly string[]>> = {
  "as many warnings as it may": Array.from({ length: 99_000 }, (_, i) => `a warning with the number ${i}`),
  "one warning again and again after thousands of others": Array.from(
    { length: 99_000 },
    (_, i) => `warning ${Math.min(i, 4000)}`,
  ),
  "a warning of 7 MB": ["x".repeat(7_000_000)],
};

for (const [what, texts] of Object.entries(warnings)) {
  test(`a webhook that allows with ${what} holds nothing`, async () => {
    const { code, text } = await reviewed(what, allowing({ warnings: texts }));
    assert.equal(code, 201, text.slice(0, 200));
  });
}

const wrongTypes: Readonly<Record<string, object>> = {
  warnings: { warnings: Array(99_000).fill(0) },
  "audit annotations": {
    auditAnnotations: Object.fromEntries(Array.from({ length: 99_000 }, (_, i) => [`a${i}`, 0])),
  },
  "causes of a denial": { status: { details: { causes: Array(99_000).fill(0) } } },
};

for (const [what, wrong] of Object.entries(wrongTypes)) {
  test(`a webhook that responds with as many ${what} as it may, all numbers, holds nothing`, async () => {
    const { code, text } = await reviewed(`numbers as ${what}`, allowing(wrong));
    assert.equal(code, 500, text.slice(0, 200));
    assert.match(text, /json: cannot unmarshal number into Go struct field/);
  });
}

const annotations = (length: number): object => ({
  auditAnnotations: Object.fromEntries(Array.from({ length }, (_, i) => [`annotation-${i}`, "x"])),
});

test("a webhook that allows with as many audit annotations as it may holds nothing", async () => {
  const { code, text } = await reviewed("audit annotations", allowing(annotations(99_000)));
  assert.equal(code, 201, text.slice(0, 200));
});

const tooMany: Readonly<Record<string, object>> = {
  "audit annotations": annotations(240_000),
  warnings: { warnings: Array.from({ length: 240_000 }, (_, i) => `a warning with the number ${i}`) },
};

for (const [what, more] of Object.entries(tooMany)) {
  test(`a webhook that allows with hundreds of thousands of ${what} is refused`, async () => {
    const { code, text } = await reviewed(`too many ${what}`, allowing(more));
    assert.equal(code, 500, text.slice(0, 200));
    assert.match(text, /the response has more than 100000 values/);
  });
}

test("thousands of made-up subresources leave nothing in the metrics", async () => {
  const path = "/api/v1/namespaces/default/configmaps/a/made-up";
  await server.during("made-up subresources", async () => {
    for (let at = 0; at < 3_000; at += 100) {
      const batch = Array.from({ length: 100 }, (_, i) =>
        sendJson(server.target, ["GET", `${path}-${at + i}-${"x".repeat(400)}`]),
      );
      for (const { code } of await Promise.all(batch)) assert.equal(code, 404);
    }
  });
  const { code, text } = await sendJson(server.target, ["GET", "/metrics"]);
  assert.equal(code, 200);
  assert.ok(!text.includes("made-up"), `the metrics have ${text.length} characters`);
});

test("the memory of the server stays within bounds", () => {
  server.requireBoundedMemory(mostMemory);
});
