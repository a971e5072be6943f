// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { describe, test } from "node:test";
import { finish } from "@purlin/base";
import {
  CredentialData,
  Credentials,
  create,
  encode,
  type JsonObject,
  RequestMeta,
  Requirements,
  Resource,
  ResourceSelector,
  Resources,
  ResponseMeta,
  Result,
  RunFunctionRequest,
  RunFunctionResponse,
  Schema,
  SchemaSelector,
  State,
  Struct,
  toJson,
} from "@purlin/function-protocol";
import { createRedactor } from "./redact-messages.ts";
import { omittedBytes } from "./redact-object.ts";
import { keyedMark, plainMark, SensitiveKinds, sensitiveFieldsIn } from "./sensitive-fields.ts";

const redacted = "**REDACTED**";
const plain = createRedactor({ mark: plainMark });

function redactRequest(request: RunFunctionRequest): RunFunctionRequest {
  const redactor = plain();
  return finish(redactor.scrubRequest(finish(redactor.request(request))));
}

function redactResponse(response: RunFunctionResponse): RunFunctionResponse {
  const redactor = plain();
  return finish(redactor.scrubResponse(finish(redactor.response(response))));
}

const hush = "c2VjcmV0LXZhbHVl";
const bytes = Buffer.from(hush);
const details = new Map([["password", bytes]]);
const secret: JsonObject = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "s", annotations: { "kubectl.kubernetes.io/last-applied-configuration": hush, other: "kept" } },
  data: { key: hush },
  stringData: { plain: hush },
};
const wrapped: JsonObject = {
  apiVersion: "kubernetes.crossplane.io/v1alpha2",
  kind: "Object",
  spec: { forProvider: { manifest: secret }, list: [1, secret] },
};
const resource = (object: JsonObject): Resource =>
  create(Resource, { resource: Struct.from(object), connectionDetails: details });

function everything(): RunFunctionRequest {
  const state = (): State =>
    create(State, {
      composite: resource({ kind: "XCredential", data: { key: hush }, spec: { kept: true } }),
      resources: new Map([
        ["secret", resource(secret)],
        ["wrapped", resource(wrapped)],
      ]),
    });
  const value = create(CredentialData, { data: new Map([["token", bytes]]) });
  return create(RunFunctionRequest, {
    observed: state(),
    desired: state(),
    input: Struct.from({ a: 1 }),
    context: Struct.from({ b: 2 }),
    credentials: new Map([["aws", create(Credentials, { source: { case: "credentialData", value } })]]),
    extraResources: new Map([["old", create(Resources, { items: [resource(secret)] })]]),
    requiredResources: new Map([["new", create(Resources, { items: [resource(wrapped)] })]]),
  });
}

test("no secret value is left anywhere in a request, and no key is lost", () => {
  const request = everything();
  const before = encode(RunFunctionRequest, request);
  const clean = redactRequest(request);
  const text = JSON.stringify(toJson(RunFunctionRequest, clean));
  assert.equal(text.includes(hush), false);
  assert.equal(text.includes(bytes.toString("base64")), false);
  assert.deepEqual(keysIn(toJson(RunFunctionRequest, clean)), keysIn(toJson(RunFunctionRequest, request)));
  assert.deepEqual(encode(RunFunctionRequest, request), before, "the original is untouched");
});

test("nor in a response", () => {
  const request = everything();
  const response = create(RunFunctionResponse, { desired: request.desired, output: Struct.from({ out: 1 }) });
  const before = encode(RunFunctionResponse, response);
  const clean = redactResponse(response);
  assert.equal(JSON.stringify(toJson(RunFunctionResponse, clean)).includes(hush), false);
  assert.deepEqual(clean.output?.value, { out: 1 });
  assert.deepEqual(encode(RunFunctionResponse, response), before);
});

function keysIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => [key, ...keysIn(member).map((inner) => `${key}.${inner}`)]);
}

