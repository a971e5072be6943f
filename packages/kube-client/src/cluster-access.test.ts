// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import {
  type CredentialSource,
  type ExecConfig,
  execCredentials,
  fixedCredentials,
  inClusterAccess,
  serviceAccountDirectory,
  tokenFile,
} from "./cluster-access.ts";

const directory = mkdtempSync(join(tmpdir(), "cluster-access-"));
after(() => rmSync(directory, { recursive: true }));

const version = "client.authentication.k8s.io/v1";
const credential = (status: object | undefined, apiVersion = version): string =>
  JSON.stringify({ apiVersion, kind: "ExecCredential", status });

/** Credentials of a plugin that runs a shell script, with `$COUNT` as the file that counts its runs. */
function plugin(script: string, config: Partial<ExecConfig> = {}, env: Record<string, string> = {}): CredentialSource {
  return execCredentials(
    { apiVersion: version, command: "/bin/sh", args: ["-c", script], ...config },
    { file: join(directory, "config"), user: "u", env, cluster: { server: "https://kube.test" } },
  );
}

const print = (text: string): string => `cat <<'END'\n${text}\nEND`;

describe("a credential plugin", () => {
  test("gives a token or a certificate with its key", async () => {
    assert.deepEqual(await plugin(print(credential({ token: "t" }))).current(), {
      bearerToken: "t",
      certPem: undefined,
      keyPem: undefined,
    });
    const pair = { clientCertificateData: "CERT", clientKeyData: "KEY" };
    assert.deepEqual(await plugin(print(credential(pair))).current(), {
      bearerToken: undefined,
      certPem: "CERT",
      keyPem: "KEY",
    });
  });

  test("gets the environment, its own variables before others, and what is asked of it", async () => {
    const out = join(directory, "env");
    const script = `printf '%s\\n' "$A" "$B" "$KUBERNETES_EXEC_INFO" > ${out}; ${print(credential({ token: "t" }))}`;
    const env = [{ name: "B", value: "own" }];
    await plugin(script, { env }, { A: "a", B: "b", KUBERNETES_EXEC_INFO: "stale" }).current();
    const [a, b, info = ""] = readFileSync(out, "utf8").split("\n");
    assert.deepEqual([a, b], ["a", "own"]);
    assert.deepEqual(JSON.parse(info), { apiVersion: version, kind: "ExecCredential", spec: { interactive: false } });
    await plugin(script, { env: null, provideClusterInfo: true }).current();
    assert.deepEqual(JSON.parse(readFileSync(out, "utf8").split("\n")[2] ?? "").spec, {
      interactive: false,
      cluster: { server: "https://kube.test" },
    });
  });

  test("a command with a slash is beside the kubeconfig", async () => {
    writeFileSync(join(directory, "here.sh"), `#!/bin/sh\n${print(credential({ token: "here" }))}\n`, { mode: 0o700 });
    assert.equal((await plugin("", { command: "./here.sh", args: null }).current()).bearerToken, "here");
  });

  /** A script that counts its runs in a file, and prints the count as the token. */
  const counting = (file: string, expires: string): string =>
    `echo x >> ${file}; printf '{"apiVersion":"${version}","kind":"ExecCredential","status":{"token":"%s","expirationTimestamp":"${expires}"}}' $(wc -l < ${file})`;

  const expiries: Record<string, { readonly expires: string; readonly tokens: readonly string[] }> = {
    "runs again after its token has expired": { expires: "2020-01-01T00:00:00Z", tokens: ["1", "2"] },
    "does not run again while its token is good": { expires: "2999-01-01T00:00:00Z", tokens: ["1", "1"] },
    "does not run again for a token that does not expire": { expires: "", tokens: ["1", "1"] },
  };
  for (const [name, { expires, tokens }] of Object.entries(expiries)) {
    test(name, async () => {
      const source = plugin(counting(join(directory, `count-${expires}`), expires), {}, { PATH: "/usr/bin:/bin" });
      const got = [await source.current(), await source.current()].map(({ bearerToken }) => bearerToken);
      assert.deepEqual(got, tokens);
    });
  }

  test("runs once for requests at the same time, and again after a refusal", async () => {
    const source = plugin(counting(join(directory, "count"), ""), {}, { PATH: "/usr/bin:/bin" });
    const together = await Promise.all([source.current(), source.current(), source.current()]);
    assert.deepEqual(new Set(together.map(({ bearerToken }) => bearerToken)), new Set(["1"]));
    source.refused?.();
    assert.equal((await source.current()).bearerToken, "2");
  });

  test("runs again after it has failed", async () => {
    const flag = join(directory, "flag");
    const source = plugin(`[ -e ${flag} ] || { : > ${flag}; exit 1; }; ${print(credential({ token: "t" }))}`);
    await assert.rejects(source.current());
    assert.equal((await source.current()).bearerToken, "t");
  });

  const where = `kubeconfig ${join(directory, "config")} user "u"`;
  const failed = `${where}: exec plugin /bin/sh failed:`;
  const failures: Record<string, { readonly prints: string; readonly says: string }> = {
    "text that is not JSON, by its beginning": {
      prints: "a".repeat(50),
      says: `it printed "${"a".repeat(40)}", which is not JSON`,
    },
    nothing: { prints: "", says: 'it printed "", which is not JSON' },
    "another kind": {
      prints: '{"apiVersion":"v1","kind":"Pod"}',
      says: `it printed v1, Kind=Pod instead of an ExecCredential of ${version}`,
    },
    "another version": {
      prints: credential({ token: "t" }, "client.authentication.k8s.io/v1beta1"),
      says: `it printed client.authentication.k8s.io/v1beta1, Kind=ExecCredential instead of an ExecCredential of ${version}`,
    },
    "a certificate without its key": {
      prints: credential({ clientCertificateData: "CERT" }),
      says: "it printed neither a token nor a client certificate with its key",
    },
    "a key without its certificate": {
      prints: credential({ clientKeyData: "KEY" }),
      says: "it printed neither a token nor a client certificate with its key",
    },
    "an empty token": {
      prints: credential({ token: "" }),
      says: "it printed neither a token nor a client certificate with its key",
    },
  };
  for (const [name, { prints, says }] of Object.entries(failures)) {
    test(`prints ${name}`, async () => {
      await assert.rejects(plugin(print(prints)).current(), { message: `${failed} ${says}` });
    });
  }

  test("that is missing is reported with its hint; one that fails is not", async () => {
    const installHint = "install it with apt";
    await assert.rejects(plugin("", { command: "no-such-plugin", installHint }).current(), {
      message: `${where}: exec plugin no-such-plugin failed: spawn no-such-plugin ENOENT; ${installHint}`,
    });
    await assert.rejects(plugin("exit 3", { installHint }).current(), {
      message: `${failed} Command failed: /bin/sh -c exit 3`,
    });
  });

  test("of an unknown version is refused before it runs", () => {
    assert.throws(() => plugin("", { apiVersion: "client.authentication.k8s.io/v1alpha1" }), {
      message: `${where}: exec.apiVersion is "client.authentication.k8s.io/v1alpha1", expected client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1`,
    });
  });
});

