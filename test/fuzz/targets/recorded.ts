// SPDX-License-Identifier: Apache-2.0
// Files that one installation hands to another or that other tools write, and what webhooks answer: backups, recorded runs, audit
// policies, test suites, signing requests, schedules and tokens.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateRawSync, gunzipSync, gzipSync } from "node:zlib";
import { CronSyntaxError, parseCron } from "../../../packages/base/src/index.ts";
import { readBackup, skip, writeBackup } from "../../../packages/cli/src/backup/backup-archive.ts";
import { parseYaml } from "../../../packages/cli/src/files/yaml-file.ts";
import { importLine } from "../../../packages/cli/src/runs/import-command.ts";
import { readTestFile } from "../../../packages/cli/src/test-command/test-file.ts";
import { readXprinFile } from "../../../packages/cli/src/test-command/xprin-file.ts";
import { isUserError } from "../../../packages/cli/src/user-error.ts";
import { TestIo } from "../../../packages/cli/test/test-io.ts";
import { parseLibraryCache } from "../../../packages/function-process/src/elf/linked-files.ts";
import { create, encode, isProtocolError, RunFunctionRequest } from "../../../packages/function-protocol/src/index.ts";
import { encodeStruct } from "../../../packages/function-protocol/src/struct-encode.ts";
import {
  patchOperations,
  readReviewResponse,
} from "../../../packages/kube-apiserver/src/admission/admission-review.ts";
import { decideAudit, parseAuditPolicy } from "../../../packages/kube-apiserver/src/audit/audit-policy.ts";
import { namedAudiences } from "../../../packages/kube-apiserver/src/auth/user.ts";
import { webhookConverter } from "../../../packages/kube-apiserver/src/custom/conversion-webhook.ts";
import { WebhookCallError } from "../../../packages/kube-apiserver/src/webhooks/webhook-client.ts";
import { signingRequestRules } from "../../../packages/kube-builtin/src/cluster/signing-request-rules.ts";
import { isStatusError } from "../../../packages/kube-objects/src/errors/index.ts";
import {
  isJsonObject,
  JsonSyntaxError,
  type JsonValue,
  parseJson,
} from "../../../packages/kube-objects/src/json/index.ts";
import { InspectedRuns, inflateRun } from "../../../packages/run-store/src/index.ts";
import { openDatabase } from "../../../packages/run-store/src/store/database.ts";
import { createRunReader } from "../../../packages/run-store/src/store/run-reader.ts";
import { accepted, acceptedAsync, isRefusal, property, type Target } from "../engine/target.ts";

const folder = mkdtempSync(join(tmpdir(), "purlin-fuzz-"));
const suites = mkdtempSync(join(tmpdir(), "purlin-fuzz-"));
const remove = (path: string) => async (): Promise<void> => rmSync(path, { recursive: true, force: true });
const io = new TestIo({ cwd: folder });
const structure = ["[", "]", "{", "}", ":", ",", '"', "null", "5", "true"];
const readJson = (input: Buffer): JsonValue | undefined =>
  accepted(
    () => parseJson(input.toString()),
    (error) => error instanceof JsonSyntaxError,
  );

