// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { manualClock } from "@purlin/base/testing";
import { openProviderFiles } from "./provider-files.ts";

const account = { namespace: "crossplane-system", name: "fleet-1" };
const bound = { name: "fleet-1-tls-server", uid: "1" };

function open(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), "purlin-provider-files-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const clock = manualClock();
  const requests: object[] = [];
  const grants = {
    async raw(request: { path: string; body?: unknown }) {
      requests.push(request);
      return { status: { token: `token-${requests.length}` } };
    },
  };
  const files = openProviderFiles({ directory, clock, grants: grants as never, authority: () => "PEM" });
  const read = (path: string): string => readFileSync(join(directory, "fleet-1", path), "utf8");
  return { directory, clock, requests, files, read };
}

test("a token is bound, private, kept until most of its life is over, and then replaced", async (t) => {
  const { files, requests, clock, read, directory } = open(t);
  assert.equal(await files.account("fleet-1", account, bound), 2_880_000);
  const [{ path, body }] = requests as [{ path: string; body: { spec: object } }];
  assert.equal(path, "/api/v1/namespaces/crossplane-system/serviceaccounts/fleet-1/token");
  assert.deepEqual(body.spec, {
    expirationSeconds: 3600,
    boundObjectRef: { apiVersion: "v1", kind: "Secret", ...bound },
  });
  assert.deepEqual(
    [read("serviceaccount/token"), read("serviceaccount/ca.crt"), read("serviceaccount/namespace")],
    ["token-1", "PEM", "crossplane-system"],
  );
  assert.equal(statSync(join(directory, "fleet-1/serviceaccount/token")).mode & 0o077, 0);
  clock.advance(2_000_000);
  assert.equal(await files.account("fleet-1", account, bound), 880_000);
  assert.equal(requests.length, 1);
  clock.advance(880_000);
  await files.account("fleet-1", account, bound);
  assert.equal(read("serviceaccount/token"), "token-2");
});

test("a token is replaced when what it is bound to was made again", async (t) => {
  const { files, read } = open(t);
  await files.account("fleet-1", account, bound);
  await files.account("fleet-1", account, { ...bound, uid: "2" });
  assert.equal(read("serviceaccount/token"), "token-2");
});

test("a volume has the files of its source and no others, and none outside of its folder", async (t) => {
  const { files } = open(t);
  const folder = await files.volume("fleet-1", "0", { a: Buffer.from("1"), "b/c": Buffer.from("2") });
  assert.deepEqual(readdirSync(folder).toSorted(), ["a", "b"]);
  await files.volume("fleet-1", "0", { a: Buffer.from("3") });
  assert.deepEqual(readdirSync(folder), ["a"]);
  assert.equal(readFileSync(join(folder, "a"), "utf8"), "3");
  for (const path of ["../evil", "/etc/passwd", "a/../../b", ""]) {
    await assert.rejects(files.volume("fleet-1", "0", { [path]: Buffer.from("x") }), /use a relative path without/);
  }
});

test("the files of a revision are removed with it", async (t) => {
  const { files, directory } = open(t);
  await files.account("fleet-1", account, bound);
  await files.write("fleet-1", "kubeconfig", "{}");
  await files.remove("fleet-1");
  assert.deepEqual(readdirSync(directory), []);
});
