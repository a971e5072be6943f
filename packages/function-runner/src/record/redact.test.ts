// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import {
  CredentialData,
  Credentials,
  create,
  encode,
  type JsonObject,
  Resource,
  Resources,
  RunFunctionRequest,
  RunFunctionResponse,
  State,
  Struct,
  toJson,
} from "@purlin/function-protocol";
import { redacted, redactRequest, redactResponse } from "./redact.ts";

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
