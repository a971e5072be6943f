// SPDX-License-Identifier: Apache-2.0
// Small languages: CEL, regular expressions, globs, JSONPath, selectors, field paths, versions, quantities and durations.
import { compileExpression, createSchemaEnv } from "../../../packages/cel/test/expressions.ts";
import { parseGlob } from "../../../packages/cli/src/files/glob.ts";
import { parseFieldPath } from "../../../packages/cli/src/files/yaml-position.ts";
import { parseDuration } from "../../../packages/cli/src/options/command-spec.ts";
import { parseGlob as parseActivationPattern } from "../../../packages/composition/src/managed/activation-controller.ts";
import { parseGoDuration } from "../../../packages/function-protocol/src/index.ts";
import { FunctionError } from "../../../packages/function-sdk/src/errors/function-error.ts";
import { formatPath, parsePath } from "../../../packages/function-sdk/src/field-path/parse-path.ts";
import {
  deletePath,
  expandPath,
  findPath,
  writePath,
} from "../../../packages/function-sdk/src/field-path/path-value.ts";
import { isStatusError } from "../../../packages/kube-objects/src/errors/index.ts";
import { createTemplatePrinter, jsonPath } from "../../../packages/kube-objects/src/json-path/json-path.ts";
import { linearPattern } from "../../../packages/kube-objects/src/regexp/index.ts";
import {
  formatFieldSelector,
  formatLabelSelector,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
} from "../../../packages/kube-objects/src/selector/index.ts";
import { canonicalQuantity, compareQuantities } from "../../../packages/kube-objects/src/typed/index.ts";
import { parseGoTime } from "../../../packages/kube-objects/src/typed/special-forms.ts";
import {
  ConstraintError,
  compareVersions,
  parseConstraint,
  parseVersion,
} from "../../../packages/oci/src/version/version.ts";
import { matcherOf } from "../../../packages/workload-simulator/src/pods/glob.ts";
import { accepted, isRefusal, property, type Target } from "../engine/target.ts";

const subject = {
  a: "text",
  n: 5,
  d: 1.5,
  b: true,
  l: [1, 2, 3],
  m: { k: "v" },
  o: [{ name: "x", v: 1 }],
  t: "2026-01-01T00:00:00Z",
};
const env = createSchemaEnv({
  type: "object",
  properties: {
    a: { type: "string", maxLength: 100 },
    n: { type: "integer" },
    d: { type: "number" },
    b: { type: "boolean" },
    l: { type: "array", maxItems: 10, items: { type: "integer" } },
    m: { type: "object", additionalProperties: { type: "string" } },
    o: { type: "array", items: { type: "object", properties: { name: { type: "string" }, v: { type: "integer" } } } },
    t: { type: "string", format: "date-time" },
  },
});
if (env === undefined) throw new Error("the schema has no CEL environment");

export const cel: Target = {
  covers: ["cel"],
  dictionary: [
    ...[
      "self",
      "oldSelf",
      ".a",
      ".l",
      ".m",
      ".o",
      ".size()",
      ".all(x, ",
      ".exists(x, ",
      ".map(x, ",
      ".filter(x, ",
      "has(",
      "==",
      "&&",
      "||",
      "?",
      ":",
      "in",
      "!",
    ],
    ...[
      "matches('",
      "replace('",
      "split(',')",
      "format([",
      "'%d %s'",
      "quantity('1Gi')",
      "url('https://a')",
      "ip('1.1.1.1')",
      "cidr('10.0.0.0/8')",
      "semver('1.2.3')",
    ],
    ...[
      "timestamp('2026-01-01T00:00:00Z')",
      "duration('1h')",
      "int(",
      "uint(",
      "double(",
      "string(",
      "bytes(",
      "dyn(",
      "type(",
      "optional.of(",
      "[?",
      ".?",
      "b'",
      "r'",
      "0x1F",
      "1u",
      "1e308",
    ],
    ...["(", ")", "[", "]", "{", "}", ",", "+", "-", "*", "/", "%", "'", '"'],
  ],
  seeds: [
    "self.a.size() > 3 && self.l.all(x, x > 0) || self.b",
    "self.o.exists(e, e.name == 'x' && e.v in self.l)",
    "self.a.matches('^t.*$') ? self.m['k'] == 'v' : has(self.d)",
    "quantity('1Gi').isGreaterThan(quantity('5M')) && duration('1h') < duration('90m')",
    "self.l.map(x, x * 2).sum() == 12 && [1, 2] + [3] == self.l",
    "'%s-%d'.format([self.a, self.n]).split('-')[0] == \"text\"",
    "timestamp(self.t).getFullYear() == 2026 && self.m.?k.orValue('') == 'v'",
  ],
  growth: {
    sums: (count) => `1${"+1".repeat(count)}==1`,
    lists: (count) => `[${"1,".repeat(count)}1].size() > 0`,
    logic: (count) => `self.b${"&&self.b".repeat(count)}`,
    text: (count) => `'${"a".repeat(count)}'.size() > 0`,
    errors: (count) => `${"x + ".repeat(count)}1`,
    garbage: (count) => "?".repeat(count),
  },
  run(input) {
    const expression = compileExpression(input.toString(), env);
    if ("problem" in expression) return;
    const { cost } = expression.evaluate({ self: subject, oldSelf: subject }, 100_000);
    property(Number.isFinite(cost) && cost >= 0, `the cost is ${cost}`);
  },
};

