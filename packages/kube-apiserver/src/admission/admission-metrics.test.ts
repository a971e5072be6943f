// SPDX-License-Identifier: Apache-2.0
// The metrics of admission: names and labels are those of kube-apiserver.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import { builtinKinds } from "@purlin/kube-builtin";
import type { JsonObject } from "@purlin/kube-objects/json";
import { startTestServer, type TestServer, textOf } from "../../test/test-server.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const registration = "/apis/admissionregistration.k8s.io/v1";

const authority = createAuthority({ commonName: "webhooks" });
const pair = issueCertificate(authority, { commonName: "hook", ipAddresses: ["127.0.0.1"], usages: ["server"] });

let server: TestServer;
let hook: Server;

/** Answers by the path: allows, denies with a code, fails with a code, or answers garbage. */
before(async () => {
  server = await startTestServer({ kinds: builtinKinds });
  hook = createServer({ key: pair.keyPem, cert: pair.certPem }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const review = JSON.parse(Buffer.concat(chunks).toString()) as { readonly request: { readonly uid: string } };
      const { uid } = review.request;
      const [, what = "", code = ""] = new URL(request.url ?? "", "https://hook").pathname.split("/");
      if (what === "fail") response.writeHead(Number(code));
      const denial = what === "deny" ? { allowed: false, status: { code: Number(code) } } : { allowed: true };
      const answer = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: { uid, ...denial } };
      response.end(what === "garbage" ? "{}" : JSON.stringify(answer));
    });
  });
  hook.listen(0, "127.0.0.1");
  await once(hook, "listening");
});
after(async () => {
  hook.closeAllConnections();
  hook.close();
  await server[Symbol.asyncDispose]();
});

/** The samples of a metric that have a label, without the name. Times are left out. */
async function samples(metric: string, label: string): Promise<string[]> {
  const text = textOf(await server.send("/metrics"));
  const lines = text.split("\n").filter((line) => line.startsWith(`${metric}{`) && line.includes(label));
  return lines.map((line) => line.slice(metric.length)).sort();
}

async function create(name: string, query = ""): Promise<number> {
  return (await server.send(`${maps}${query}`, { method: "POST", body: { metadata: { name } } })).code;
}

async function withWebhook(kind: string, path: string, more: JsonObject, act: () => Promise<void>): Promise<void> {
  const { port } = hook.address() as AddressInfo;
  const name = path.replace("/", "-");
  const url = `${registration}/${kind}webhookconfigurations`;
  await server.post(url, {
    metadata: { name },
    webhooks: [
      {
        name: `${name}.${kind}.example.org`,
        clientConfig: {
          url: `https://127.0.0.1:${port}/${path}`,
          caBundle: Buffer.from(authority.certPem).toString("base64"),
        },
        rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        ...more,
      },
    ],
  });
  try {
    await act();
  } finally {
    await server.delete(`${url}/${name}`);
  }
}

const counts = {
  requests: "apiserver_admission_webhook_request_total",
  rejections: "apiserver_admission_webhook_rejection_count",
  failedOpen: "apiserver_admission_webhook_fail_open_count",
  seconds: "apiserver_admission_webhook_admission_duration_seconds_count",
};

interface Row {
  readonly path: string;
  readonly more?: JsonObject;
  readonly code: string;
  readonly rejected: boolean;
  readonly error?: string;
  readonly failsOpen?: boolean;
}

const rows: readonly Row[] = [
  { path: "allow", code: "200", rejected: false },
  { path: "deny/418", code: "418", rejected: true, error: "no_error" },
  { path: "deny/700", code: "600", rejected: true, error: "no_error" },
  { path: "fail/500", code: "500", rejected: true, error: "calling_webhook_error" },
  { path: "garbage", code: "503", rejected: true, error: "calling_webhook_error" },
  { path: "fail/501", more: { failurePolicy: "Ignore" }, code: "501", rejected: false, failsOpen: true },
];

