// SPDX-License-Identifier: Apache-2.0
// test/interop/apiserver compares the same templates with kubectl.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createTemplatePrinter } from "./json-path.ts";

const object = {
  kind: "App",
  metadata: { name: "shop", labels: { "a.b/c": "dotted" } },
  spec: {
    ports: [80, 443, 8080],
    parts: [
      { name: "a", n: 1 },
      { name: "b", n: 2 },
      { name: "c", on: true },
    ],
  },
};
const rows: readonly (readonly [string, string])[] = [
  ["{.kind}", "App"],
  ["{.kind}: {.metadata.name}", "App: shop"],
  ["{.kind .metadata.name}", "Appshop"],
  ["{.metadata.labels.a\\.b/c}", "dotted"],
  ["{.metadata.labels['a\\.b/c']}", "dotted"],
  ["{.spec.ports}", "[80,443,8080]"],
  ["{.spec.ports[*]}", "80 443 8080"],
  ["{.spec.ports[-1]} {.spec.ports[1:]} {.spec.ports[:-1]}", "8080 443 8080 80 443"],
  ["{.spec.parts[?(@.n>=1)].name}", "a b"],
  ["{.spec.parts[?(@.on==true)].name}", "c"],
  ["{.spec.parts[?(@.on)].name}", "c"],
  ['{range .spec.parts[*]}{.name}{"\\t"}{end}', "a\tb\tc\t"],
  ["{..n}", "1 2"],
  ["{.nope}{.spec.nope.deeper}", ""],
  ["plain", "plain"],
  ['{"}"}{\'"\'}', '}"'],
];
for (const [template, want] of rows) {
  test(`jsonpath ${template}`, () => assert.equal(createTemplatePrinter(template)(object), want));
}

const wrong: readonly (readonly [string, RegExp])[] = [
  ["{.a", /unclosed \{: add \}/],
  ["{range .a}", /range without end/],
  ["{end}", /end without range/],
  ["{.a[0}", /cannot parse/],
  ["{.a[x]}", /cannot parse "\[x\]"/],
  ["{.a[]}", /\[\] is empty/],
];
for (const [template, message] of wrong) {
  test(`jsonpath ${template} is refused`, () => assert.throws(() => createTemplatePrinter(template), message));
}

test("jsonpath: an index out of bounds is an error", () => {
  assert.throws(() => createTemplatePrinter("{.spec.ports[3]}")(object), /index 3, length 3/);
});

test("integers beyond 2^53 are printed in full", () => {
  const value = { spec: { max: 9223372036854775807n, list: [{ id: 9007199254740993n }] } };
  const print = createTemplatePrinter("{.spec.max} {.spec}");
  assert.equal(print(value), '9223372036854775807 {"list":[{"id":9007199254740993}],"max":9223372036854775807}');
});