let patterns = 0;

/** The end of a pattern that was not compiled before: compiled ones are kept. */
const another = (): string => `#${patterns++}`;

export const pattern: Target = {
  covers: ["kube-objects/src/regexp"],
  dictionary: [
    "(",
    ")",
    "(?:",
    "(?i)",
    "(?P<a>",
    "[a-z]",
    "[^",
    "]",
    "*",
    "+",
    "?",
    "{2,3}",
    "{1000}",
    "|",
    "^",
    "$",
    ".",
    "\\d",
    "\\b",
    "\\p{L}",
    "\\pN",
    "[[:alpha:]]",
    "\\Q",
    "\\E",
    "\\x{10FFFF}",
    "*?",
  ],
  maxBytes: 1024,
  seeds: [
    "^(a+)+$",
    "[a-z0-9]([-a-z0-9]*[a-z0-9])?",
    "(?i)x{2,5}|\\p{Greek}",
    "(a|b|c){10}(d{10}){10}",
    "\\Qabc\\E.*?",
  ],
  growth: {
    stars: (count) => "a*".repeat(Math.min(count, 4000)) + another(),
    classes: (count) => "[a-z]".repeat(Math.min(count, 3000)) + another(),
  },
  run(input) {
    const source = input.toString();
    const compiled = linearPattern(source);
    compiled.test("a".repeat(2000));
    compiled.test(source);
    if (compiled.problem !== undefined) property(!compiled.test("a"), "a pattern with a problem matches");
  },
};

export const tablePath: Target = {
  covers: ["kube-objects/src/json-path"],
  dictionary: [".a", "['", "']", "[*]", "[0]", '[?(@.type=="Ready")]', "\\.", "..", "[-1]", "!=", "(", ")"],
  seeds: [".metadata.name", '.status.conditions[?(@.type=="Ready")].status', ".o[*].name", "['a\\.b'].c", ".l[0]"],
  growth: {
    fields: (count) => ".a".repeat(count),
    spaces: (count) => `[?(@.a${" ".repeat(count)}`,
    backslashes: (count) => `.${"\\.".repeat(count)}[`,
    filter: (count) => `[?(@${"a ".repeat(count)}`,
    closed: (count) => `[?(@.a${" ".repeat(count)})]`,
    descents: (count) => "..".repeat(Math.min(count, 4000)),
  },
  run(input) {
    jsonPath(input.toString())?.(subject);
  },
};

export const template: Target = {
  covers: ["kube-objects/src/json-path"],
  dictionary: [
    "{",
    "}",
    "{range .l[*]}",
    "{end}",
    "{.a}",
    '{"\\n"}',
    "[?(@.v>0)]",
    "..",
    "[0:2:1]",
    "*",
    "'",
    "@",
    "$",
    "{{",
  ],
  seeds: ["{.metadata.name}", '{range .o[*]}{.name}{"\\n"}{end}', "{.o[?(@.v==1)].name} {.l[0:2]}", "{..name}"],
  growth: {
    ranges: (count) => "{range .l[*]}".repeat(Math.min(count, 6)) + "{.a}".repeat(count),
    text: (count) => "x{.a}".repeat(count),
  },
  run(input) {
    const printer = accepted(() => createTemplatePrinter(input.toString()), isRefusal);
    if (printer !== undefined) accepted(() => printer(subject), isRefusal);
  },
};

