// SPDX-License-Identifier: Apache-2.0
// CertificateSigningRequests. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Endpoint } from "@purlin/kube-apiserver/kinds";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { signingRequestRules } from "./signing-request-rules.ts";

const rules = signingRequestRules(() => new Date("2026-01-02T03:04:05Z"));
const now = "2026-01-02T03:04:05Z";
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const request = base64("-----BEGIN CERTIFICATE REQUEST-----\nAA==\n-----END CERTIFICATE REQUEST-----\n");
const certificate = base64("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n");
const errorsOf = (spec: JsonObject): string[] =>
  (
    rules.validateNew?.({ spec: { request, usages: ["client auth"], signerName: "example.org/signer", ...spec } }) ?? []
  ).map(fieldErrorText);

test("a request is one, with known usages, each once, for more than ten minutes", () => {
  assert.deepEqual(errorsOf({ expirationSeconds: 600 }), []);
  const [first, ...rest] = errorsOf({ request: base64("x"), usages: [], expirationSeconds: 599 });
  assert.equal(first, `spec.request: Invalid value: "${base64("x")}": PEM block type must be CERTIFICATE REQUEST`);
  assert.deepEqual(rest, [
    "spec.usages: Required value",
    "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)",
  ]);
  const usages = errorsOf({ usages: ["any", "x", "any"] });
  assert.ok(
    usages[0]?.startsWith('spec.usages[1]: Unsupported value: "x": supported values: "any", "cert sign", '),
    usages[0] ?? "",
  );
  assert.deepEqual(usages.slice(1), ['spec.usages[2]: Duplicate value: "any"']);
});

const signers: Readonly<Record<string, readonly string[]>> = {
  "example.org/a.b-c": [],
  "": ["spec.signerName: Required value"],
  "kubernetes.io/legacy-unknown": [
    'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version',
  ],
  "example.org": [
    `spec.signerName: Invalid value: "example.org": must be a fully qualified domain and path of the form 'example.com/signer-name'`,
  ],
  "example/signer": [
    'spec.signerName: Invalid value: "example": should be a domain with at least two segments separated by dots',
  ],
};

for (const [signerName, want] of Object.entries(signers)) {
  test(`the signer ${JSON.stringify(signerName)}`, () => {
    assert.deepEqual(errorsOf({ signerName }), want);
  });
}

const condition = (type: string, status = "True", more: JsonObject = {}): JsonObject => ({ type, status, ...more });
const object = (conditions: JsonObject[], more: JsonObject = {}): JsonObject => ({
  metadata: { name: "r" },
  spec: {},
  status: { ...(conditions.length > 0 && { conditions }), ...more },
});
const change = (current: JsonObject, old: JsonObject, endpoint: Endpoint): string[] =>
  (rules.validateChange?.(current, old, endpoint) ?? []).map(fieldErrorText);

const type = "CERTIFICATE REQUEST";
const block = (name: string, text = "AAAA", last = name): string =>
  `-----BEGIN ${name}-----\n${text}\n-----END ${last}-----\n`;
const whole = block(type);
const blocks: readonly (readonly [name: string, pem: string, isRequest: boolean])[] = [
  ["whole", whole, true],
  ["without content", `-----BEGIN ${type}-----\n-----END ${type}-----`, true],
  ["between other text", `hello\n${whole}bye`, true],
  ["with headers", block(type, "Name: value\n\nAAAA"), true],
  ["with spaces and carriage returns", block(type, "AA \r\nAA").replaceAll("-----\n", "-----  \r\n"), true],
  ["after a broken block", block("A", "a-b") + whole, true],
  ["in a block without an end", `-----BEGIN A-----\n${whole}`, true],
  ["after another block", block("CERTIFICATE") + whole, false],
  ["without an end", `-----BEGIN ${type}-----\nAAAA\n`, false],
  ["with another end", block(type, "AAAA", "CERTIFICATE"), false],
  ["that is not base64", block(type, "a-b"), false],
  ["with text before it on its line", `x${whole}`, false],
  ["with text after its end", `${whole.trimEnd()}x\n`, false],
  ["without dashes after its type", whole.replace(`${type}-----`, type), false],
  ["after many broken ones", "-----BEGIN A:-----\n".repeat(50_000) + whole, false],
];