const policyText = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, users: [a], verbs: [get], nonResourceURLs: ["/api*"]}
- {level: Request, userGroups: [g], resources: [{group: apps, resources: ["*/status", pods], resourceNames: [a]}]}
- {level: Metadata, namespaces: [default], omitManagedFields: true}
`;

export const auditPolicy: Target = {
  covers: ["kube-apiserver/src/audit"],
  dictionary: ["- level: ", "None", "RequestResponse", "resources: ", "group: ", "rules: ", "*", "/*", ...structure],
  seeds: [policyText, "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]"],
  growth: {
    rules: (count) => policyText + "- {level: None, users: [b]}\n".repeat(count),
    users: (count) => `${policyText}- {level: None, users: [${"a,".repeat(count)}]}\n`,
  },
  run(input) {
    const [document] = accepted(() => parseYaml(input.toString(), "policy"), isUserError) ?? [];
    if (document === undefined) return;
    const policy = accepted(() => parseAuditPolicy(document.value as JsonValue), isRefusal);
    if (policy === undefined) return;
    const user = { name: "a", groups: ["g"] };
    decideAudit(policy, user, { kind: "path", verb: "get", path: "/api/v1" });
    const resource = { group: "apps", version: "v1", resource: "pods", subresource: "status" };
    decideAudit(policy, user, { kind: "resource", verb: "get", namespace: "default", name: "a", ...resource });
  },
};

const pem = "-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----\n";
const csr = signingRequestRules(() => new Date(0));

export const signingRequest: Target = {
  covers: ["kube-builtin/src/cluster"],
  dictionary: ["-----BEGIN ", "-----", "\n-----END ", "CERTIFICATE REQUEST", "\n", "a: b\n", "MIIB", "="],
  seeds: [pem, `Proc-Type: x\n${pem}`, `-----BEGIN A-----\nb: c\n\nMIIB\n-----END A-----\n${pem}`, "-----BEGIN -----"],
  growth: {
    begins: (count) => "\n-----BEGIN A-----".repeat(count),
    headers: (count) => `-----BEGIN A-----${"\na:b".repeat(count)}`,
    blocks: (count) => "-----BEGIN A-----\n-----END B-----\n".repeat(count),
    spaces: (count) => `-----BEGIN A-----${" ".repeat(count)}x`,
  },
  run(input) {
    const request = input.toString("base64");
    const spec = { request, usages: ["any"], signerName: input.toString("latin1", 0, 600) };
    csr.validateNew?.({ spec });
    csr.validateChange?.({ status: { certificate: request } }, {}, "status");
  },
};

/** The tar file of a backup. */
async function backupTar(): Promise<Buffer> {
  const path = join(folder, "store.db");
  writeFileSync(path, "store");
  const facts = { version: "1", created: "2026", revision: 1, objects: 1 };
  const target = join(folder, "seed.tar.gz");
  await writeBackup(target, { files: [{ name: "store.db", path }], facts, signal: io.signal });
  return gunzipSync(readFileSync(target));
}

export const backup: Target = {
  covers: ["cli/src/backup"],
  dictionary: ["backup.json", "store.db", '"format": 1', '"files": {', '"sha256"', "../", "/", "0000644", ...structure],
  maxBytes: 8192,
  seeds: [await backupTar(), gzipSync("x")],
  async run(input) {
    const path = join(folder, "backup.tar.gz");
    // The first bytes of gzip: what is compressed already stays as it is.
    writeFileSync(path, input[0] === 0x1f && input[1] === 0x8b ? input : gzipSync(input, { level: 1 }));
    await acceptedAsync(() => readBackup(path, ({ content }) => skip(content), io.signal), isRefusal);
  },
  close: remove(folder),
};

const message = { meta: { tag: "t" }, observed: { composite: { resource: { kind: "A", metadata: { name: "x" } } } } };
const step =
  '"traceId":"t","spanId":"s","stepIndex":0,"stepName":"n","functionName":"f","timestamp":"2026-01-02T03:04:05Z"';

export const inspectorLine: Target = {
  covers: ["cli/src/runs", "run-store/src/record", "function-protocol/src"],
  dictionary: ['"meta":', '"request":', '"response":', '"type":"REQUEST"', '"payload":', '"error":"x"', ...structure],
  seeds: [
    `{"meta":{${step}},"request":${JSON.stringify(message)}}`,
    `{"meta":{${step}},"error":"x"}`,
    `{"type":"REQUEST","meta":{${step}},"payload":${JSON.stringify(JSON.stringify(message))}}`,
    `{"type":"RESPONSE","meta":{${step}},"payload":"${Buffer.from('{"results":[{"message":"m","severity":1}]}').toString("base64")}"}`,
  ],
  run(input) {
    const records: unknown[] = [];
    const runs = new InspectedRuns((record) => records.push(record));
    accepted(() => importLine(`{"meta":{${step}},"request":{}}`, runs), isRefusal);
    accepted(
      () => importLine(input.toString(), runs),
      (error) => isRefusal(error) || isProtocolError(error),
    );
    runs.end();
    property(records.length <= 2, "two messages are more than two runs");
  },
};

const request = Buffer.from(encode(RunFunctionRequest, create(RunFunctionRequest))).toString("base64");
const body = `{"id":"a","xr":{"apiVersion":"v1","kind":"A","name":"x"},"composite":"r","parts":["r"],"steps":[{"index":0,"name":"n","calls":[{"request":"${request}"}]}],"writes":[],"conditions":[]}`;
const summary = '{"id":"a","xr":{"apiVersion":"v1","kind":"A","name":"x"},"outcome":"composed","steps":["n"]}';
const part = Buffer.from(encodeStruct({ a: 1 })).toString("latin1");

let database: ReturnType<typeof openDatabase> | undefined;

export const recordedRun: Target = {
  covers: ["run-store/src/store", "run-store/src/read"],
  dictionary: ['"steps":[', '"calls":[', '"request":"', '"composite":"', '"parts":[', '"xr":{', "\n", ...structure],
  seeds: [`${summary}\n${body}\n${part}`, `{}\n{}\n`, `${summary}\n${deflateRawSync(body).toString("latin1")}\n`],
  run(input) {
    const [first = "", second = "", ...rest] = input.toString("latin1").split("\n");
    // One for all inputs: each would take a megabyte outside of the heap until it is collected.
    database ??= openDatabase(":memory:");
    database.exec("DELETE FROM run; DELETE FROM pack; DELETE FROM part");
    const isText = second.startsWith("{");
    database
      .prepare("INSERT INTO run VALUES ('a', 'x', 'r', 'o', 0, 1, 1, x'00', ?, x'00', ?)")
      .run(first, isText ? second : Buffer.from(second, "latin1"));
    database.prepare("INSERT INTO pack VALUES (1, 1, ?)").run(deflateRawSync(Buffer.from(rest.join("\n"), "latin1")));
    database.prepare("INSERT INTO part VALUES ('r', 1, 0, ?, 1)").run(rest.join("\n").length);
    const reader = createRunReader(database);
    const isOwn = (error: unknown): boolean => isRefusal(error) || isProtocolError(error);
    accepted(() => reader.list({ kind: "a", failed: true, step: "n" }), isOwn);
    accepted(() => reader.list(), isOwn);
    const document = accepted(() => reader.get("a"), isOwn);
    if (document !== undefined) accepted(() => inflateRun(document), isOwn);
  },
};

const suite = `apiVersion: test.purlin.dev/v1alpha1
kind: CompositionTest
spec:
  inputs: {xr: xr.yaml, composition: c.yaml, functions: [f.yaml]}
  cases:
  - name: a
    expect: {resources: [{kind: A, spec: {a: "{{ b }}"}}], conditions: [{type: Ready}]}