const selectorTokens = [
  "=",
  "==",
  "!=",
  " in (",
  ")",
  " notin (",
  ",",
  "!",
  ">",
  "<",
  "a",
  "a.b/c",
  "\\,",
  "\\=",
  "metadata.name",
];

export const selectors: Target = {
  covers: ["kube-objects/src/selector"],
  dictionary: selectorTokens,
  seeds: ["a=b,c!=d,e in (f,g),!h,i", "a notin (b),c>5", "metadata.name=x,spec.a!=y\\,z", ",", "a in ()"],
  growth: {
    requirements: (count) => `a=b${",a=b".repeat(count)}`,
    values: (count) => `a in (${Array.from({ length: count }, (_, at) => `v${at}`).join()})`,
    spaces: (count) => `a${" ".repeat(count)}b`,
  },
  run(input) {
    const text = input.toString();
    const labels = accepted(() => parseLabelSelector(text), isStatusOrRefusal);
    if (labels !== undefined) {
      matchesLabels(labels, { a: "b", c: "7" });
      const written = formatLabelSelector(labels);
      property(
        formatLabelSelector(parseLabelSelector(written)) === written,
        `a label selector is written as ${written}`,
      );
    }
    const fields = accepted(() => parseFieldSelector(text), isStatusOrRefusal);
    if (fields !== undefined) {
      matchesFields(fields, (field) => field);
      // Kubernetes sorts the terms as they are given, and "==" sorts before "=b": the second writing has the final order.
      const written = formatFieldSelector(parseFieldSelector(formatFieldSelector(fields)));
      property(
        formatFieldSelector(parseFieldSelector(written)) === written,
        `a field selector is written as ${written}`,
      );
    }
  },
};

const isStatusOrRefusal = (error: unknown): boolean => isStatusError(error) || isRefusal(error);
const isPathError = (error: unknown): boolean => error instanceof FunctionError;

export const fieldPath: Target = {
  covers: ["function-sdk/src/field-path", "cli/src/files"],
  dictionary: [".", "[", "]", "[0]", "[*]", "['", "']", '["', '"]', "spec", "__proto__", "constructor", "a"],
  seeds: ["spec.a[0].b", "metadata.annotations[a.b/c]", "o[*].name", "m['k']", "__proto__.x"],
  growth: { segments: (count) => `a${".a".repeat(count)}`, brackets: (count) => "[a]".repeat(count) },
  run(input) {
    const path = input.toString();
    parseFieldPath(path);
    const segments = accepted(() => parsePath(path), isPathError);
    if (segments === undefined) return;
    const written = formatPath(segments);
    property(formatPath(parsePath(written)) === written, `a field path is written as ${written}`);
    accepted(() => findPath(subject, path), isPathError);
    accepted(() => expandPath(subject, path), isPathError);
    if (segments.length > 100) return;
    accepted(() => writePath({ a: {} }, path, 1), isPathError);
    accepted(() => deletePath(structuredClone(subject), path), isPathError);
  },
};

/** The characters that mean something in a glob. */
const globSpecials = /[*?[\]\\!^{},()]/g;

/**
 * A line with a pattern and one with a text: the patterns of ignore files, of activation policies, and of simulated images, whose only sign
 * is `*`.
 */