const objects: Readonly<Record<string, { reason: string; object: JsonObject; want: JsonObject }>> = {
  Secret: {
    reason: "values are hidden, everything else stays",
    object: { apiVersion: "v1", kind: "Secret", type: "Opaque", data: { a: hush, __proto__x: hush } },
    want: { apiVersion: "v1", kind: "Secret", type: "Opaque", data: { a: redacted, __proto__x: redacted } },
  },
  OddData: {
    reason: "data that is not an object is hidden as a whole",
    object: { apiVersion: "v1", kind: "Secret", data: [hush] },
    want: { apiVersion: "v1", kind: "Secret", data: redacted },
  },
  OtherGroup: {
    reason: "a Secret of another group is not a v1 Secret",
    object: { apiVersion: "example.org/v1", kind: "Secret", data: { a: "shown" } },
    want: { apiVersion: "example.org/v1", kind: "Secret", data: { a: "shown" } },
  },
  ConfigMap: {
    reason: "data of other kinds is not secret",
    object: { apiVersion: "v1", kind: "ConfigMap", data: { a: "about a Secret" } },
    want: { apiVersion: "v1", kind: "ConfigMap", data: { a: "about a Secret" } },
  },
  LastApplied: {
    reason: "an annotation with a copy of the object is hidden on any kind",
    object: { kind: "Any", metadata: { annotations: { "x.io/last-applied": hush, note: "shown" } } },
    want: { kind: "Any", metadata: { annotations: { "x.io/last-applied": redacted, note: "shown" } } },
  },
};

for (const [name, { reason, object, want }] of Object.entries(objects)) {
  test(`redaction ${name}: ${reason}`, () => {
    const state = create(State, { resources: new Map([["r", create(Resource, { resource: Struct.from(object) })]]) });
    const clean = redactResponse(create(RunFunctionResponse, { desired: state }));
    assert.deepEqual(clean.desired?.resources.get("r")?.resource?.value, want);
  });
}

test("an object without anything to hide is neither decoded nor copied", () => {
  const unreadable = Struct.fromBytes(Buffer.from([0x0a, 0xff]));
  const state = create(State, { resources: new Map([["r", create(Resource, { resource: unreadable })]]) });
  const clean = redactResponse(create(RunFunctionResponse, { desired: state }));
  assert.equal(clean.desired?.resources.get("r")?.resource, unreadable);
});

test("a message without any state is left as it is", () => {
  assert.deepEqual(redactRequest(create(RunFunctionRequest)), create(RunFunctionRequest));
  const odd = create(RunFunctionRequest, { credentials: new Map([["x", create(Credentials)]]) });
  assert.equal(redactRequest(odd).credentials.get("x")?.source, undefined);
});

test("a composite resource in the shape of a Secret is hidden also when another run required it before", () => {
  const redactors = createRedactor({ mark: plainMark });
  const credential = Struct.from({ kind: "XCredential", data: { key: hush } });
  const required = create(Resources, { items: [create(Resource, { resource: credential })] });
  finish(redactors().request(create(RunFunctionRequest, { requiredResources: new Map([["other", required]]) })));
  const observed = create(State, { composite: create(Resource, { resource: credential }) });
  const clean = finish(redactors().request(create(RunFunctionRequest, { observed })));
  assert.deepEqual(clean.observed?.composite?.resource?.value["data"], { key: redacted });
});

test("many credentials and connection details are hidden in parts", () => {
  const data = new Map(Array.from({ length: 10_000 }, (_, index) => [`key-${index}`, Buffer.from(`${index}`)]));
  const value = create(CredentialData, { data });
  const credentials = new Map([["c", create(Credentials, { source: { case: "credentialData", value } })]]);
  const composite = create(Resource, { connectionDetails: data });
  for (const more of [{ credentials }, { observed: create(State, { composite }) }]) {
    const work = plain().request(create(RunFunctionRequest, more));
    let parts = 0;
    while (!work.next().done) parts++;
    assert.ok(parts > 30, `${parts} parts`);
  }
});

const keyed = createRedactor({ mark: keyedMark(Buffer.alloc(32, 7)) });
const marked = /^\*\*REDACTED:[0-9a-f]{8}\*\*$/;

