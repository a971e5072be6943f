// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatImageConfig, type ImageConfig, parseImageConfig } from "./manifest.ts";
import { isOciError } from "./oci-error.ts";

const process = { entrypoint: ["/function"], cmd: ["--debug"], env: ["A=b"], workingDir: "/work", user: "2000:2000" };
const config: ImageConfig = {
  os: "linux",
  architecture: "arm64",
  process,
  labels: { b: "2", a: "1" },
  diffIds: ["sha256:1", "sha256:2"],
};
const nothing = { entrypoint: [], cmd: [], env: [], workingDir: "/", user: "" };

test("metadata is read back as written, with sorted labels", () => {
  const bytes = formatImageConfig(config);
  assert.deepEqual(parseImageConfig(bytes, "x"), config);
  const other = formatImageConfig({ ...config, labels: { a: "1", b: "2" } });
  assert.ok(bytes.equals(other));
});

test("the manifest and configuration of a built image", () => {
  const document = JSON.parse(formatImageConfig(config).toString()) as Record<string, unknown>;
  assert.deepEqual(document, {
    architecture: "arm64",
    os: "linux",
    config: {
      User: "2000:2000",
      ExposedPorts: { "9443/tcp": {} },
      Env: ["A=b"],
      Entrypoint: ["/function"],
      Cmd: ["--debug"],
      WorkingDir: "/work",
      Labels: { a: "1", b: "2" },
    },
    rootfs: { type: "layers", diff_ids: ["sha256:1", "sha256:2"] },
  });
  const bare = JSON.parse(formatImageConfig({ ...config, process: nothing }).toString()) as { config: object };
  assert.deepEqual(Object.keys(bare.config), ["ExposedPorts", "WorkingDir", "Labels"]);
});

const rows: { why: string; document: unknown }[] = [
  { why: "an empty object", document: {} },
  { why: "a list", document: [] },
  { why: "null", document: null },
  { why: "members of other types", document: { os: 7, architecture: [], config: "x", rootfs: null } },
  {
    why: "null, as builders write it",
    document: { config: { Entrypoint: null, Cmd: null, Env: null, Labels: null, User: null, WorkingDir: "" } },
  },
  { why: "lists of other things", document: { config: { Entrypoint: [7, null], Env: {} }, rootfs: { diff_ids: [7] } } },
];
for (const { why, document } of rows) {
  test(`an empty configuration: ${why}`, () => {
    const read = parseImageConfig(Buffer.from(JSON.stringify(document)), "x");
    assert.deepEqual(read, { os: "", architecture: "", process: nothing, labels: {}, diffIds: [] });
  });
}

test("labels that are not strings become empty", () => {
  const read = parseImageConfig(Buffer.from('{"config": {"Labels": {"a": 7, "b": "x"}}}'), "x");
  assert.deepEqual(read.labels, { a: "", b: "x" });
});

test("a configuration that is not JSON is rejected", () => {
  assert.throws(
    () => parseImageConfig(Buffer.from("{"), "acme/f:v1"),
    (error: Error) => isOciError(error, "NOT_AN_IMAGE") && error.message === "acme/f:v1: the configuration is not JSON",
  );
});
