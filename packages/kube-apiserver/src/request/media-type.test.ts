// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAccept } from "./negotiate.ts";

const cases: Record<string, { reason: string; header: string; want: readonly string[] }> = {
  One: { reason: "as it is", header: "application/json", want: ["application/json"] },
  Order: {
    reason: "as they came",
    header: "application/yaml, application/json",
    want: ["application/yaml", "application/json"],
  },
  Weights: { reason: "the heavier first", header: "a/b;q=0.5, c/d;q=0.9, e/f", want: ["e/f", "c/d", "a/b"] },
  Weightless: { reason: "weight 0 is the last resort", header: "a/b;q=0, c/d;q=0.1", want: ["c/d", "a/b"] },
  NoWeight: { reason: "an invalid weight counts as 0", header: "a/b;q=heavy, c/d;q=0.1", want: ["c/d", "a/b"] },
  Wildcards: {
    reason: "behind what is named",
    header: "*/*, application/*, application/json",
    want: ["application/json", "application/*", "*/*"],
  },
  Case: { reason: "types have none", header: "Application/JSON;As=Table", want: ["application/json;as=Table"] },
  Parameters: {
    reason: "as Tables are asked for",
    header: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    want: ["application/json;as=Table;v=v1;g=meta.k8s.io", "application/json"],
  },
  Quoted: {
    reason: "commas and semicolons in quotes are text",
    header: 'a/b;x="1,2;3", c/d',
    want: ["a/b;x=1,2;3", "c/d"],
  },
  Escaped: {
    reason: "and so are quotes behind a backslash",
    header: 'a/b;x="1\\"2,3", c/d',
    want: ['a/b;x=1"2,3', "c/d"],
  },
  Flag: { reason: "a parameter without a value", header: "a/b;flag", want: ["a/b;flag="] },
  Nonsense: { reason: "what has no subtype is left out", header: "json, /x, a/, a/b", want: ["a/b"] },
  Empty: { reason: "nothing", header: "", want: [] },
};

for (const [name, { reason, header, want }] of Object.entries(cases)) {
  test(`an Accept header: ${name}`, () => {
    const clauses = parseAccept(header).map(({ type, subtype, parameters }) =>
      [`${type}/${subtype}`, ...[...parameters].map(([key, value]) => `${key}=${value}`)].join(";"),
    );
    assert.deepEqual(clauses, want, reason);
  });
}
