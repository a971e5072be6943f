// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { defaultPlugins, parseAuditPolicy } from "@purlin/kube-apiserver";
import { spawnPurlin } from "../../test/spawn-purlin.ts";
import { runInProcess } from "../../test/test-io.ts";
import { openAuditLog, readAdmissionPlugins, readWebhookTargets } from "./server-options.ts";

const policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: RequestResponse\n";

test("purlin apiserver logs requests to a file of its data directory, without the content of Secrets", async () => {
  using folder = tempFolder({
    "policy.yaml": policy,
    "secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter2}\n",
    "map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {key: logged}\n",
  });
  const server = spawnPurlin(["apiserver", "--data-dir", "d", "--audit-policy-file", "policy.yaml"], {
    cwd: folder.path,
  });
  await server.next("stdout", /API server at/);
  for (const file of ["secret.yaml", "map.yaml"]) {
    const { exitCode, stderr } = await runInProcess(["apply", "-f", file, "--data-dir", "d"], {
      cwd: folder.path,
      env: {},
    });
    assert.equal(exitCode, 0, stderr);
  }
  assert.equal(await server.stop(), 0);
  const file = join(folder.path, "d/audit.log");
  const text = readFileSync(file, "utf8");
  assert.equal(statSync(file).mode & 0o077, 0);
  assert.match(text, /"requestObject":\{[^\n]*"key":"logged"/);
  assert.match(text, /"objectRef":\{"resource":"secrets","namespace":"default","name":"s"/);
  assert.doesNotMatch(text, /hunter2|aHVudGVyMg/);
});

const wrong: readonly (readonly [args: readonly string[], says: RegExp])[] = [
  [["--audit-log-path", "a.log"], /an audit log needs a policy: add --audit-policy-file/],
  [["--audit-policy-file", "missing.yaml"], /cannot read .*missing\.yaml: no such file/],
  [["--audit-policy-file", "bad.yaml"], /--audit-policy-file bad\.yaml: rules\[0\]\.level: expected None/],
  [["--audit-policy-file", "two.yaml"], /--audit-policy-file two\.yaml: expected one document/],
  [
    ["--audit-policy-file", "policy.yaml", "--audit-log-maxsize", "0"],
    /--audit-log-maxsize 0: expected an integer of at least 1/,
  ],
];

for (const [args, says] of wrong) {
  test(`the flags ${args.join(" ")} are refused`, async () => {
    using folder = tempFolder({
      "policy.yaml": policy,
      "bad.yaml": policy.replace("RequestResponse", "Everything"),
      "two.yaml": `${policy}---\n${policy}`,
    });
    const outcome = await runInProcess(["apiserver", "--data-dir", "d", ...args], { cwd: folder.path, env: {} });
    assert.notEqual(outcome.exitCode, 0);
    assert.match(outcome.stderr, says);
  });
}

test("a log that is full is rotated, and the oldest files are deleted", async () => {
  using folder = tempFolder();
  const path = join(folder.path, "audit.log");
  const rules = [{ level: "Metadata" }];
  const settings = {
    policy: parseAuditPolicy({ apiVersion: "audit.k8s.io/v1", kind: "Policy", rules }),
    path,
    maxBytes: 100,
    maxBackups: 2,
  };
  {
    using log = openAuditLog(settings, assert.fail);
    for (let number = 0; number < 6; number += 1) {
      log.write(`${String(number).repeat(60)}\n`);
      await turn();
      // File names hold milliseconds.
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    log.write("the last\n");
  }
  const names = readdirSync(folder.path).toSorted();
  assert.equal(names.length, 3, names.join());
  assert.match(names[0] ?? "", /^audit-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}\.log$/);
  assert.equal(readFileSync(path, "utf8"), `${"5".repeat(60)}\nthe last\n`);
});

test("a log that cannot be written is reported once, until it can be written again", async () => {
  using folder = tempFolder();
  const path = join(folder.path, "gone", "audit.log");
  const warnings: string[] = [];
  const rules = [{ level: "Metadata" }];
  const parsed = parseAuditPolicy({ apiVersion: "audit.k8s.io/v1", kind: "Policy", rules });
  const settings = { policy: parsed, path, maxBytes: 100, maxBackups: 2 };
  using log = openAuditLog(settings, (text) => warnings.push(text));
  const write = async (): Promise<void> => {
    log.write("line\n");
    await turn();
    await turn();
  };
  await write();
  await write();
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /^warning: cannot write the audit log .*; events are lost$/);
  mkdirSync(join(folder.path, "gone"));
  await write();
  rmSync(join(folder.path, "gone"), { recursive: true });
  await write();
  assert.equal(warnings.length, 2);
});

const read = (...webhookTarget: string[]): ReturnType<typeof readWebhookTargets> =>
  readWebhookTargets({ args: [], options: { webhookTarget } });

test("targets are read by Service and port", () => {
  assert.deepEqual(
    [...read("default/hook:443=127.0.0.1:9443", "other/hook:8443=[::1]:9444", "a/b:1=localhost:2")],
    [
      ["default/hook:443", { host: "127.0.0.1", port: 9443 }],
      ["other/hook:8443", { host: "::1", port: 9444 }],
      ["a/b:1", { host: "localhost", port: 2 }],
    ],
  );
  assert.equal(read().size, 0);
});

const plugins = (enable: string | string[] = [], disable: string | string[] = []): readonly string[] =>
  readAdmissionPlugins({
    args: [],
    options: { enableAdmissionPlugins: [enable].flat(), disableAdmissionPlugins: [disable].flat() },
  });

test("admission plugins are read as lists", () => {
  const owners = "OwnerReferencesPermissionEnforcement";
  assert.deepEqual(plugins(), defaultPlugins);
  assert.deepEqual(plugins("", ""), defaultPlugins);
  assert.deepEqual(plugins("LimitRanger"), defaultPlugins, "it runs by default");
  assert.deepEqual(
    plugins([`LimitRanger,${owners}`, "ResourceQuota"]).toSorted(),
    [...defaultPlugins, owners].toSorted(),
  );
  const left = defaultPlugins.filter((name) => name !== "ResourceQuota" && name !== "Priority");
  assert.deepEqual(plugins([], ["ResourceQuota", "Priority"]), left);
  assert.deepEqual(plugins([], "Priority,ResourceQuota"), left);
  assert.deepEqual(plugins([], owners), defaultPlugins, "it does not run by default");
});

test("the page on the API server lists the plugins that run by default", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../../docs/reference/api-server.md"), "utf8");
  const listed =
    /^The server runs ([\s\S]*?)\. The other plugins/m.exec(page)?.[1] ?? assert.fail("no list of plugins");
  assert.deepEqual((listed.match(/\b[A-Z][A-Za-z]+/g) ?? []).toSorted(), defaultPlugins.toSorted());
});

