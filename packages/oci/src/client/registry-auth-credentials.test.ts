// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { credentialsFromDockerConfig, firstCredentials } from "./registry-auth.ts";

const basic = (text: string): string => Buffer.from(text).toString("base64");
const config = JSON.stringify({
  auths: {
    "https://registry.example.org/v1/": { auth: basic("host:p:w") },
    "registry.example.org/acme": { username: "acme", password: "secret" },
    "other.example.org": { identitytoken: "refresh" },
    "empty.example.org": {},
  },
});

test("the longest key that is a prefix of the image counts", () => {
  const find = credentialsFromDockerConfig(config, "Secret pull");
  const rows: [source: string, user: string | undefined, password: string | undefined][] = [
    ["registry.example.org/x", "host", "p:w"],
    ["registry.example.org/acme/f", "acme", "secret"],
    ["registry.example.org/acmeother/f", "host", "p:w"],
    ["registry.example.org.evil.example/f", undefined, undefined],
    ["unknown.example.org/f", undefined, undefined],
  ];
  for (const [source, user, password] of rows) {
    assert.deepEqual([find(source)?.username, find(source)?.password], [user, password], source);
  }
  assert.equal(find("other.example.org/f")?.identityToken, "refresh");
});

test("several secrets are tried in order", async () => {
  const other = JSON.stringify({
    auths: { "registry.example.org": { username: "second" }, "b.example": { username: "b" } },
  });
  const find = firstCredentials([
    credentialsFromDockerConfig(config, "one"),
    credentialsFromDockerConfig(other, "two"),
  ]);
  assert.equal((await find("registry.example.org/x"))?.username, "host");
  assert.equal((await find("b.example/x"))?.username, "b");
  assert.equal(await find("c.example/x"), undefined);
});

test("a secret that cannot be read says where", () => {
  const rows: [text: string, problem: RegExp][] = [
    ["{", /^PullSecretError: Secret crossplane-system\/pull: it is not JSON/],
    [
      JSON.stringify({ auths: { "a.example": { auth: "bm9jb2xvbg==" } } }),
      /auths\["a.example"\]: auth is not base64 of user:password/,
    ],
    [JSON.stringify({ auths: 7 }), /auths is not an object/],
  ];
  for (const [text, problem] of rows) {
    assert.throws(() => credentialsFromDockerConfig(text, "Secret crossplane-system/pull"), problem);
  }
  assert.equal(credentialsFromDockerConfig("{}", "x")("a.example/f"), undefined);
});
