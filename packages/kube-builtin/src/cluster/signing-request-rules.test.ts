// SPDX-License-Identifier: Apache-2.0
// CertificateSigningRequests. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AdmissionPlugin, Endpoint } from "@purlin/kube-apiserver/kinds";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { signingRequestRules, subjectRestriction } from "./signing-request-rules.ts";

const rules = signingRequestRules(() => new Date("2026-01-02T03:04:05Z"));
const now = "2026-01-02T03:04:05Z";
const base64 = (text: string): string => Buffer.from(text).toString("base64");
/** A request that OpenSSL made for an Ed25519 key, and a certificate of another one. */
const requestDer =
  "MIIBAjCBtQIBADAvMRUwEwYDVQQKDAxzeXN0ZW06bm9kZXMxFjAUBgNVBAMMDXN5c3RlbTpub2RlOngwKjAFBgMrZXADIQCtHeTd" +
  "7iisUKEo+S67CfeGBpdRNJLQflIPkQVHwNXXq6BTMFEGCSqGSIb3DQEJDjFEMEIwQAYDVR0RBDkwN4INYS5leGFtcGxlLm9yZ4cE" +
  "CgAAAYYXaHR0cHM6Ly9hLmV4YW1wbGUub3JnL3iBB2FAYi5vcmcwBQYDK2VwA0EACny2Fs+PN02Nc23LCziRnPU2qew/w/Jnrpzl" +
  "yQ3X9yy9yK6hRiJVPRahw9PxW0yEjRyoMZJ+RMtaCLShzq/zBA==";
const certificateDer =
  "MIIBLDCB36ADAgECAhRM4JluNX90csmPMJY3/cnPthn/wzAFBgMrZXAwDDEKMAgGA1UEAwwBeDAeFw0yNjExMTgwMTI3MzhaFw0y" +
  "NjEyMTgwMTI3MzhaMAwxCjAIBgNVBAMMAXgwKjAFBgMrZXADIQCGkhP/4+aDRZF8sArAlNjQoed0R+Oor/xhDsg5Lmimw6NTMFEw" +
  "HQYDVR0OBBYEFKxB0y021X8GBMWke2YC539E/4VHMB8GA1UdIwQYMBaAFKxB0y021X8GBMWke2YC539E/4VHMA8GA1UdEwEB/wQF" +
  "MAMBAf8wBQYDK2VwA0EAjVWkNb10x1+a83Q6CM7XruLa5LlRPzdcsmByJAqs57vQsNfbs/BP63Z8vadaNtH8P0glCcNoRzeR4img" +
  "jGrLDw==";
const request = base64(`-----BEGIN CERTIFICATE REQUEST-----\n${requestDer}\n-----END CERTIFICATE REQUEST-----\n`);
const certificate = base64(`-----BEGIN CERTIFICATE-----\n${certificateDer}\n-----END CERTIFICATE-----\n`);
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
const block = (name: string, text = requestDer, last = name): string =>
  `-----BEGIN ${name}-----\n${text}\n-----END ${last}-----\n`;
const whole = block(type);
const notOne = "PEM block type must be CERTIFICATE REQUEST";
const blocks: readonly (readonly [name: string, pem: string, problem?: string])[] = [
  ["whole", whole],
  ["between other text", `hello\n${whole}bye`],
  ["with headers", block(type, `Name: value\n\n${requestDer}`)],
  ["with carriage returns", whole.replaceAll("-----\n", "-----  \r\n")],
  ["with spaces", block(type, requestDer.replaceAll("A", " A"))],
  ["after a broken block", block("A", "a-b") + whole],
  ["in a block without an end", `-----BEGIN A-----\n${whole}`],
  ["after many beginnings", "-----BEGIN A:-----\n".repeat(50_000) + whole],
  ["after many broken blocks", block("A", "a-b").repeat(50_000) + whole],
  ["before another request", whole + whole],
  ["without content", `-----BEGIN ${type}-----\n-----END ${type}-----`, "asn1: syntax error: sequence truncated"],
  ["without all of it", block(type, requestDer.slice(0, 80)), "asn1: syntax error: data truncated"],
  ["after another block", block("CERTIFICATE") + whole, notOne],
  ["without an end", `-----BEGIN ${type}-----\n${requestDer}\n`, notOne],
  ["with another end", block(type, requestDer, "CERTIFICATE"), notOne],
  ["that is not base64", block(type, "a-b"), notOne],
  ["with text before it on its line", `x${whole}`, notOne],
  ["with text after its end", `${whole.trimEnd()}x\n`, notOne],
  ["without dashes after its type", whole.replace(`${type}-----`, type), notOne],
];