for (const [text, name] of [
  ["Nonsense", "Nonsense"],
  ["LimitRanger,limitranger", "limitranger"],
  ["AlwaysPullImages", "AlwaysPullImages"],
  ["LimitRanger, ResourceQuota", " ResourceQuota"],
  ["LimitRanger,", ""],
] as const) {
  test(`the admission plugins "${text}" are refused with the names that are expected`, () => {
    const message = (verb: string): RegExp =>
      new RegExp(
        `^--${verb}-admission-plugins "${name}": this API server has no such plugin; expected NamespaceLifecycle, `,
      );
    assert.throws(() => plugins(text), { exitCode: 2, message: message("enable") });
    assert.throws(() => plugins([], text), { exitCode: 2, message: message("disable") });
  });
}

test("a plugin is not enabled and disabled, and NamespaceLifecycle is not disabled", () => {
  const refused = (problem: string): object => ({ exitCode: 2, message: `--disable-admission-plugins ${problem}` });
  assert.throws(
    () => plugins("Priority,LimitRanger", "ResourceQuota,LimitRanger"),
    refused('"LimitRanger": --enable-admission-plugins names it too; name it once'),
  );
  assert.throws(() => plugins([], "NamespaceLifecycle"), refused('"NamespaceLifecycle": this plugin always runs'));
});

for (const text of [
  "",
  "hook=127.0.0.1:1",
  "a/b=127.0.0.1:1",
  "a/b:0=127.0.0.1:1",
  "a/b:1=127.0.0.1:70000",
  "a/b:1=x",
]) {
  test(`"${text}" is refused with the form that is expected`, () => {
    assert.throws(() => read(text), /expected NAMESPACE\/SERVICE:PORT=HOST:PORT, such as default\/hook:443=/);
  });
}