for (const [kind, type] of [
  ["validating", "validating"],
  ["mutating", "admit"],
] as const) {
  for (const { path, more = {}, code, rejected, error, failsOpen } of rows) {
    test(`a ${kind} webhook is counted: ${path}`, async () => {
      const name = `${path.replace("/", "-")}.${kind}.example.org`;
      const label = `name="${name}"`;
      await withWebhook(kind, path, more, async () => {
        assert.equal((await create(`${kind}-${path.replace("/", "-")}`)) < 400, !rejected);
      });
      const common = `name="${name}",operation="CREATE"`;
      assert.deepEqual(await samples(counts.requests, label), [
        `{code="${code}",${common},rejected="${rejected}",type="${type}"} 1`,
      ]);
      assert.deepEqual(await samples(counts.seconds, label), [`{${common},rejected="${rejected}",type="${type}"} 1`]);
      const refusal = `{error_type="${error}",${common},rejection_code="${code}",type="${type}"} 1`;
      assert.deepEqual(await samples(counts.rejections, label), error === undefined ? [] : [refusal]);
      const opened = `{${label},type="${type}"} 1`;
      assert.deepEqual(await samples(counts.failedOpen, label), failsOpen ? [opened] : []);
    });
  }
}

async function withPolicy(name: string, spec: JsonObject, actions: readonly string[], act: () => Promise<void>) {
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] };
  const policies = `${registration}/validatingadmissionpolicies`;
  const bindings = `${registration}/validatingadmissionpolicybindings`;
  await server.post(policies, {
    metadata: { name },
    spec: { matchConstraints: { resourceRules: [rule] }, ...spec },
  });
  await server.post(bindings, {
    metadata: { name: `${name}-all` },
    spec: { policyName: name, validationActions: [...actions] },
  });
  try {
    await act();
  } finally {
    await server.delete(`${bindings}/${name}-all`);
    await server.delete(`${policies}/${name}`);
  }
}

const checks = "apiserver_validating_admission_policy_check_total";
const checkSeconds = "apiserver_validating_admission_policy_check_duration_seconds_count";
const labelsOf = (name: string, error: string): string =>
  `error_type="${error}",policy="${name}",policy_binding="${name}-all"`;

test("checks of validating policies are counted by what was done", async () => {
  const validations = [{ expression: "object.metadata.name != 'bad'" }];
  await withPolicy("warned", { validations }, ["Warn", "Audit"], async () => {
    assert.equal(await create("good"), 201);
    assert.deepEqual(await samples(checks, 'policy="warned"'), [], "validations that hold are not counted");
    assert.equal(await create("bad", "?dryRun=All"), 201);
  });
  const labels = labelsOf("warned", "invalid_error");
  const expected = ["audit", "warn"].map((action) => `{${labels},enforcement_action="${action}"} 1`);
  assert.deepEqual(await samples(checks, 'policy="warned"'), expected);
  assert.deepEqual(await samples(checkSeconds, 'policy="warned"'), expected);
  await withPolicy("denied", { validations }, ["Deny"], async () => {
    assert.equal(await create("bad"), 422);
  });
  const deny = `{${labelsOf("denied", "invalid_error")},enforcement_action="deny"} 1`;
  assert.deepEqual(await samples(checks, 'policy="denied"'), [deny]);
});

test("an error that a validating policy ignores is counted as allowed", async () => {
  const validations = [{ expression: "object.data.missing == 'x'" }];
  await withPolicy("ignored", { validations, failurePolicy: "Ignore" }, ["Deny"], async () => {
    assert.equal(await create("ignored"), 201);
  });
  const allow = `{${labelsOf("ignored", "invalid_error")},enforcement_action="allow"} 1`;
  assert.deepEqual(await samples(checks, 'policy="ignored"'), [allow]);
});

test("mutations by policies are counted", async () => {
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] };
  const expression = 'Object{metadata: Object.metadata{labels: {"made": "yes"}}}';
  await server.post(`${registration}/mutatingadmissionpolicies`, {
    metadata: { name: "labels" },
    spec: {
      matchConstraints: { resourceRules: [rule] },
      reinvocationPolicy: "Never",
      mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression } }],
    },
  });
  await server.post(`${registration}/mutatingadmissionpolicybindings`, {
    metadata: { name: "labels-all" },
    spec: { policyName: "labels" },
  });
  assert.equal(await create("labelled"), 201);
  await server.delete(`${registration}/mutatingadmissionpolicybindings/labels-all`);
  const total = "apiserver_mutating_admission_policy_check_total";
  assert.deepEqual(await samples(total, 'policy="labels"'), [`{${labelsOf("labels", "no_error")}} 1`]);
});

