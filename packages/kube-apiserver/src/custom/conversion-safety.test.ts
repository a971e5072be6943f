// SPDX-License-Identifier: Apache-2.0
// Conversion webhooks that hang, answer garbage or are unreachable: the server answers everything else, and stops.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import { builtinKinds } from "@purlin/kube-builtin";
import type { JsonObject } from "@purlin/kube-objects/json";
import { answerValue, startTestServer, type TestServer } from "../../test/test-server.ts";
import type { CompleteResponse, StreamResponse } from "../request/api-request.ts";

const authority = createAuthority({ commonName: "webhooks" });
const pair = issueCertificate(authority, { commonName: "hook", ipAddresses: ["127.0.0.1"], usages: ["server"] });
const caBundle = Buffer.from(authority.certPem).toString("base64");
const things = (version: string, name = ""): string =>
  `/apis/test.example.org/${version}/namespaces/default/things${name && `/${name}`}`;

interface Review {
  readonly request: {
    readonly uid: string;
    readonly desiredAPIVersion: string;
    readonly objects: readonly JsonObject[];
  };
}

let server: TestServer;
let hook: Server;
let calls = 0;
let onReview: (review: Review, respond: (text: string) => void) => void = () => {};

const converted = ({ request: { uid, desiredAPIVersion, objects } }: Review): string =>
  JSON.stringify({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "ConversionReview",
    response: {
      uid,
      result: { status: "Success" },
      convertedObjects: objects.map((object) => ({ ...object, apiVersion: desiredAPIVersion })),
    },
  });

before(async () => {
  server = await startTestServer({ kinds: builtinKinds });
  hook = createServer({ key: pair.keyPem, cert: pair.certPem }, (request, response) => {
    const chunks: Buffer[] = [];
    calls += 1;
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () =>
      onReview(JSON.parse(Buffer.concat(chunks).toString()) as Review, (text) => response.end(text)),
    );
  });
  hook.listen(0, "127.0.0.1");
  await once(hook, "listening");
  const { port } = hook.address() as AddressInfo;
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const crd = await server.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    metadata: { name: "things.test.example.org" },
    spec: {
      group: "test.example.org",
      scope: "Namespaced",
      names: { plural: "things", kind: "Thing" },
      versions: [
        { name: "v1", served: true, storage: true, schema },
        { name: "v2", served: true, storage: false, schema },
      ],
      conversion: {
        strategy: "Webhook",
        webhook: { clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle }, conversionReviewVersions: ["v1"] },
      },
    },
  });
  assert.ok(crd);
  while ((await send("GET", things("v1"))).code !== 200) await new Promise((resolve) => setTimeout(resolve, 5));
});
after(async () => {
  hook.closeAllConnections();
  hook.close();
  await server[Symbol.asyncDispose]();
});

async function send(method: string, url: string, body?: JsonObject): Promise<{ code: number; body: JsonObject }> {
  const response = (await server.send(url, { method, ...(body && { body }) })) as CompleteResponse;
  return { code: response.code, body: answerValue(response) as JsonObject };
}

const thing = (name: string): JsonObject => ({
  apiVersion: "test.example.org/v1",
  kind: "Thing",
  metadata: { name },
  spec: { name },
});

test("a list is converted in one call, and again only after a change", async () => {
  onReview = (review, respond) => respond(converted(review));
  for (const name of ["a", "b", "c"]) await send("POST", things("v1"), thing(name));
  calls = 0;
  for (const expected of [1, 1]) {
    const { body } = await send("GET", things("v2"));
    assert.deepEqual(
      (body["items"] as JsonObject[]).map((item) => item["apiVersion"]),
      ["test.example.org/v2", "test.example.org/v2", "test.example.org/v2"],
    );
    assert.equal(calls, expected);
  }
});

test("a webhook that hangs holds only the request that needs it", async () => {
  const { promise: asked, resolve } = Promise.withResolvers<(text: string) => void>();
  let review: Review | undefined;
  onReview = (one, respond) => {
    review = one;
    resolve(respond);
  };
  const held = send("GET", things("v2", "a"));
  const respond = await asked;
  assert.equal((await send("GET", things("v1", "a"))).code, 200);
  assert.ok(await server.patch(things("v1", "a"), { spec: { more: "x" } }));
  respond(converted(review as Review));
  assert.equal((await held).code, 200);
});

for (const [what, text] of Object.entries({
  "an empty body": "",
  "a number": "7",
  "half a document": '{"kind":',
  "a deep document": `${"[".repeat(5000)}${"]".repeat(5000)}`,
  "an endless document": `"${"x".repeat(9 * 1024 * 1024)}"`,
  "objects of other types": '{"response":{"uid":7,"convertedObjects":7}}',
})) {
  test(`a webhook that answers with ${what} fails the request, and nothing else`, async () => {
    onReview = (_, respond) => respond(text);
    const { code, body } = await send("GET", things("v2", "b"));
    assert.equal(code, 500);
    assert.match(String(body["message"]), /^conversion webhook for test\.example\.org\/v1, Kind=Thing failed: /);
    assert.equal((await send("GET", things("v1", "b"))).code, 200);
  });
}

test("a watch ends with the error of the webhook", async () => {
  onReview = (_, respond) => respond("{}");
  await server.patch(things("v1", "c"), { spec: { more: "x" } });
  const response = (await server.send(`${things("v2")}?watch=true&resourceVersion=0`)) as StreamResponse;
  const { promise: ready, resolve } = Promise.withResolvers<void>();
  const stream = response.open(resolve);
  assert.deepEqual(stream.take(), []);
  await ready;
  const events = (stream.take() ?? []).map((event) => event.value() as { type: string; object: JsonObject });
  assert.deepEqual(
    events.map(({ type, object }) => [type, object["code"]]),
    [["ERROR", 500]],
  );
  assert.equal(stream.take(), undefined);
});

test("nothing is written when the webhook cannot convert the new object", async () => {
  onReview = (_, respond) => respond("{}");
  const body = { ...thing("new"), apiVersion: "test.example.org/v2" };
  assert.equal((await send("POST", things("v2"), body)).code, 500);
  assert.equal((await send("GET", things("v1", "new"))).code, 404);
});

test("a definition can be deleted while its webhook fails", async () => {
  onReview = (_, respond) => respond("{}");
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.test.example.org";
  assert.equal((await send("DELETE", path)).code, 200);
  while ((await send("GET", path)).code !== 404) await new Promise((resolve) => setTimeout(resolve, 5));
});
