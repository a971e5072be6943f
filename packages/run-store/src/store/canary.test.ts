// SPDX-License-Identifier: Apache-2.0
// One secret value in forty places of a run: it is in none of them once the run is stored.

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import {
  Condition,
  CredentialData,
  Credentials,
  create,
  Resource,
  Resources,
  Result,
  RunFunctionRequest,
  RunFunctionResponse,
  Schema,
  State,
  Struct,
} from "@purlin/function-protocol";
import { runOf, sampleRevision, sampleXr, stepOf } from "../../test/sample-runs.ts";
import { inflateRun, requestJson, responseJson } from "../read/run-views.ts";
import { sensitiveFieldsIn } from "../redact/sensitive-fields.ts";
import { openRunStore } from "./open-run-store.ts";

const canary = "C4n4ry-Value!With?Special&Chars";
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Every place puts the value in one form, and the number of the place beside it. */
const texts: readonly string[] = [
  canary,
  `prefix ${canary} suffix`,
  JSON.stringify({ password: canary }),
  `password: ${canary}`,
  base64(canary),
  base64(`user:${canary}`),
  base64(`admin:${canary}`),
  base64(`root:${canary}\n`),
  Buffer.from(canary).toString("base64url"),
  `https://user:${encodeURIComponent(canary)}@host/path`,
  `https://host/?token=${encodeURIComponent(canary)}`,
  encodeURI(canary),
];

const secret = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "s", annotations: { "kubectl.kubernetes.io/last-applied-configuration": `{"data":"${canary}"}` } },
  data: { key: base64(canary) },
  stringData: { key: canary },
};

function resource(object: object, details = false): Resource {
  const connectionDetails = new Map(details ? [["password", Buffer.from(canary)]] : []);
  return create(Resource, { resource: Struct.from(object), connectionDetails });
}

const maps = texts.map((text, n) => [`map-${n}`, resource({ kind: "ConfigMap", data: { [`k${n}`]: text } })] as const);

function state(): State {
  const composite = { ...sampleXr, spec: { password: canary, note: canary }, data: { key: canary } };
  const manifest = {
    apiVersion: "kubernetes.crossplane.io/v1",
    kind: "Object",
    spec: { forProvider: { manifest: secret } },
  };
  return create(State, {
    composite: resource(composite, true),
    resources: new Map([
      ["secret", resource(secret, true)],
      ["wrapped", resource(manifest)],
      ["text", resource({ kind: "Any", spec: { manifest: `kind: Secret\nstringData:\n  key: ${canary}\n` } })],
      ["keys", resource({ kind: "Any", spec: { [canary]: { [base64(canary)]: [canary, [canary]] } } })],
      ...maps,
    ]),
  });
}

test("a secret value in forty places of a run is nowhere in the store", () => {
  const directory = mkdtempSync(join(tmpdir(), "purlin-canary-"));
  const logged: string[] = [];
  const note = (message: string, fields?: object): void => void logged.push(message + JSON.stringify(fields));
  const store = openRunStore({ directory, log: { debug: note, info: note, error: note } });
  const schema = { properties: { spec: { properties: { password: { format: "password" } } } } };
  store.sensitive.set(sampleXr.apiVersion, sampleXr.kind, sensitiveFieldsIn(schema));
  const value = create(CredentialData, { data: new Map([["token", Buffer.from(canary)]]) });
  const request = create(RunFunctionRequest, {
    observed: state(),
    desired: state(),
    input: Struct.from({ kind: "Input", text: canary }),
    context: Struct.from({ "example.org/key": canary, nested: { list: [canary] } }),
    credentials: new Map([["c", create(Credentials, { source: { case: "credentialData", value } })]]),
    requiredResources: new Map([["r", create(Resources, { items: [resource(secret)] })]]),
    extraResources: new Map([["e", create(Resources, { items: [resource(secret)] })]]),
    requiredSchemas: new Map([["s", create(Schema, { openapiV3: Struct.from({ description: canary }) })]]),
  });
  const response = create(RunFunctionResponse, {
    desired: state(),
    context: Struct.from({ text: canary }),
    output: Struct.from({ text: canary }),
    results: [create(Result, { severity: 2, message: `cannot log in with ${canary}`, reason: canary })],
    conditions: [create(Condition, { type: "Db", status: 3, reason: "Failed", message: canary })],
  });
  const condition = { type: "Synced", status: "False", reason: "ReconcileError", message: canary };
  const now = Date.now();
  store.record(
    runOf({
      ...{ beganMs: now, endedMs: now, outcome: "failed", error: { reason: "X", message: `failed: ${canary}` } },
      after: { ...sampleXr, status: { conditions: [condition] } },
      revision: { ...sampleRevision, spec: { pipeline: [{ input: { text: canary } }] } },
      steps: [stepOf(0, { request, response }), stepOf(1, { request }, { error: `boom ${texts.join(" ")}` })],
    }),
  );
  store.flush();
  const document = store.reader.get(store.reader.list()[0]?.id ?? "");
  assert.ok(document);
  const { steps, ...rest } = inflateRun(document);
  const messages = steps.flatMap((step) => [
    JSON.stringify({ ...step, calls: [] }),
    ...step.calls.flatMap((call) => [
      JSON.stringify(requestJson(call.request)),
      JSON.stringify(call.response === undefined ? null : responseJson(call.response)),
    ]),
  ]);
  const everything = [JSON.stringify(rest), JSON.stringify(store.reader.list()), ...messages, ...logged].join("\n");
  store[Symbol.dispose]();
  const files = readdirSync(directory).map((name) => readFileSync(join(directory, name), "latin1"));
  rmSync(directory, { recursive: true });
  for (const form of [canary, ...texts.map((text) => text.replace(/^prefix | suffix$/g, ""))]) {
    assert.ok(!everything.includes(form), `the record has ${form}`);
    assert.ok(!files.some((file) => file.includes(form)), `a file has ${form}`);
  }
  // Also without the characters at the ends that may be part of another encoding.
  for (const text of [canary, base64(canary), encodeURIComponent(canary)]) {
    assert.ok(!everything.includes(text.slice(2, -4)), `the record has most of ${text}`);
  }
  assert.match(everything, /cannot log in with \*\*REDACTED:[0-9a-f]{8}\*\*/);
});
