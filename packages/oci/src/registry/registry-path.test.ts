// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRegistryPath, type RegistryPath } from "./registry-path.ts";

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
