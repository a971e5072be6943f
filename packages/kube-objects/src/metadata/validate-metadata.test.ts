// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ObjectMeta } from "../object/kube-object.ts";
import {
  generateName,
  label1035Name,
  labelKeyProblems,
  labelName,
  labelValueProblems,
  type NameRule,
  pathSegmentName,
  subdomainName,
} from "./names.ts";
// Observed from the reference's ValidateObjectMeta and ValidateObjectMetaUpdate.
import observed from "./testdata/metadata-validation.json" with { type: "json" };
import { validateFieldManager, validateObjectMeta, validateObjectMetaUpdate } from "./validate-metadata.ts";

const rules: Readonly<Record<string, NameRule>> = {
  subdomain: subdomainName,
  label: labelName,
  label1035: label1035Name,
  path: pathSegmentName,
};

interface Observed {
  readonly reason: string;
  readonly call: {
    readonly meta: ObjectMeta;
    readonly old?: ObjectMeta;
    readonly namespaced?: boolean;
    readonly name?: string;
  };
  readonly errors: ReadonlyArray<{ readonly type: string; readonly field: string; readonly body: string }>;
}

// Long annotation values are stored as { repeat, times }.
function expand(meta: ObjectMeta): ObjectMeta {
  if (!meta.annotations) return meta;
  const grow = (value: unknown): string => {
    if (typeof value === "string") return value;
    const { repeat, times } = value as { repeat: string; times: number };
    return repeat.repeat(times);
  };
  return {
    ...meta,
    annotations: Object.fromEntries(Object.entries(meta.annotations).map(([key, value]) => [key, grow(value)])),
  };
}

for (const { reason, call, errors } of observed as unknown as readonly Observed[]) {
  test(`metadata: ${reason}`, () => {
    const meta = expand(call.meta);
    const name = rules[call.name ?? "subdomain"] ?? subdomainName;
    const found = call.old
      ? validateObjectMetaUpdate(meta, call.old)
      : validateObjectMeta(meta, { namespaced: call.namespaced ?? false, name });
    assert.deepEqual(found, errors);
  });
}

test("a nested path is used as given", () => {
  const [error] = validateObjectMeta({}, { namespaced: false, name: subdomainName }, "spec.template.metadata");
  assert.equal(error?.field, "spec.template.metadata.name");
});

test("manager names: length in bytes, characters that print", () => {
  assert.deepEqual(validateFieldManager("my controller/é😀", "fieldManager"), []);
  assert.deepEqual(
    validateFieldManager("é\u0001b", "fieldManager").map((error) => error.body),
    ['Invalid value: "é\\x01b": invalid character U+0001 (at position 2)'],
  );
  assert.deepEqual(
    validateFieldManager("é".repeat(65), "fieldManager").map((error) => error.body),
    ["Too long: may not be more than 128 bytes"],
  );
});

test("generated names: the base is cut to 58 characters, five more come from an alphabet without vowels", () => {
  assert.equal(
    generateName("web-", () => 0),
    "web-bbbbb",
  );
  const picks = [0, 26, 1, 25, 2];
  assert.equal(
    generateName("a".repeat(80), () => picks.shift() ?? 0),
    `${"a".repeat(58)}b9c8d`,
  );
  assert.match(generateName("x-"), /^x-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
});

test("property: what the rules accept has the documented alphabet and length", () => {
  const text = fc.oneof(fc.string({ unit: fc.constantFrom(..."aZ0-_./é") }), fc.string());
  fc.assert(
    fc.property(text, (value) => {
      if (labelValueProblems(value).length === 0) assert.match(value, /^[-A-Za-z0-9_.]{0,63}$/);
      if (labelKeyProblems(value).length === 0) assert.match(value, /^([-a-z0-9.]{1,253}\/)?[-A-Za-z0-9_.]{1,63}$/);
      if (subdomainName(value, false).length === 0) assert.match(value, /^[-a-z0-9.]{1,253}$/);
      if (labelName(value, false).length === 0) assert.equal(subdomainName(value, false).length, 0);
      if (label1035Name(value, false).length === 0) assert.equal(labelName(value, false).length, 0);
    }),
  );
});

test("hostile names are judged in time linear in their length", () => {
  const hostile = `${"a-".repeat(200_000)}!`;
  assert.equal(subdomainName(hostile, false).length, 2);
  assert.equal(labelKeyProblems(`${"a.".repeat(200_000)}!/${hostile}`).length, 4);
});
