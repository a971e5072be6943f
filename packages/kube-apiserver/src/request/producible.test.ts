// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { listTypes, requireProducible } from "./negotiate.ts";

const fitting: Record<string, string | undefined> = {
  "no header": undefined,
  "an empty header": "",
  anything: "*/*",
  "anything at last": "text/html;q=0.9, */*;q=0.1",
  "a type": "application/yaml",
  "a type with parameters": "application/json;as=Table;g=meta.k8s.io;v=v1",
  "a type among others": "text/html , application/json",
  "protobuf, refused later if it is all": "application/vnd.kubernetes.protobuf",
};

for (const [reason, accept] of Object.entries(fitting)) {
  test(`acceptable: ${reason}`, () => {
    assert.doesNotThrow(() => requireProducible(accept));
  });
}

const refused: Record<string, string> = {
  "ranges are not looked into": "application/*",
  "something else": "text/html, image/png",
  "case matters": "Application/JSON",
  "nothing at all": ",",
};

for (const [reason, accept] of Object.entries(refused)) {
  test(`not acceptable: ${reason}`, () => {
    assert.throws(() => requireProducible(accept), {
      message: "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml",
    });
  });
}

test("lists name what a watch gives too", () => {
  assert.throws(() => requireProducible("text/html", { types: listTypes }), /yaml, application\/json;stream=watch$/);
});
