// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { findStatusError } from "../errors/status-error.ts";
import {
  decodeJsonPatch,
  decodeMergePatch,
  decodeStrategicMergePatch,
  type FieldValidation,
  type PatchOptions,
  patchResultInvalid,
  strictDecodingText,
  validatePatchOptions,
  validateWriteOptions,
} from "./decode-patch.ts";
// Observed from the decoders and validators the reference uses.
import observed from "./testdata/decode-patch.json" with { type: "json" };

const decoders: Readonly<
  Record<string, (text: string, validation: FieldValidation) => { findings: readonly string[] }>
> = {
  json: decodeJsonPatch,
  merge: decodeMergePatch,
  strategic: decodeStrategicMergePatch,
};

for (const { type, strict, text, findings, error } of observed.bodies) {
  test(`a ${type} body, fields ${strict ? "" : "not "}validated: ${text}`, () => {
    const decode = (): { findings: readonly string[] } | undefined =>
      decoders[type]?.(text, strict ? "Warn" : "Ignore");
    if (error === undefined) {
      assert.deepEqual(decode()?.findings, findings);
      return;
    }
    assert.throws(decode, (thrown: unknown) => {
      const status = findStatusError(thrown)?.status;
      assert.equal(status?.message, error);
      assert.equal(status?.code, 400);
      return true;
    });
  });
}

for (const { options, apply, errors } of observed.options) {
  test(`options ${JSON.stringify(options)} of ${apply ? "an apply" : "another patch"}`, () => {
    assert.deepEqual(validatePatchOptions(options as PatchOptions, apply), errors);
  });
}

test("writes accept neither force nor a required manager", () => {
  assert.deepEqual(validateWriteOptions({}), []);
  assert.deepEqual(
    validateWriteOptions({ fieldValidation: "strict" }).map(({ body }) => body),
    ['Unsupported value: "strict": supported values: "", "Ignore", "Strict", "Warn"'],
  );
});

test("too many operations are too large a request", () => {
  const body = (count: number): string =>
    JSON.stringify(Array.from({ length: count }, () => ({ op: "test", path: "/a" })));
  assert.equal(decodeJsonPatch(body(10_000), "Warn").patch.length, 10_000);
  assert.throws(
    () => decodeJsonPatch(body(10_001), "Warn"),
    (error: unknown) => {
      const status = findStatusError(error)?.status;
      assert.equal(status?.code, 413);
      assert.equal(
        status?.message,
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
      );
      return true;
    },
  );
});

test("a result that strict validation refuses is invalid as a patch", () => {
  const { status } = patchResultInvalid('{"a":1}', strictDecodingText(['unknown field "a"', 'duplicate field "b"']));
  assert.equal(
    status.message,
    ' "" is invalid: patch: Invalid value: "{\\"a\\":1}": strict decoding error: unknown field "a", duplicate field "b"',
  );
});