/** A request whose credentials have these values, and whose ConfigMap has these texts. */
function withTexts(
  values: Readonly<Record<string, string>>,
  texts: Readonly<Record<string, string>>,
): RunFunctionRequest {
  const data = new Map(Object.entries(values).map(([key, value]) => [key, Buffer.from(value)]));
  const value = create(CredentialData, { data });
  const map = { apiVersion: "v1", kind: "ConfigMap", data: texts };
  return create(RunFunctionRequest, {
    credentials: new Map([["c", create(Credentials, { source: { case: "credentialData", value } })]]),
    desired: create(State, { resources: new Map([["map", create(Resource, { resource: Struct.from(map) })]]) }),
  });
}

const canary = 'C4nary/+"pass word?';
const encoded = (text: string): string => Buffer.from(text).toString("base64");
const forms: Readonly<Record<string, string>> = {
  Text: `the password is ${canary}.`,
  Json: JSON.stringify({ password: canary }),
  Base64: encoded(canary),
  Base64Url: Buffer.from(canary).toString("base64url"),
  BasicAuth: `Basic ${encoded(`user:${canary}`)}`,
  BasicAuthShifted: `Basic ${encoded(`users:${canary}`)}`,
  Url: `postgres://admin:${encodeURIComponent(canary)}@db/shop`,
  Form: `password=${encodeURIComponent(canary).replaceAll("%20", "+")}`,
};

for (const [name, text] of Object.entries(forms)) {
  test(`a secret value elsewhere is scrubbed: ${name}`, () => {
    const redactor = keyed();
    const clean = finish(redactor.scrubRequest(finish(redactor.request(withTexts({ password: canary }, { text })))));
    const data = clean.desired?.resources.get("map")?.resource?.value["data"] as JsonObject | undefined;
    const shown = String(data?.["text"]);
    assert.match(shown, /\*\*REDACTED:[0-9a-f]{8}\*\*/);
    assert.notEqual(shown, text);
    assert.equal(finish(redactor.scrubText(text)), shown);
  });
}

test("a value of four bytes is marked in its place, and not searched for elsewhere", () => {
  const redactor = keyed();
  const clean = finish(redactor.scrubRequest(finish(redactor.request(withTexts({ pin: "1234" }, { port: "1234" })))));
  assert.match(Buffer.from(clean.credentials.get("c")?.source?.value.data.get("pin") ?? []).toString(), marked);
  assert.deepEqual(clean.desired?.resources.get("map")?.resource?.value["data"], { port: "1234" });
});

test("a mark is the beginning of the HMAC of the value, for a key of any length", () => {
  for (const length of [32, 64, 65, 200]) {
    const key = Buffer.alloc(length, 7);
    const digest = createHmac("sha256", key).update("value").digest("hex");
    assert.equal(keyedMark(key)(Buffer.from("value")), `**REDACTED:${digest.slice(0, 8)}**`);
  }
});

test("a value has one mark wherever it is, and another value another one", () => {
  const redactor = keyed();
  const [one, same] = ["one-secret-value", "one-secret-value"].map((value) => {
    const object = {
      apiVersion: "v1",
      kind: "Secret",
      data: { a: encoded(value) },
      stringData: { b: value, c: "another-secret" },
    };
    return finish(redactor.object(Struct.from(object), "resource")).value;
  });
  assert.deepEqual(one, same);
  const { data, stringData } = one as { data: { a: string }; stringData: { b: string; c: string } };
  assert.match(data.a, marked);
  assert.equal(data.a, stringData.b);
  assert.notEqual(stringData.b, stringData.c);
});

test("fields that a schema declares sensitive are hidden, and their values are scrubbed elsewhere", () => {
  const sensitive = new SensitiveKinds();
  const schema = {
    properties: {
      spec: {
        properties: {
          password: { type: "string", format: "password" },
          users: { items: { properties: { token: { writeOnly: true } } } },
          extra: { additionalProperties: { "x-purlin-sensitive": true } },
          open: { type: "string" },
        },
      },
    },
  };
  sensitive.set("example.org/v1", "App", sensitiveFieldsIn(schema));
  const redactor = createRedactor({ mark: plainMark, sensitive })();
  const spec = {
    password: "hunter2hunter2",
    users: [{ name: "a", token: "token-token" }],
    extra: { a: { b: 1 } },
    open: "x",
  };
  const clean = finish(redactor.object(Struct.from({ apiVersion: "example.org/v1", kind: "App", spec }), "composite"));
  assert.deepEqual(clean.value["spec"], {
    password: redacted,
    users: [{ name: "a", token: redacted }],
    extra: { a: { b: redacted } },
    open: "x",
  });
  assert.equal(finish(redactor.scrubText("login with hunter2hunter2")), `login with ${redacted}`);
});

