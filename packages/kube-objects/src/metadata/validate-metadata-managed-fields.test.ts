// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "../errors/field-error.ts";
import type { ManagedFieldsEntry } from "../object/kube-object.ts";
import { validateFieldManager, validateManagedFieldEntries } from "./validate-metadata.ts";

const manager = (name: string): string[] => validateFieldManager(name, "m").map(fieldErrorText);
const entry = (more: object): string[] =>
  validateManagedFieldEntries([{ operation: "Apply", ...more } as ManagedFieldsEntry], "f").map(fieldErrorText);

test("the name of a manager has at most 128 bytes", () => {
  assert.deepEqual(manager(""), []);
  assert.deepEqual(manager("x".repeat(128)), []);
  assert.deepEqual(manager("x".repeat(129)), ["m: Too long: may not be more than 128 bytes"]);
  assert.deepEqual(manager("é".repeat(64)), []);
  assert.deepEqual(manager("é".repeat(65)), ["m: Too long: may not be more than 128 bytes"]);
});

test("the name of a manager has printable characters only; positions are bytes", () => {
  assert.deepEqual(manager("a b é 😀"), []);
  assert.deepEqual(manager("é\n\u200b"), [
    'm: Invalid value: "é\\n\\u200b": invalid character U+000A (at position 2)',
    'm: Invalid value: "é\\n\\u200b": invalid character U+200B (at position 3)',
  ]);
  assert.deepEqual(manager("\u{e0001}"), [
    'm: Invalid value: "\\U000e0001": invalid character U+E0001 (at position 0)',
  ]);
});

test("the operation of an entry is Apply or Update", () => {
  assert.deepEqual(entry({}), []);
  assert.deepEqual(entry({ operation: "Update" }), []);
  assert.deepEqual(entry({ operation: "apply" }), [
    'f[0].operation: Invalid value: "apply": must be `Apply` or `Update`',
  ]);
  assert.deepEqual(entry({ operation: undefined }), ['f[0].operation: Invalid value: "": must be `Apply` or `Update`']);
});

test("the type of fields is FieldsV1 where it is set", () => {
  assert.deepEqual(entry({ fieldsType: "FieldsV1" }), []);
  assert.deepEqual(entry({ fieldsType: "FieldsV2" }), [
    'f[0].fieldsType: Invalid value: "FieldsV2": must be `FieldsV1`',
  ]);
});

test("a subresource has at most 256 bytes", () => {
  assert.deepEqual(entry({ subresource: "x".repeat(256) }), []);
  assert.deepEqual(entry({ subresource: "x".repeat(257) }), [
    "f[0].subresource: Too long: may not be more than 256 bytes",
  ]);
});

test("errors have the place of their entry", () => {
  const entries = [{ operation: "Apply" }, { operation: "x", manager: "\0" }] as ManagedFieldsEntry[];
  assert.deepEqual(validateManagedFieldEntries(entries, "metadata.managedFields").map(fieldErrorText), [
    'metadata.managedFields[1].operation: Invalid value: "x": must be `Apply` or `Update`',
    'metadata.managedFields[1].manager: Invalid value: "\\x00": invalid character U+0000 (at position 0)',
  ]);
});
