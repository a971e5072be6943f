// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { testTypes } from "@purlin/kube-builtin/testing";
import { answerValue, testRequest, textOf } from "../../test/test-server.ts";
import { Registry } from "../registry/registry.ts";
import { documentEndpoint, rootPaths } from "../server/path-endpoints.ts";

test("a document is at its path, with or without a slash behind it, and nowhere else", () => {
  let asked = 0;
  const endpoint = documentEndpoint("/doc", () => {
    asked += 1;
    return { a: "<b>", n: [1] };
  });
  for (const path of ["/doc", "/doc/"]) {
    const response = endpoint(testRequest(path));
    assert.deepEqual(answerValue(response), { a: "<b>", n: [1] });
    assert.equal(
      textOf(response),
      '{\n  "a": "\\u003cb\\u003e",\n  "n": [\n    1\n  ]\n}',
      "laid out, and safe in a page",
    );
  }
  for (const path of ["/", "/do", "/docs", "/doc/x", "//doc"])
    assert.equal(endpoint(testRequest(path)), undefined, path);
  assert.equal(asked, 2, "a request without it costs nothing");
});

test("what / lists is sorted, once each, and says where every version is", () => {
  const { catalog } = new Registry(testTypes);
  const { paths } = rootPaths(catalog, ["/readyz", "/livez"]) as { readonly paths: readonly string[] };
  assert.deepEqual(paths, [...new Set(paths)].sort());
  for (const path of ["/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/livez", "/readyz", "/version"]) {
    assert.ok(paths.includes(path), path);
  }
  assert.ok(!paths.includes("/apis//v1"), "the core group has no name");
});