test("fields called like members of every object are fields like others", () => {
  const sensitive = new SensitiveKinds();
  const schema: unknown = JSON.parse(
    '{"properties": {"spec": {"properties": {"__proto__": {"properties": {"a": {"writeOnly": true}}}, "constructor": {"writeOnly": true}}}}}',
  );
  sensitive.set("example.org/v1", "App", sensitiveFieldsIn(schema));
  const redactor = createRedactor({ mark: plainMark, sensitive, paths: ["__proto__.polluted"] })();
  const text =
    '{"apiVersion": "example.org/v1", "kind": "App", "spec": {"__proto__": {"a": "x"}, "constructor": "y", "a": "z"}}';
  const clean = finish(redactor.object(Struct.from(JSON.parse(text) as JsonObject), "composite"));
  const expected = `{"__proto__": {"a": "${redacted}"}, "constructor": "${redacted}", "a": "z"}`;
  assert.deepEqual(clean.value["spec"], JSON.parse(expected));
  assert.equal("polluted" in {}, false);
});

test("paths that the operator names are hidden in objects and in the context", () => {
  const paths = ["spec.license", 'context["example.org/token"]', 'context["k8s.io/x"].list[0].key'];
  const redactor = createRedactor({ mark: plainMark, paths })();
  const object = finish(redactor.object(Struct.from({ kind: "A", spec: { license: "abc", open: 1 } }), "resource"));
  assert.deepEqual(object.value["spec"], { license: redacted, open: 1 });
  const context = { "example.org/token": "abc", "k8s.io/x": { list: [{ key: "a", open: 1 }] } };
  assert.deepEqual(finish(redactor.object(Struct.from(context), "context")).value, {
    "example.org/token": redacted,
    "k8s.io/x": { list: [{ key: redacted, open: 1 }] },
  });
});

test("many secret values are found in one pass", () => {
  const redactor = keyed();
  const values = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`k${n}`, `secret-value-number-${n}-end`]));
  const clean = finish(
    redactor.scrubRequest(finish(redactor.request(withTexts(values, { text: "x secret-value-number-137-end y" })))),
  );
  assert.match(JSON.stringify(toJson(RunFunctionRequest, clean)), /x \*\*REDACTED:[0-9a-f]{8}\*\* y/);
});

test("a function that repeats a secret in what it requires leaves none in the record", () => {
  const redactor = keyed();
  const tagged = (tag: string) => ({ tag: `${tag}-${canary}` });
  const items = [
    create(Resource, {
      resource: Struct.from({ kind: "A" }),
      connectionDetails: new Map([[canary, Buffer.from("1")]]),
    }),
  ];
  const found = new Map([[`need-${canary}`, create(Resources, { items })]]);
  const request = create(RunFunctionRequest, {
    ...withTexts({ key: canary }, {}),
    meta: create(RequestMeta, tagged("request")),
    requiredResources: found,
    extraResources: found,
    requiredSchemas: new Map([[`schema-${canary}`, create(Schema, {})]]),
  });
  const selector = create(ResourceSelector, {
    ...{ apiVersion: `${canary}/v1`, kind: `Kind${canary}`, namespace: `ns-${canary}` },
    match: { case: "matchName", value: canary },
  });
  const selectors = new Map([[`need-${canary}`, selector]]);
  const schemas = new Map([[canary, create(SchemaSelector, { apiVersion: canary, kind: canary })]]);
  const response = create(RunFunctionResponse, {
    meta: create(ResponseMeta, tagged("response")),
    requirements: create(Requirements, { resources: selectors, extraResources: selectors, schemas }),
  });
  const [asked, answered] = [finish(redactor.request(request)), finish(redactor.response(response))];
  const texts = [
    JSON.stringify(toJson(RunFunctionRequest, finish(redactor.scrubRequest(asked)))),
    JSON.stringify(toJson(RunFunctionResponse, finish(redactor.scrubResponse(answered)))),
  ];
  for (const text of texts) assert.ok(!text.includes(canary), text);
  assert.equal(texts.join("").match(/need-\*\*REDACTED/g)?.length, 4);
});

