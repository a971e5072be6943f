// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { accessFromKubeconfig, createHttpsTransport, createKubeClient, type KubeClient } from "@purlin/kube-client";
import { isForbidden, isUnauthorized } from "@purlin/kube-objects/errors";
import { load } from "js-yaml";
import { spawnPurlin } from "../../test/spawn-purlin.ts";
import { runInProcess } from "../../test/test-io.ts";

async function clientOf(file: string): Promise<KubeClient> {
  const config = load(readFileSync(file, "utf8")) as Parameters<typeof accessFromKubeconfig>[0];
  const access = await accessFromKubeconfig(config, { file, env: {} });
  return createKubeClient(createHttpsTransport(access));
}

const list = (client: KubeClient, namespace: string): Promise<unknown> =>
  client.raw({ method: "GET", path: `/api/v1/namespaces/${namespace}/configmaps` });

test("a second person has the role in its namespace, and nothing after the binding is deleted", async () => {
  using folder = tempFolder();
  const directory = join(folder.path, "data");
  await using server = spawnPurlin(["apiserver", "--data-dir", directory]);
  await server.next("stdout", /API server at/);
  const file = join(folder.path, "jane.kubeconfig");
  const args = ["kubeconfig", "--data-dir", directory, "--as", "jane", "--namespace", "default", "--role", "view"];
  const written = await runInProcess([...args, "--output", file]);
  assert.equal(written.exitCode, 0, written.stderr);
  assert.equal(written.stderr, "");
  const jane = await clientOf(file);
  const admin = await clientOf(join(directory, "kubeconfig"));
  await list(jane, "default");
  await assert.rejects(
    list(jane, "kube-system"),
    (error) => isForbidden(error) && /User "jane" cannot list/.test(String(error)),
  );
  const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "default" } };
  await assert.rejects(jane.create(configMap), isForbidden);
  const bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
  await admin.raw({ method: "DELETE", path: `${bindings}/purlin:jane:view` });
  await assert.rejects(list(jane, "default"), isForbidden);
  await Promise.all([jane.close(), admin.close()]);
  const absent = await runInProcess(args.map((word) => (word === "default" ? "absent" : word)));
  const text = 'error: --namespace absent: namespaces "absent" not found: create it first\n';
  assert.deepEqual([absent.exitCode, absent.stdout, absent.stderr], [1, "", text]);
});

const authenticationOf = (client: KubeClient): Promise<unknown> =>
  client.raw({
    method: "POST",
    path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
  });

test("a kubeconfig is renewed beside the old one, and --revoke ends both at once, until it is issued again", async () => {
  using folder = tempFolder();
  const directory = join(folder.path, "data");
  await using server = spawnPurlin(["apiserver", "--data-dir", directory]);
  await server.next("stdout", /API server at/);
  const write = async (name: string, ...args: readonly string[]): Promise<KubeClient> => {
    const file = join(folder.path, name);
    const base = ["kubeconfig", "--data-dir", directory, "--as", "jane@example.org", "--output", file];
    const { exitCode, stderr } = await runInProcess([...base, ...args]);
    assert.deepEqual([exitCode, stderr], [0, ""]);
    return clientOf(file);
  };
  const first = await write("first", "--namespace", "default", "--role", "view", "--group", "devs");
  const renewed = await write("renewed", "--role", "edit", "--days", "2");
  await Promise.all([list(first, "default"), list(renewed, "kube-system")]);
  const revoke = ["kubeconfig", "--data-dir", directory, "--as", "jane@example.org", "--revoke"];
  const revoked = await runInProcess(revoke);
  assert.deepEqual(
    [revoked.exitCode, revoked.stderr, revoked.stdout],
    [0, "", "certificates of jane@example.org are refused; bindings deleted: 2\n"],
  );
  // The connections are those of the requests before.
  for (const client of [first, renewed]) await assert.rejects(authenticationOf(client), isUnauthorized);
  const again = await write("again");
  await authenticationOf(again);
  await assert.rejects(list(again, "default"), isForbidden, "the bindings are gone");
  await assert.rejects(authenticationOf(first), isUnauthorized);
  assert.equal(
    (await runInProcess(revoke)).stdout,
    "certificates of jane@example.org are refused; bindings deleted: 0\n",
  );
  await assert.rejects(authenticationOf(again), isUnauthorized);
  await Promise.all([first, renewed, again].map((client) => client.close()));
  const admin = await clientOf(join(directory, "kubeconfig"));
  await list(admin, "default");
  await admin.close();
});

test("the command warns when the server does not evaluate roles", async () => {
  using folder = tempFolder();
  const directory = join(folder.path, "data");
  await using server = spawnPurlin(["apiserver", "--data-dir", directory, "--authorization", "admin"]);
  await server.next("stdout", /API server at/);
  const { exitCode, stderr } = await runInProcess([
    "kubeconfig",
    "--data-dir",
    directory,
    "--as",
    "jane",
    "--role",
    "edit",
  ]);
  assert.equal(exitCode, 0);
  assert.match(stderr, /does not evaluate roles: start it without --authorization=admin/);
});

const refused: readonly (readonly [args: readonly string[], text: RegExp])[] = [
  [["--as", "system:admin"], /reserved/],
  [["--as", "jane", "--group", "system:masters"], /reserved/],
  [["--as", "a/b"], /expected letters/],
  [["--as", "jane", "--role", "owner"], /expected view, edit or admin/],
  [["--as", "jane", "--revoke", "--role", "view"], /--revoke revokes all access of the user: leave --role out/],
  [["--as", "jane", "--revoke", "--group", "a"], /leave --group out/],
  [["--as", "jane", "--days", "0"], /expected an integer from 1 to 365/],
];

for (const [args, text] of refused) {
  test(`refused: ${args.join(" ")}`, async () => {
    const { exitCode, stderr } = await runInProcess(["kubeconfig", ...args]);
    assert.equal(exitCode, 2);
    assert.match(stderr, text);
  });
}
