// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { defaultPlugins } from "@purlin/kube-apiserver";
import { runInProcess } from "../../test/test-io.ts";
import { readAdmissionPlugins, readWebhookTargets } from "./server-options.ts";

const policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: RequestResponse\n";

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