for (const [name, pem, problem] of blocks) {
  test(`the block of a request ${name}`, () => {
    const want = problem === undefined ? [] : [`spec.request: Invalid value: "${base64(pem)}": ${problem}`];
    assert.deepEqual(errorsOf({ request: base64(pem) }), want);
  });
}

test("a request for administrators is refused by the signer of the API server", () => {
  const masters =
    "MIGnMFsCAQAwKDEXMBUGA1UECgwOc3lzdGVtOm1hc3RlcnMxDTALBgNVBAMMBGV2aWwwKjAFBgMrZXADIQAl2B5qZ2atl+vJIjWf" +
    "Xt7Z3WQiZk3vDT7EmZuITptVkKAAMAUGAytlcANBADkzoKG/qMvnU0MIPcQLNHO0W3H1N/jDFyNv0HBln3UEw+jzHnBC5ICsG3Xs" +
    "6i2seI59/+kmZOY8fvasua5YVQM=";
  const check = (der: string, signerName: string): void => {
    const request = base64(block(type, der));
    const attributes = { object: { spec: { request, signerName } }, type: { group: "g", resource: "r" }, name: "a" };
    subjectRestriction.validate?.(attributes as object as Parameters<NonNullable<AdmissionPlugin["validate"]>>[0]);
  };
  const client = "kubernetes.io/kube-apiserver-client";
  assert.throws(() => check(masters, client), /use of \S+ signer with system:masters group is not allowed/);
  check(masters, "example.org/signer");
  check(requestDer, client);
  check("AAAA", client);
});

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

test("conditions that the old object has already stay allowed", () => {
  const old = object([condition("Approved"), condition("Denied"), condition(""), condition("")]);
  assert.deepEqual(change(old, old, "status"), []);
});

test("a certificate is one, and is written once", () => {
  assert.deepEqual(change(object([], { certificate }), object([]), "status"), []);
  assert.deepEqual(change(object([], { certificate: base64("x") }), object([]), "status"), [
    'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block',
  ]);
  const reset = "status.certificate: Forbidden: updates may not modify existing certificate content";
  assert.deepEqual(change(object([]), object([], { certificate }), "status"), [reset]);
  assert.deepEqual(change(object([], { certificate: request }), object([], { certificate }), "status"), [
    'status.certificate: Invalid value: "<certificate data>": only CERTIFICATE PEM blocks are allowed, found "CERTIFICATE REQUEST"',
    reset,
  ]);
  assert.deepEqual(
    change(object([], { certificate: request }), object([], { certificate: request }), "status"),
    [],
    "an old certificate is not looked at again",
  );
});

test("the server records the requesting user, whatever a client writes", () => {
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

test("of a long list of usages or conditions the first hundred errors are reported", () => {
  const usages = errorsOf({ usages: Array.from({ length: 1000 }, (_, at) => `u${at % 500}`) });
  assert.equal(usages.length, 200, "a hundred that are not known, a hundred that are there twice");
  const conditions = Array.from({ length: 1000 }, (_, at) => ({ type: `t${at % 500}`, status: "True" }));
  const errors = (rules.validateChange?.({ status: { conditions } }, {}, "status") ?? []).map(fieldErrorText);
  assert.deepEqual([errors.length, errors[0]], [100, 'status.conditions[500].type: Duplicate value: "t0"']);
  const both = [
    { type: "Denied", status: "True" },
    { type: "x", status: "True" },
    { type: "Approved", status: "True" },
  ];
  assert.deepEqual(
    (rules.validateChange?.({ status: { conditions: both } }, {}, "approval") ?? []).map(fieldErrorText),
    ['status.conditions: Invalid value: "Approved": Approved and Denied conditions are mutually exclusive'],
  );
});