describe("a run with more secret values than are searched for", () => {
  const mebibyte = 2 ** 20;
  const detail = (index: number): Buffer => Buffer.from(`${index}-${canary}`.padEnd(mebibyte / 4, "x"));
  const textsOf = (message: string) => [create(Result, { severity: 2, message, reason: message })];
  const responseWith = (connectionDetails: Map<string, Uint8Array>): RunFunctionResponse => {
    const map = create(Resource, { resource: Struct.from({ kind: "ConfigMap", data: { text: canary } }) });
    const owner = create(Resource, { resource: Struct.from({ kind: "A" }), connectionDetails });
    const resources = new Map([
      ["map", map],
      ["owner", owner],
    ]);
    return create(RunFunctionResponse, { desired: create(State, { resources }), results: textsOf(canary) });
  };

  test("has neither objects nor texts", () => {
    const details = new Map([0, 1, 2, 3, 4].map((index) => [`key-${index}`, detail(index)]));
    const clean = redactResponse(responseWith(details));
    assert.ok(!JSON.stringify(toJson(RunFunctionResponse, clean)).includes(canary));
    const resources = clean.desired?.resources ?? new Map<string, Resource>();
    assert.equal(resources.size, 2);
    for (const [name, { resource }] of resources) {
      assert.match(name, /^\*\*REDACTED\*\*/, "a name may be a secret as well");
      assert.ok((omittedBytes(resource?.value ?? {}) ?? 0) > 0);
    }
    assert.deepEqual([clean.results[0]?.message, clean.results[0]?.reason], [redacted, redacted]);
  });

  test("has names that stay apart, and the same in each message, where marks have a key", () => {
    const redactor = keyed();
    const details = new Map([0, 1, 2, 3, 4].map((index) => [`key-${index}`, detail(index)]));
    const namesOf = (response: RunFunctionResponse): string[] => [
      ...(finish(redactor.scrubResponse(finish(redactor.response(response)))).desired?.resources.keys() ?? []),
    ];
    const [first, again] = [namesOf(responseWith(details)), namesOf(responseWith(details))];
    assert.equal(new Set(first).size, 2);
    assert.deepEqual(first, again);
  });

  test("has them when the values are few enough, or the same", () => {
    const one = detail(0);
    const details = new Map([0, 1, 2, 3, 4].map((index) => [`key-${index}`, one]));
    const clean = redactResponse(responseWith(details));
    assert.deepEqual(clean.desired?.resources.get("map")?.resource?.value, {
      kind: "ConfigMap",
      data: { text: canary },
    });
  });

  test("is one with a value of more than a MiB, and one with a hundred thousand lines", () => {
    const lines = Array.from({ length: 60_000 }, (_, index) => `${index}`.padStart(8, "%")).join("\n");
    for (const value of [Buffer.alloc(mebibyte + 1), Buffer.from(lines)]) {
      const clean = redactResponse(responseWith(new Map([["key", value]])));
      assert.equal(clean.results[0]?.message, redacted);
    }
  });

  test("is one with a Secret that is too large to be decoded", () => {
    const large = { ...secret, data: { key: hush, padding: "x".repeat(2 * mebibyte) } };
    const resources = new Map([
      ["secret", create(Resource, { resource: Struct.from(large) })],
      ["map", create(Resource, { resource: Struct.from({ data: { text: hush } }) })],
    ]);
    const clean = redactResponse(create(RunFunctionResponse, { desired: create(State, { resources }) }));
    assert.ok(!JSON.stringify(toJson(RunFunctionResponse, clean)).includes(hush));
  });
});