export const glob: Target = {
  covers: ["cli/src/files", "composition/src/managed", "workload-simulator/src/pods"],
  dictionary: [
    ...["*", "**", "**/", "/**", "?", "[", "]", "[!", "[^", "[[:alpha:]]", "[a-z]", "\\", "/", "\n", "a", "aa"],
    ...["{", ",", "}", "{a,b}", "{,", "..", "(", ")", "+(", "!("],
  ],
  seeds: [
    "**/a*b?[!x]/**\nx/axby/z",
    "[[:digit:]]*\n4a",
    "a*a*a*b\naaaaaaaaaaaa",
    "\\*\n*",
    "registry/*:v1*\nregistry/a:v1.2",
    "{a,b/{c,}}*.{yaml,yml}\nb/c.yaml",
    "{1..3}\n1",
    "+(a|b)\na",
  ],
  growth: {
    stars: (count) => `${"*a".repeat(count)}b\n${"a".repeat(20)}`,
    texts: (count) => `*a*b*\n${"a".repeat(count)}`,
    folders: (count) => `${"**/a/".repeat(count)}b\na/a/a/b`,
    brackets: (count) => `${"[".repeat(count)}\na`,
    sets: (count) => `[${"a-b".repeat(count)}]\na`,
    braces: (count) => `${"{a,".repeat(count)}\na`,
    alternatives: (count) => `{${",".repeat(90)}}${"*a".repeat(count)}\naaaa`,
    slashes: (count) => `a${"/".repeat(count)}b\na/b`,
  },
  run(input) {
    const [pattern = "", ...lines] = input.toString().split("\n");
    const text = lines.join("\n");
    accepted(() => parseGlob(pattern), isRefusal)?.(text);
    parseActivationPattern(pattern)?.matches(text);
    const escaped = text.replace(globSpecials, "\\$&");
    // Several slashes of a pattern are one, and no path has several.
    const path = text.replaceAll(/\/{2,}/g, "/");
    property(parseGlob(escaped)(path), "an escaped text does not match itself");
    property(
      parseActivationPattern(escaped)?.matches(text) === true,
      "an escaped text does not match itself in a policy",
    );
    const matches = matcherOf(pattern)(text);
    const pieces = pattern.split("*").map((piece) => piece.replace(/[^a-z0-9]/gi, "\\$&"));
    // More stars take a matcher that tries all combinations too long.
    if (pieces.length > 4 || input.length > 200) return;
    property(
      new RegExp(`^${pieces.join("[^]*")}$`).test(text) === matches,
      "a pattern matches otherwise than a RegExp",
    );
  },
};

export const versions: Target = {
  covers: ["oci/src/version"],
  dictionary: [">=", "<=", "!=", "~", "^", "||", ",", " - ", "v", "x", "*", "1.2.3", "-rc.1", "+build", "."],
  seeds: [">=v1.2.0, <v2.0.0", "^1.2 || ~1.3.4", "1.0 - 2.0", "v1.2.3-rc.1+b", "*"],
  growth: {
    numbers: (count) => "1".repeat(count),
    prereleases: (count) => `1.0.0-${"a.".repeat(count)}a`,
    spaces: (count) => `1.0${" ".repeat(count)}-`,
  },
  run(input) {
    const text = input.toString();
    const constraint = accepted(
      () => parseConstraint(text),
      (error) => error instanceof ConstraintError,
    );
    const one = parseVersion("1.2.3-rc.1");
    const other = parseVersion(text);
    if (one !== undefined && constraint !== undefined) constraint.allows(one);
    if (other === undefined) return;
    property(compareVersions(other, other) === 0, "a version differs from itself");
    if (one !== undefined)
      property(
        compareVersions(one, other) === 0 || compareVersions(one, other) === -compareVersions(other, one),
        "versions have no order",
      );
  },
};

export const quantity: Target = {
  covers: ["kube-objects/src/typed", "cel/src/library"],
  dictionary: ["Ki", "Mi", "Gi", "Ei", "m", "u", "n", "k", "E", "e", "+", "-", ".", "0", "9", "1e10"],
  seeds: ["1Gi", "500m", "-1.5e3", "0.000000001n", "9223372036854775808Ei", "1E1000000"],
  growth: { digits: (count) => "9".repeat(count), zeros: (count) => `0.${"0".repeat(count)}1` },
  run(input) {
    const text = input.toString();
    const canonical = canonicalQuantity(text);
    if (canonical === undefined) return;
    property(canonicalQuantity(canonical) === canonical, `${canonical} is not canonical`);
    property(compareQuantities(canonical, canonical) === 0, "a quantity differs from itself");
  },
};

export const durations: Target = {
  covers: ["base/src/clock.ts", "cli/src/commands", "kube-objects/src/typed"],
  dictionary: ["h", "m", "s", "ms", "us", "µs", "ns", ".", "-", "+", "1", "T", "Z", ":", "2026-01-01T00:00:00Z"],
  seeds: ["1h2m3.5s", "-1.5ms", "2026-01-01T00:00:00Z", "2026-02-30T25:00:00.123456789+14:00", "1ns"],
  growth: { parts: (count) => "1s".repeat(count), digits: (count) => `${"1".repeat(count)}s` },
  run(input) {
    const text = input.toString();
    const milliseconds = parseGoDuration(text);
    property(milliseconds === undefined || !Number.isNaN(milliseconds), "a duration is not a number");
    parseDuration(text);
    for (const precision of ["seconds", "micros"] as const) {
      accepted(() => parseGoTime(text, precision), isRefusal);
    }
  },
};