for (const [name, pem, isRequest] of blocks) {
  test(`the block of a request ${name}`, () => {
    const spec = { request: base64(pem), signerName: "example.org/signer", usages: ["client auth"] };
    const errors = (rules.validateNew?.({ spec }) ?? []).map((error) => error.field);
    assert.deepEqual(errors, isRequest ? [] : ["spec.request"]);
  });
}

test("only an approver adds decisions, which exclude each other and stay", () => {
  const [approved, denied] = [condition("Approved"), condition("Denied")];
  assert.deepEqual(change(object([approved]), object([]), "approval"), []);
  assert.deepEqual(change(object([approved]), object([]), "status"), [
    'status.conditions: Forbidden: updates may not add a condition of type "Approved"',
  ]);
  assert.deepEqual(change(object([]), object([denied]), "approval"), [
    'status.conditions: Forbidden: updates may not remove a condition of type "Denied"',
  ]);
  assert.deepEqual(change(object([approved, denied]), object([approved]), "approval"), [
    'status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive',
  ]);
  assert.deepEqual(change(object([condition("Failed")]), object([]), "status"), [], "a signer reports failures");
});

test("conditions have a type and a status, each type once", () => {
  assert.deepEqual(
    change(
      object([condition("Approved", "False"), condition("x", "y"), condition("", ""), condition("x")]),
      object([condition("Approved")]),
      "approval",
    ),
    [
      'status.conditions[0].status: Unsupported value: "False": supported values: "True"',
      'status.conditions[1].status: Unsupported value: "y": supported values: "False", "True", "Unknown"',
      "status.conditions[2].type: Required value",
      "status.conditions[2].status: Required value",
      'status.conditions[3].type: Duplicate value: "x"',
    ],
  );
});

test("a certificate is one, and is written once", () => {
  assert.deepEqual(change(object([], { certificate }), object([]), "status"), []);
  assert.deepEqual(change(object([], { certificate: base64("x") }), object([]), "status"), [
    'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block',
  ]);
  assert.deepEqual(change(object([]), object([], { certificate }), "status"), [
    "status.certificate: Forbidden: updates may not modify existing certificate content",
  ]);
});

test("the server records who asks, whatever a client writes", () => {
  const sent = { spec: { request, username: "root", uid: "0", groups: ["system:masters"], extra: { a: ["b"] } } };
  const user = { name: "eve", uid: "u", groups: ["g"] } as unknown as Parameters<
    NonNullable<typeof rules.prepareCreate>
  >[1];
  assert.deepEqual(rules.prepareCreate?.(sent, user), { spec: { request, username: "eve", uid: "u", groups: ["g"] } });
  assert.deepEqual(rules.prepareCreate?.(sent), { spec: { request } });
});

test("an approval changes the conditions alone, and records their times", () => {
  const old = {
    ...object([condition("x", "True", { lastUpdateTime: "a", lastTransitionTime: "b" })], { certificate }),
    spec: { request },
  };
  const sent = {
    metadata: { name: "r", labels: { a: "b" } },
    spec: {},
    status: { conditions: [condition("x"), condition("Approved")] },
  };
  assert.deepEqual(rules.prepareUpdate?.(sent, old, "approval"), {
    metadata: { name: "r", labels: { a: "b" } },
    spec: { request },
    status: {
      certificate,
      conditions: [
        condition("x", "True", { lastUpdateTime: now, lastTransitionTime: "b" }),
        condition("Approved", "True", { lastUpdateTime: now, lastTransitionTime: now }),
      ],
    },
  });
});

test("a write to the status keeps the decisions as they were, and another write the spec", () => {
  const times = { lastUpdateTime: "a", lastTransitionTime: "b" };
  const old = object([condition("Approved", "True", { reason: "mine", ...times })]);
  const sent = object([condition("Approved", "True", { reason: "other", ...times })], { certificate });
  assert.deepEqual(
    rules.prepareUpdate?.(sent, old, "status"),
    object([condition("Approved", "True", { reason: "mine", ...times })], { certificate }),
  );
  assert.deepEqual(rules.prepareUpdate?.({ spec: { a: 1 } }, { spec: { b: 2 } }, ""), { spec: { b: 2 } });
});