test("steps and plugins are timed by operation and outcome", async () => {
  const controllers = "apiserver_admission_controller_admission_duration_seconds_count";
  const steps = "apiserver_admission_step_admission_duration_seconds_count";
  const at = "/api/v1/namespaces/default/resourcequotas";
  const hard = { "count/configmaps": "0" };
  const countOf = async (metric: string, labels: string): Promise<number> =>
    Number((await samples(metric, labels))[0]?.split(" ").at(-1) ?? 0);
  const quota = (rejected: boolean): string => `{name="ResourceQuota",operation="CREATE",rejected="${rejected}"`;
  const before = await countOf(controllers, `${quota(true)},type="validate"`);
  const validated = await countOf(steps, '{operation="CREATE",rejected="false",type="validate"');
  await server.post(at, { metadata: { name: "none" }, spec: { hard } });
  assert.equal(await create("over"), 403);
  await server.delete(`${at}/none`);
  assert.equal(await countOf(controllers, `${quota(true)},type="validate"`), before + 1);
  // The quota itself, and the ConfigMap, which the quota refuses after this step.
  assert.equal(await countOf(steps, '{operation="CREATE",rejected="false",type="validate"'), validated + 2);
  await server.post("/api/v1/namespaces/default/pods", {
    metadata: { name: "one" },
    spec: { containers: [{ name: "c", image: "i" }] },
  });
  const account = '{name="ServiceAccount",operation="CREATE",rejected="false",type="admit"}';
  assert.equal(await countOf(controllers, account), 1);
});

test("match conditions that do not all hold are counted", async () => {
  const fails = { name: "fails", expression: "object.data.nope == 'x'" };
  const isFalse = { name: "false", expression: "object.metadata.name == 'other'" };
  const prefix = "apiserver_admission_match_condition";
  for (const [kind, type, excluded] of [
    ["validating", "validating", "validate"],
    ["mutating", "admit", "admit"],
  ] as const) {
    const label = `name="allow.${kind}.example.org"`;
    await withWebhook(kind, "allow", { matchConditions: [fails, isFalse] }, async () => {
      assert.equal(await create(`${kind}-excluded`), 201);
    });
    const labels = (of: string): string => `{kind="webhook",${label},operation="CREATE",type="${of}"} 1`;
    assert.deepEqual(await samples(`${prefix}_evaluation_errors_total`, label), [labels(type)]);
    assert.deepEqual(await samples(`${prefix}_evaluation_seconds_count`, label), [labels(type)]);
    assert.deepEqual(await samples(`${prefix}_exclusions_total`, label), [labels(excluded)]);
  }
  const validations = [{ expression: "false" }];
  await withPolicy("conditional", { validations, matchConditions: [fails] }, ["Deny"], async () => {
    assert.equal(await create("conditional"), 422);
  });
  assert.deepEqual(await samples(`${prefix}_evaluation_errors_total`, 'name="conditional"'), [
    '{kind="policy",name="conditional",operation="CREATE",type="validate"} 1',
  ]);
  assert.deepEqual(await samples(`${prefix}_exclusions_total`, 'name="conditional"'), []);
});

test("the match conditions of a mutating policy are evaluated once, before its mutations", async () => {
  const add = (value: string): JsonObject => ({
    patchType: "JSONPatch",
    jsonPatch: {
      expression: `[JSONPatch{op: 'add', path: '/metadata/labels/x', value: object.metadata.labels.x + '${value}'}]`,
    },
  });
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] };
  await server.post(`${registration}/mutatingadmissionpolicies`, {
    metadata: { name: "once" },
    spec: {
      matchConstraints: { resourceRules: [rule] },
      matchConditions: [{ name: "x", expression: "has(object.metadata.labels) && object.metadata.labels.x == 'a'" }],
      reinvocationPolicy: "Never",
      mutations: [add("b"), add("c")],
    },
  });
  const bindings = `${registration}/mutatingadmissionpolicybindings`;
  await server.post(bindings, { metadata: { name: "once-all" }, spec: { policyName: "once" } });
  const { metadata } = await server.post(maps, { metadata: { name: "once", labels: { x: "a" } } });
  await server.delete(`${bindings}/once-all`);
  assert.deepEqual((metadata as JsonObject)["labels"], { x: "abc" });
});