describe("a token file", () => {
  const path = join(directory, "token");
  const write = (text: string, seconds: number): void => {
    writeFileSync(path, text);
    utimesSync(path, seconds, seconds);
  };

  test("is read again when its time has changed or the server has refused the token", async () => {
    const source = tokenFile(path);
    write(" one\n", 1000);
    assert.deepEqual(await source.current(), { bearerToken: "one" });
    write("two", 1000);
    assert.deepEqual(await source.current(), { bearerToken: "one" }, "the time is the same");
    source.refused?.();
    assert.deepEqual(await source.current(), { bearerToken: "two" });
    write("three", 1001);
    assert.deepEqual(await source.current(), { bearerToken: "three" });
  });

  test("may have 1 MiB and not more", async () => {
    write("t".repeat(1024 * 1024), 2000);
    assert.equal((await tokenFile(path).current()).bearerToken?.length, 1024 * 1024);
    write("t".repeat(1024 * 1024 + 1), 2001);
    await assert.rejects(tokenFile(path).current());
  });

  test("that does not exist fails, unless there is another token", async () => {
    const none = join(directory, "none");
    await assert.rejects(tokenFile(none).current(), { code: "ENOENT" });
    assert.deepEqual(await tokenFile(none, "other").current(), { bearerToken: "other" });
  });
});

test("fixed credentials stay the same and cannot be refused", async () => {
  const credentials = { bearerToken: "t" };
  const source = fixedCredentials(credentials);
  assert.equal(await source.current(), credentials);
  assert.equal(source.refused, undefined);
});

describe("the access of a Pod", () => {
  const env = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "6443" };

  test("is absent unless host and port are set", async () => {
    for (const [name, value] of Object.entries(env)) assert.equal(await inClusterAccess({ [name]: value }), undefined);
    assert.equal(await inClusterAccess({ ...env, KUBERNETES_SERVICE_PORT: "" }), undefined);
  });

  test("has the default namespace without a file, and needs the authority", async () => {
    await assert.rejects(inClusterAccess(env, join(directory, "absent")), { code: "ENOENT" });
    writeFileSync(join(directory, "ca.crt"), "CA\n");
    const access = await inClusterAccess(env, directory);
    assert.deepEqual([access?.server, access?.caPem, access?.namespace], ["https://10.0.0.1:6443", "CA\n", "default"]);
  });

  test("is in the folder that Kubernetes mounts", () => {
    assert.equal(serviceAccountDirectory, "/var/run/secrets/kubernetes.io/serviceaccount");
  });
});
