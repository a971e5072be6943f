// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { createRegistryClient } from "../client/registry-client.ts";
import { parseReference } from "../content/image-reference.ts";
import { isOciError } from "../content/oci-error.ts";
import { startRegistry } from "./registry.ts";
import { parseRegistryPath, provesToken, type RegistryPath, registryUser } from "./registry-handler.ts";

const id = "123e4567-e89b-42d3-a456-426614174000";
const rows: Record<string, RegistryPath | undefined> = {
  "/v2": { kind: "base" },
  "/v2/": { kind: "base" },
  "/v2/_catalog": { kind: "catalog" },
  "/v2/f/tags/list": { kind: "tags", repository: "f" },
  "/v2/acme/a__b/c-d.e/tags/list": { kind: "tags", repository: "acme/a__b/c-d.e" },
  "/v2/acme/f/manifests/v1.0_x-y": { kind: "manifest", repository: "acme/f", reference: "v1.0_x-y" },
  "/v2/acme/f/manifests/sha256:00": { kind: "manifest", repository: "acme/f", reference: "sha256:00" },
  "/v2/acme/f/blobs/sha256:0a": { kind: "blob", repository: "acme/f", digest: "sha256:0a" },
  "/v2/acme/f/blobs/uploads": { kind: "uploads", repository: "acme/f" },
  "/v2/acme/f/blobs/uploads/": { kind: "uploads", repository: "acme/f" },
  [`/v2/acme/f/blobs/uploads/${id}`]: { kind: "upload", repository: "acme/f", id },
  "/v2/manifests/manifests/manifests": { kind: "manifest", repository: "manifests", reference: "manifests" },
  "/": undefined,
  "/v1/": undefined,
  "/v2/tags/list": undefined,
  "/v2//tags/list": undefined,
  "/v2/acme//f/tags/list": undefined,
  "/v2/../f/tags/list": undefined,
  "/v2/acme/%2e%2e/f/tags/list": undefined,
  "/v2/_tags/tags/list": undefined,
  "/v2/ACME/tags/list": undefined,
  "/v2/acme/f/manifests/.hidden": undefined,
  "/v2/acme/f/manifests/a/b": undefined,
  "/v2/acme/f/blobs/uploads/../../x": undefined,
  "/v2/acme/f/blobs/sha256:../x": undefined,
  "/v2/acme/f/referrers/sha256:00": undefined,
};
for (const [path, expected] of Object.entries(rows)) {
  test(`${path} is ${expected?.kind ?? "no path of a registry"}`, () =>
    assert.deepEqual(parseRegistryPath(path), expected));
}

test("a path crafted for slow matching is rejected quickly", () => {
  assert.equal(parseRegistryPath(`/v2/${"a-".repeat(200)}!/tags/list`), undefined);
  assert.equal(parseRegistryPath(`/v2/${"a".repeat(600)}/tags/list`), undefined);
});

const token = "Zm9yLXRlc3Rz-_only";
const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

const requests: Record<string, { readonly method: string; readonly path: string }> = {
  Ping: { method: "GET", path: "/v2/" },
  Catalog: { method: "GET", path: "/v2/_catalog" },
  Tags: { method: "GET", path: "/v2/acme/x/tags/list" },
  Manifest: { method: "GET", path: "/v2/acme/x/manifests/v1" },
  HeadManifest: { method: "HEAD", path: "/v2/acme/x/manifests/v1" },
  PutManifest: { method: "PUT", path: "/v2/acme/x/manifests/v1" },
  DeleteManifest: { method: "DELETE", path: "/v2/acme/x/manifests/v1" },
  Blob: { method: "GET", path: `/v2/acme/x/blobs/sha256:${"0".repeat(64)}` },
  StartUpload: { method: "POST", path: "/v2/acme/x/blobs/uploads/" },
  Unknown: { method: "GET", path: "/anything/else" },
};

const strangers: Record<string, string | undefined> = {
  "no credentials": undefined,
  "a wrong password": basic(registryUser, "wrong"),
  "the token of another length": basic(registryUser, token.slice(1)),
  "another user": basic("admin", token),
  "an empty password": basic(registryUser, ""),
  "another scheme": `Digest ${token}`,
  "a wrong bearer": "Bearer wrong",
  "no base64": "Basic \u00e4\u00f6",
  "two values": `${basic(registryUser, "wrong")} ${token}`,
};

test("no request is served without the token, and each is with it", async (t) => {
  using folder = tempFolder();
  const registry = await startRegistry({ directory: folder.path, token });
  t.after(() => registry.close());
  const ask = async (name: string, authorization: string | undefined): Promise<Response> => {
    const { method, path } = requests[name] ?? { method: "GET", path: "/v2/" };
    return fetch(`http://${registry.address}${path}`, { method, ...(authorization && { headers: { authorization } }) });
  };
  for (const name of Object.keys(requests)) {
    for (const [who, authorization] of Object.entries(strangers)) {
      const refused = await ask(name, authorization);
      assert.equal(refused.status, 401, `${name} by ${who}`);
      assert.match(refused.headers.get("www-authenticate") ?? "", /^Basic realm="/);
      assert.ok(!(await refused.text()).includes(token));
    }
    for (const authorization of [basic(registryUser, token), `Bearer ${token}`, `bearer  ${token}`]) {
      assert.notEqual((await ask(name, authorization)).status, 401, `${name} with the token`);
    }
  }
});

test("a registry proves that it has the token; another program on a port cannot, not even by asking it", async (t) => {
  using folder = tempFolder();
  const registry = await startRegistry({ directory: folder.path, token });
  t.after(() => registry.close());
  assert.equal(await provesToken(registry.address, token, "one"), true);
  assert.equal(await provesToken(registry.address, "another token", "one"), false);
  const seen: string[] = [];
  const relay = createServer((request, response) => {
    seen.push(JSON.stringify([request.url, request.headers]));
    const headers = request.headers as Record<string, string>;
    void fetch(`http://${registry.address}/v2/`, {
      headers: { "purlin-registry-challenge": headers["purlin-registry-challenge"] ?? "" },
    }).then((answer) => response.writeHead(401, Object.fromEntries(answer.headers)).end());
  }).listen(0, "127.0.0.1");
  t.after(() => relay.close());
  await new Promise((resolve) => relay.once("listening", resolve));
  const squatted = `127.0.0.1:${(relay.address() as AddressInfo).port}`;
  assert.equal(await provesToken(squatted, token, "two"), false);
  assert.equal(seen.length, 1);
  assert.ok(!seen.join().includes(token));
});

test("a registry on the deny list gets no request", async (t) => {
  let asked = 0;
  const server = createServer((_, response) => {
    asked++;
    response.end();
  }).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const client = createRegistryClient({ refuses: (registry) => `${registry} is another program` });
  const reference = parseReference(`127.0.0.1:${port}/acme/x:v1`);
  for (const call of [client.resolve(reference), client.manifest(reference), client.tags(reference)]) {
    await assert.rejects(call, (error) => isOciError(error, "REFUSED") && /is another program/.test(String(error)));
  }
  assert.equal(asked, 0);
});
