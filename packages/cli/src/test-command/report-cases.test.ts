// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { testCase } from "../../test/case-state.ts";
import { plainStyle, TestIo } from "../../test/test-io.ts";
import { createStyle } from "../terminal/style.ts";
import type { CoverageReport } from "./coverage.ts";
import { type CaseOutcome, junitXml, type Reporter, reporters } from "./report-cases.ts";

const passed: CaseOutcome = { test: testCase({ name: "small" }), status: "passed", lines: [], ms: 12.4 };
const failed: CaseOutcome = {
  test: testCase({ name: "large", at: "app.test.yaml:9:3" }),
  status: "failed",
  lines: [{ text: "xr.spec: expected 1, got 2", at: "app.test.yaml:11:7" }, { text: "reconcile failed: no Pod" }],
  tree: "App/a\n└─ Pod/<b>",
  ms: 1500.6,
};
const skipped: CaseOutcome = {
  test: testCase({ name: "later", file: "other.test.yaml" }),
  status: "skipped",
  lines: [{ text: "not done" }, { text: "yet" }],
  ms: 0,
};
const coverage: CoverageReport = {
  ...{ percent: 50, covered: 1, total: 2, conditions: [] },
  owners: [{ name: "Composition apps", steps: { covered: 1, total: 2, missing: ["b"] } }],
};

function reporter(name: string): Reporter {
  const make = reporters[name];
  assert.ok(make);
  return make(plainStyle);
}

/** All that a reporter prints. */
function printed(name: string, outcomes: readonly CaseOutcome[], covered?: CoverageReport): string {
  const one = reporter(name);
  return outcomes.map((outcome) => one.ended(outcome)).join("") + one.summary(outcomes, 2345, covered);
}

test("spec: a heading for each file, a line for each case, and what differs with its place", () => {
  assert.equal(
    printed("spec", [passed, failed, skipped]),
    `app.test.yaml
  ✓ small (12 ms)
  ✗ large (1501 ms)
      xr.spec: expected 1, got 2  at app.test.yaml:11:7
      reconcile failed: no Pod
      at app.test.yaml:9:3
      reproduce: purlin test app.test.yaml -t '^large$'
other.test.yaml
  - later (skipped: not done yet)

1 failed, 1 passed, 1 skipped in 2 files (2.3 s)
`,
  );
});

test("spec: a case that failed is reproduced by rendering its files, or else alone", () => {
  const inputs = { xr: "xr.yaml", composition: "../comp.yaml", functions: "my fn.yaml" };
  const reconcile = { name: "", change: {}, until: 1, expect: undefined } as const;
  const shown = (more: Partial<CaseOutcome["test"]>): string => {
    const own = testCase({ name: "it's (1)", file: "a/b.test.yaml", inputs, reconciles: [reconcile], ...more });
    return /reproduce: (.*)/.exec(reporter("spec").ended({ ...failed, test: own }))?.[1] ?? "";
  };
  const alone = "purlin test a/b.test.yaml -t '^it'\\''s \\(1\\)$'";
  assert.equal(shown({}), "purlin render a/xr.yaml comp.yaml 'a/my fn.yaml' --include-full-xr");
  assert.equal(
    shown({ inputs: { ...inputs, xrd: "d.yaml", observed: "o" } }),
    "purlin render a/xr.yaml comp.yaml 'a/my fn.yaml' --xrd a/d.yaml --observed-resources a/o --include-full-xr",
  );
  for (const more of [
    { patches: [{ spec: {} }] },
    { reconciles: [reconcile, reconcile] },
    { reconciles: [{ ...reconcile, change: { ready: "all" } }] },
    { reconciles: [{ ...reconcile, until: "settled" as const }] },
    { inputs: { ...inputs, context: { a: 1 } } },
    { inputs: { ...inputs, xr: { kind: "App" } } },
    { inputs: { claim: "claim.yaml", composition: "c.yaml", functions: "f.yaml" } },
    { kind: "OperationTest" as const },
  ])
    assert.equal(shown(more), alone, JSON.stringify(more));
});

test("spec: a summary without failures or skipped cases has only the number that passed", () => {
  assert.equal(reporter("spec").summary([passed], 40), "\n1 passed in 1 file (0.0 s)\n");
  assert.equal(reporter("spec").summary([], 0), "\n0 passed in 0 files (0.0 s)\n");
  assert.equal(reporter("spec").summary([failed], 999), "\n1 failed, 0 passed in 1 file (1.0 s)\n");
});

test("spec: on a terminal, marks have colors", () => {
  const style = createStyle(new TestIo({ isTTY: true }).stdout, {});
  const text = reporters["spec"]?.(style).ended({ ...failed, lines: [] }) ?? "";
  assert.ok(text.includes(`      ${style.faint("at app.test.yaml:9:3")}\n`), JSON.stringify(text));
});

test("spec: characters that a terminal obeys are escaped", () => {
  const text = printed("spec", [{ ...failed, lines: [{ text: 'got "\u001b]0;title\u0007"' }] }]);
  assert.match(text, / {6}got "\\x1b\]0;title\\x07"\n/);
});

test("dot: a character for each case, and the failures at the end", () => {
  assert.equal(
    printed("dot", [passed, failed, skipped], coverage),
    `.F-
app.test.yaml:9:3: large
  app.test.yaml:11:7: xr.spec: expected 1, got 2
  reconcile failed: no Pod
1 failed, 1 passed, 1 skipped in 2 files (2.3 s)
Coverage: 50 % (1 of 2)
  Composition apps: 1 of 2 steps
    steps without a case: b
`,
  );
});