`;
const xprin = `common: {inputs: {xr: xr.yaml}}
tests:
- name: a
  inputs: {composition: "{{ .Repositories.x }}/c.yaml", functions: f.yaml}
  assertions: {xprin: [{name: c, type: Count, value: 3}]}
  hooks: {pre-test: [{name: h, run: "echo {{ .Tests.a.Outputs.XR }}"}]}
`;

export const testSuite: Target = {
  covers: ["cli/src/test-command"],
  dictionary: [
    "cases:\n",
    "- name: ",
    "expect: ",
    "inputs: ",
    "{{ .Tests.",
    " }}",
    "hooks: ",
    "reconciles: ",
    ...structure,
  ],
  seeds: [suite, xprin, suite.replace("CompositionTest", "OperationTest")],
  growth: {
    cases: (count) => suite + Array.from({ length: count }, (_, at) => `  - name: b${at}\n`).join(""),
    templates: (count) => `${xprin}x: "${"{{ a }}".repeat(count)}"\n`,
    braces: (count) => `${xprin}x: "${"{".repeat(count)}"\n`,
  },
  async run(input) {
    const file = join(suites, "xprin.yaml");
    writeFileSync(file, input);
    await acceptedAsync(() => readTestFile(file, io), isUserError);
    await acceptedAsync(() => readXprinFile(file, io, { hooks: [], allowHooks: true }), isUserError);
  },
  close: remove(suites),
};

const uid = "u";
const review = (kind: string, response: string): string =>
  `{"apiVersion":"${kind === "ConversionReview" ? "apiextensions" : "admission"}.k8s.io/v1","kind":"${kind}","response":${response}}`;
const original = { apiVersion: "e.org/v1", kind: "W", metadata: { name: "a", uid: "x", labels: { a: "b" } } };

export const webhookAnswer: Target = {
  covers: ["kube-apiserver/src/admission", "kube-apiserver/src/custom", "kube-apiserver/src/webhooks"],
  dictionary: [
    '"response":{',
    '"uid":"u"',
    '"patch":"',
    '"patchType":"JSONPatch"',
    '"convertedObjects":[',
    ...structure,
  ],
  seeds: [
    review(
      "AdmissionReview",
      `{"uid":"u","allowed":true,"patchType":"JSONPatch","patch":"${Buffer.from('[{"op":"add","path":"/a","value":1}]').toString("base64")}","warnings":["w"],"auditAnnotations":{"a":"b"}}`,
    ),
    review("AdmissionReview", '{"uid":"u","allowed":false,"status":{"code":403,"message":"m"}}'),
    review(
      "ConversionReview",
      `{"uid":"u","result":{"status":"Success"},"convertedObjects":[{"apiVersion":"e.org/v2","kind":"W","metadata":{"name":"a","uid":"x","labels":{"c":"d"}},"spec":{}}]}`,
    ),
  ],
  async run(input) {
    const answer = readJson(input);
    if (answer === undefined) return;
    const isOwn = (error: unknown): boolean => error instanceof WebhookCallError || isStatusError(error);
    for (const isMutating of [true, false]) {
      const response = accepted(() => readReviewResponse(answer, { reviewVersion: "v1" }, { uid, isMutating }), isOwn);
      if (response !== undefined) accepted(() => patchOperations(response), isOwn);
    }
    const conversion = { strategy: "Webhook", webhook: { clientConfig: {}, conversionReviewVersions: ["v1"] } };
    const converter = webhookConverter(
      { spec: { conversion } },
      { client: { post: async () => answer }, newUid: () => uid },
    );
    const converted = await acceptedAsync(async () => converter?.convert([original], "e.org/v2"), isOwn);
    property(converted === undefined || converted.every(isJsonObject), "a converted object is not an object");
  },
};

export const schedule: Target = {
  covers: ["base/src/cron"],
  dictionary: ["* ", "*/5 ", "1-5", ",", "TZ=", "CRON_TZ=Europe/Berlin ", "@every ", "@daily", "1h", "MON", "?"],
  seeds: ["*/5 1-3 * JAN mon-fri", "TZ=Europe/Berlin 0 0 31 2 *", "@every 1h30m", "@hourly"],
  run(input) {
    const parsed = accepted(
      () => parseCron(input.toString()),
      (error) => error instanceof CronSyntaxError,
    );
    if (parsed === undefined) return;
    const now = Date.parse("2026-03-28T23:30:00Z");
    const next = parsed.next(now);
    property(next === undefined || next > now, "the next time is not later");
    const last = parsed.last({ after: now, until: now + 864e5 });
    property(last === undefined || (last > now && last <= now + 864e5), "the last time is not within its window");
  },
};

export const tokensAndCaches: Target = {
  covers: ["kube-apiserver/src/auth", "function-process/src/elf"],
  dictionary: [".", "eyJ", "glibc-ld.so.cache1.1", "\0", "libc.so.6", "/lib/libc.so.6"],
  seeds: [
    `eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.${Buffer.from('{"iss":"https://kubernetes.default.svc","aud":["a"]}').toString("base64url")}.x`,
    Buffer.concat([Buffer.from("glibc-ld.so.cache1.1"), Buffer.alloc(100, 1)]),
  ],
  run(input) {
    const audiences = namedAudiences(input.toString("latin1"));
    property(audiences === undefined || Array.isArray(audiences), "audiences are not a list");
    parseLibraryCache(input);
  },
};
