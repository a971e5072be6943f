// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { type ExecConfig, inClusterAccess } from "./cluster-access.ts";
import { accessFromKubeconfig, checkKubeconfig, type Kubeconfig } from "./kubeconfig.ts";

const directory = mkdtempSync(join(tmpdir(), "kubeconfig-"));
after(() => rmSync(directory, { recursive: true }));
const file = join(directory, "config");
const options = { file, env: { PATH: process.env["PATH"] } };

type User = NonNullable<Kubeconfig["users"]>[number]["user"];

function config(user: User, cluster: object = {}): Kubeconfig {
  return {
    "current-context": "main",
    clusters: [{ name: "c", cluster: { server: "https://kube.test:6443", ...cluster } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "main", context: { cluster: "c", user: "u", namespace: "team" } }],
  };
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

test("data, files, names and namespace are read", async () => {
  writeFileSync(join(directory, "key.pem"), "KEY");
  const access = await accessFromKubeconfig(
    config(
      { "client-certificate-data": base64("CERT"), "client-key": "key.pem", as: "bob", "as-groups": ["g"] },
      { "certificate-authority-data": base64("CA"), "tls-server-name": "other", "insecure-skip-tls-verify": true },
    ),
    options,
  );
  const { credentials, ...rest } = access;
  assert.deepEqual(rest, {
    server: "https://kube.test:6443",
    caPem: "CA",
    tlsServerName: "other",
    insecureSkipTlsVerify: true,
    namespace: "team",
  });
  const { certPem, keyPem, impersonate } = await credentials.current();
  assert.deepEqual([certPem, keyPem, impersonate], ["CERT", "KEY", { user: "bob", groups: ["g"] }]);
});

test("tokens, token files and passwords", async () => {
  const current = async (user: User) => (await accessFromKubeconfig(config(user), options)).credentials.current();
  assert.equal((await current({ token: "t" })).bearerToken, "t");
  assert.deepEqual((await current({ username: "a", password: "b" })).basic, { username: "a", password: "b" });
  assert.deepEqual(await current(null), await current({}));
});

test("a token file is read again when it changes", async () => {
  const path = join(directory, "token");
  writeFileSync(path, "one\n");
  const { credentials } = await accessFromKubeconfig(config({ tokenFile: "token" }), options);
  assert.equal((await credentials.current()).bearerToken, "one");
  writeFileSync(path, "two\n");
  utimesSync(path, new Date(), new Date(Date.now() + 5000));
  assert.equal((await credentials.current()).bearerToken, "two");
});

test("a token file wins over a token, which counts while there is no file", async () => {
  const { credentials } = await accessFromKubeconfig(config({ tokenFile: "later", token: "first" }), options);
  assert.equal((await credentials.current()).bearerToken, "first");
  writeFileSync(join(directory, "later"), "second\n");
  assert.equal((await credentials.current()).bearerToken, "second");
  const { credentials: none } = await accessFromKubeconfig(config({ tokenFile: "none" }), options);
  await assert.rejects(none.current(), /ENOENT/);
});

const broken: Record<string, { readonly config: Kubeconfig; readonly context?: string; readonly says: RegExp }> = {
  "no current context": { config: {}, says: /config has no current-context; set one or name a context$/ },
  "unknown context": { config: config({}), context: "x", says: /config has no context "x"; it has "main"$/ },
  "unknown cluster": { config: { ...config({}), clusters: [] }, says: /config has no cluster "c"; it has none$/ },
  "unknown user": { config: { ...config({}), users: [] }, says: /config has no user "u"; it has none$/ },
  "no server": { config: config({}, { server: "" }), says: /config cluster "c" has no server$/ },
  "missing file": {
    config: config({}, { "certificate-authority": "nope" }),
    says: /config names .*nope, which cannot be read: ENOENT/,
  },
  "removed auth provider": {
    config: config({ "auth-provider": {} }),
    says: /user "u" uses auth-provider, .* use exec instead$/,
  },
  "unknown exec version": {
    config: config({ exec: { apiVersion: "client.authentication.k8s.io/v1alpha1", command: "x" } }),
    says: /user "u": exec\.apiVersion is "client\.authentication\.k8s\.io\/v1alpha1", expected /,
  },
};
for (const [name, { config: bad, context, says }] of Object.entries(broken)) {
  test(`bad kubeconfig: ${name}`, async () => {
    await assert.rejects(accessFromKubeconfig(bad, { ...options, context }), { message: says });
  });
}

function plugin(name: string, script: string, change: Partial<ExecConfig> = {}): User {
  writeFileSync(join(directory, name), `#!${process.execPath}\n${script}`, { mode: 0o700 });
  return { exec: { apiVersion: "client.authentication.k8s.io/v1", command: `./${name}`, ...change } };
}

test("an exec plugin is run once until its token expires or is refused", async () => {
  const counter = join(directory, "count");
  writeFileSync(counter, "");
  const user = plugin(
    "plugin.cjs",
    `const fs = require("fs"); fs.appendFileSync(process.env.COUNTER, "x");
     const info = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
     console.log(JSON.stringify({ apiVersion: info.apiVersion, kind: "ExecCredential", status: {
       token: process.argv[2] + fs.readFileSync(process.env.COUNTER).length + info.spec.cluster.server,
       expirationTimestamp: new Date(Date.now() + 60000).toISOString() } }));`,
    { args: ["tok"], env: [{ name: "COUNTER", value: counter }], provideClusterInfo: true },
  );
  const { credentials } = await accessFromKubeconfig(config(user), options);
  const together = await Promise.all([credentials.current(), credentials.current()]);
  assert.deepEqual(
    together.map(({ bearerToken }) => bearerToken),
    ["tok1https://kube.test:6443", "tok1https://kube.test:6443"],
  );
  credentials.refused?.();
  assert.equal((await credentials.current()).bearerToken, "tok2https://kube.test:6443");
});

const badPlugins: Record<string, { readonly user: () => User; readonly says: RegExp }> = {
  "not there": {
    user: () => ({
      exec: { apiVersion: "client.authentication.k8s.io/v1", command: "no-such-plugin", installHint: "install it" },
    }),
    says: /user "u": exec plugin no-such-plugin failed: .*ENOENT; install it$/,
  },
  fails: {
    user: () => plugin("fails.cjs", 'console.error("denied"); process.exit(3)'),
    says: /failed: Command failed: .*\n?denied/,
  },
  "no JSON": { user: () => plugin("text.cjs", 'console.log("hi")'), says: /failed: .*JSON/ },
  "another kind": {
    user: () => plugin("kind.cjs", 'console.log(JSON.stringify({ apiVersion: "v1", kind: "Pod" }))'),
    says: /it printed v1, Kind=Pod instead of an ExecCredential/,
  },
  "no credentials": {
    user: () =>
      plugin(
        "empty.cjs",
        'console.log(JSON.stringify({ apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential" }))',
      ),
    says: /neither a token nor a client certificate/,
  },
};
for (const [name, { user, says }] of Object.entries(badPlugins)) {
  test(`bad exec plugin: ${name}`, async () => {
    const { credentials } = await accessFromKubeconfig(config(user()), options);
    await assert.rejects(credentials.current(), { message: says });
  });
}

test("in a cluster, the service account's files are used; outside, nothing", async () => {
  writeFileSync(join(directory, "ca.crt"), "CA");
  writeFileSync(join(directory, "namespace"), "prod\n");
  writeFileSync(join(directory, "token"), "sa");
  const env = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" };
  const access = await inClusterAccess(env, directory);
  assert.deepEqual([access?.server, access?.caPem, access?.namespace], ["https://[fd00::1]:443", "CA", "prod"]);
  assert.equal((await access?.credentials.current())?.bearerToken, "sa");
  assert.equal(await inClusterAccess({}), undefined);
});

const malformed: Record<string, { readonly value: unknown; readonly says: string }> = {
  "a list": { value: [], says: "the document must be a map" },
  "contexts as a map": { value: { contexts: {} }, says: "contexts must be a list" },
  "an entry that is null": { value: { users: [null] }, says: "users[0] must be a map" },
  "an entry without a name": { value: { clusters: [{}] }, says: "clusters[0].name must be a string" },
  "a server that is a number": {
    value: { clusters: [{ name: "c", cluster: { server: 5 } }] },
    says: "clusters[0].cluster.server must be a string",
  },
  "an exec without a command": {
    value: { users: [{ name: "u", user: { exec: {} } }] },
    says: "users[0].user.exec.command must be a string",
  },
  "groups that are not strings": {
    value: { users: [{ name: "u", user: { "as-groups": [1] } }] },
    says: "users[0].user.as-groups must be a list of strings",
  },
};
for (const [name, { value, says }] of Object.entries(malformed)) {
  test(`malformed kubeconfig: ${name}`, () => {
    assert.throws(() => checkKubeconfig(value, "config"), { message: `kubeconfig config: ${says}` });
  });
}

test("an entry of a kubeconfig may lack its content", async () => {
  const config = checkKubeconfig({ "current-context": "a", contexts: [{ name: "a" }], users: null }, "config");
  await assert.rejects(accessFromKubeconfig(config, options), /has no cluster ""/);
});