test("tap: numbered lines, the plan at the end, the coverage as comments", () => {
  assert.equal(
    printed("tap", [passed, failed, skipped], coverage),
    `ok 1 - app.test.yaml: small
not ok 2 - app.test.yaml: large
# app.test.yaml:11:7: xr.spec: expected 1, got 2
# reconcile failed: no Pod
ok 3 - other.test.yaml: later # SKIP not done yet
# Coverage: 50 % (1 of 2)
#   Composition apps: 1 of 2 steps
#     steps without a case: b
1..3
`,
  );
  assert.equal(printed("tap", []), "1..0\n");
});

test("tap: each reporter counts from one", () => {
  assert.equal(printed("tap", [passed]), printed("tap", [passed]));
});

test("tap: a number sign in a name is not a directive, and every line of a failure is a comment", () => {
  const odd = { ...failed, test: testCase({ name: "issue #7 # TODO" }), lines: [{ text: "one\ntwo\n\nok 9 - x" }] };
  assert.equal(
    printed("tap", [odd]),
    "not ok 1 - app.test.yaml: issue \\#7 \\# TODO\n# one\n# two\n# \n# ok 9 - x\n1..1\n",
  );
});

test("json: one document with the sums, and the failures of each case", () => {
  const one = reporter("json");
  assert.equal(one.ended(failed), "");
  assert.deepEqual(JSON.parse(one.summary([passed, failed, skipped], 2345.6)), {
    summary: { total: 3, passed: 1, failed: 1, skipped: 1, ms: 2346 },
    cases: [
      { file: "app.test.yaml", name: "small", status: "passed", lines: [], at: "app.test.yaml:6:5", ms: 12 },
      {
        ...{ file: "app.test.yaml", name: "large", status: "failed", at: "app.test.yaml:9:3", ms: 1501 },
        lines: ["xr.spec: expected 1, got 2", "reconcile failed: no Pod"],
        failures: [
          { text: "xr.spec: expected 1, got 2", at: "app.test.yaml:11:7" },
          { text: "reconcile failed: no Pod" },
        ],
      },
      {
        ...{ file: "other.test.yaml", name: "later", status: "skipped", at: "other.test.yaml:6:5", ms: 0 },
        lines: ["not done", "yet"],
      },
    ],
  });
  assert.deepEqual((JSON.parse(one.summary([], 0, coverage)) as { coverage: unknown }).coverage, coverage);
});

test("github: an annotation for each failure, at its own place or at that of the case", () => {
  const one = reporter("github");
  const spec = reporter("spec");
  assert.equal(one.ended(passed), spec.ended(passed));
  assert.equal(
    one.ended(failed).slice(spec.ended(failed).length),
    `::error file=app.test.yaml,line=11::large%0Axr.spec: expected 1, got 2
::error file=app.test.yaml,line=9::large%0Areconcile failed: no Pod
`,
  );
  assert.equal(one.summary([passed], 1), spec.summary([passed], 1));
});

test("github: messages and properties are escaped as the runner of GitHub Actions reads them", () => {
  const odd = testCase({ name: "100%", file: "a,b:c%.test.yaml", at: "a,b:c%.test.yaml:2:1" });
  const text = reporter("github").ended({ ...failed, test: odd, lines: [{ text: "a\r\nb: c, d" }] });
  assert.ok(text.endsWith("::error file=a%2Cb%3Ac%25.test.yaml,line=2::100%25%0Aa%0D%0Ab: c, d\n"), text);
});

test("github: a place without line and column is the first line of the file", () => {
  const text = reporter("github").ended({ ...failed, test: testCase({ at: "" }), lines: [{ text: "x" }] });
  assert.ok(text.endsWith("::error file=app.test.yaml,line=1::small%0Ax\n"), text);
});

test("junit: a suite for each file with its sums, and a case for each case", () => {
  assert.equal(
    junitXml([passed, failed, skipped]),
    `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="app.test.yaml" tests="2" failures="1" skipped="0" time="1.513">
    <testcase classname="apps" name="small" time="0.012"/>
    <testcase classname="apps" name="large" time="1.501"><failure message="xr.spec: expected 1, got 2">xr.spec: expected 1, got 2&#10;reconcile failed: no Pod</failure><system-out>App/a&#10;└─ Pod/&lt;b&gt;</system-out></testcase>
  </testsuite>
  <testsuite name="other.test.yaml" tests="1" failures="0" skipped="1" time="0.000">
    <testcase classname="apps" name="later" time="0.000"><skipped message="not done yet"/></testcase>
  </testsuite>
</testsuites>
`,
  );
});

test("junit: markup, control characters and half characters do not break the document", () => {
  const name = 'a & <b> "c" \u0000\u001b[0m \ud800 😀 \ufffe\tq';
  const xml = junitXml([{ ...passed, test: testCase({ name, suite: "s" }) }]);
  assert.match(xml, /name="a &amp; &lt;b&gt; &quot;c&quot; \ufffd\ufffd\[0m \ufffd 😀 \ufffd&#9;q"/u);
});

test("junit: a failure without lines has an empty message, and no tree means no output", () => {
  const xml = junitXml([{ ...failed, lines: [], tree: undefined }]);
  assert.match(xml, /<failure message=""><\/failure><\/testcase>/);
});
