// SPDX-License-Identifier: Apache-2.0
import { dirname, join } from "node:path";
import type { JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { harmless } from "../harmless.ts";
import type { Style } from "../terminal/style.ts";
import { type CoverageReport, coverageText } from "./coverage.ts";
import type { TestCase } from "./test-file.ts";

/** Something that is not as expected. */
export interface FailureLine {
  readonly text: string;
  /** `file:line:column` of the expectation. */
  readonly at?: string | undefined;
}

/** How a case ended. */
export interface CaseOutcome {
  readonly test: TestCase;
  readonly status: "passed" | "failed" | "skipped";
  /** What is not as expected; of a skipped case, the reason. */
  readonly lines: readonly FailureLine[];
  /** The objects of a case that failed. */
  readonly tree?: string | undefined;
  /** What it rendered, for cases that need it. */
  readonly outputs?: readonly KubeObject[] | undefined;
  readonly ms: number;
}

/** Prints cases as they end, and a summary. */
export interface Reporter {
  ended(outcome: CaseOutcome): string;
  /** The end of the report, with the coverage if that was asked for. */
  summary(outcomes: readonly CaseOutcome[], ms: number, coverage?: CoverageReport): string;
}

const textsOf = ({ lines }: Pick<CaseOutcome, "lines">): readonly string[] => lines.map(({ text }) => text);
const coveredText = (coverage: CoverageReport | undefined): string =>
  coverage === undefined ? "" : harmless(coverageText(coverage));

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const count = (outcomes: readonly CaseOutcome[], status: CaseOutcome["status"]): number =>
  outcomes.filter((one) => one.status === status).length;

function summaryLine(outcomes: readonly CaseOutcome[], ms: number): string {
  const parts = (["failed", "passed", "skipped"] as const).flatMap((status) => {
    const number = count(outcomes, status);
    return number > 0 || status === "passed" ? [`${number} ${status}`] : [];
  });
  const files = new Set(outcomes.map(({ test }) => test.file)).size;
  return `${parts.join(", ")} in ${files} ${files === 1 ? "file" : "files"} (${seconds(ms)})\n`;
}

/** Inputs of which `purlin render` takes files, and the flags for them. */
const renderInputs: Readonly<Record<string, string>> = {
  xrd: "--xrd",
  observed: "--observed-resources",
  required: "--required-resources",
  credentials: "--function-credentials",
};

/** The command that shows what a case is about: its objects where one rendering of files makes them, otherwise the case alone. */
function reproduction({ kind, file, name, inputs, patches, reconciles, xprin }: TestCase): string {
  const alone = `purlin test ${shellWord(file)} -t ${shellWord(`^${name.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&")}$`)}`;
  const { xr, composition, functions, ...others } = inputs;
  const [only] = reconciles;
  const isOne = reconciles.length <= 1 && Object.keys(only?.change ?? {}).length === 0 && (only?.until ?? 1) === 1;
  if (kind !== "CompositionTest" || xprin !== undefined || patches.length > 0 || !isOne) return alone;
  const files = [xr, composition, functions].map((one) => renderedFile(one, file));
  const flags = Object.entries(others).map(([input, value]) => {
    const [flag, path] = [renderInputs[input], renderedFile(value, file)];
    return flag === undefined || path === undefined ? undefined : `${flag} ${path}`;
  });
  const words = [...files, ...flags];
  return words.includes(undefined) ? alone : `purlin render ${words.join(" ")} --include-full-xr`;
}

/** The path of an input that is one file or folder, from where the test file is named. */
function renderedFile(input: JsonValue | undefined, file: string): string | undefined {
  return typeof input === "string" ? shellWord(join(dirname(file), input)) : undefined;
}

/** A word as shells read it. */
function shellWord(text: string): string {
  return /^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function specReporter(style: Style): Reporter {
  let file = "";
  const marks = { passed: style.good("✓"), failed: style.bad("✗"), skipped: style.faint("-") };
  return {
    ended({ test, status, lines, ms }) {
      const texts = textsOf({ lines });
      const heading = test.file === file ? "" : `${test.file}\n`;
      file = test.file;
      const note = status === "skipped" ? ` (skipped: ${texts.join(" ")})` : ` (${Math.round(ms)} ms)`;
      const placed = lines.map(({ text, at }) => `      ${text}${at === undefined ? "" : style.faint(`  at ${at}`)}\n`);
      const details = status === "failed" ? placed.join("") : "";
      const run = harmless(reproduction(test));
      const where =
        status === "failed" ? `      ${style.faint(`at ${test.at}`)}\n      ${style.faint(`reproduce: ${run}`)}\n` : "";
      return harmless(`${heading}  ${marks[status]} ${test.name}${style.faint(note)}\n`) + harmless(details) + where;
    },
    summary: (outcomes, ms, coverage) => `\n${summaryLine(outcomes, ms)}${coveredText(coverage)}`,
  };
}

const dotReporter: Reporter = {
  ended: ({ status }) => ({ passed: ".", failed: "F", skipped: "-" })[status],
  summary(outcomes, ms, coverage) {
    const failed = outcomes.filter(({ status }) => status === "failed");
    const lines = failed.map(
      (one) =>
        `${one.test.at}: ${one.test.name}\n${one.lines.map(({ text, at }) => `  ${at ? `${at}: ` : ""}${text}\n`).join("")}`,
    );
    return `\n${harmless(lines.join(""))}${summaryLine(outcomes, ms)}${coveredText(coverage)}`;
  },
};

function tapReporter(): Reporter {
  let number = 0;
  return {
    ended({ test, status, lines }) {
      number += 1;
      const skipped = status === "skipped" ? ` # SKIP ${textsOf({ lines }).join(" ")}` : "";
      const placed = lines.map(({ text, at }) => commented(`${at === undefined ? "" : `${at}: `}${text}\n`));
      const details = status === "failed" ? placed.join("") : "";
      // A number sign would begin a directive.
      const name = `${test.file}: ${test.name}`.replaceAll("#", "\\#");
      return harmless(`${status === "failed" ? "not ok" : "ok"} ${number} - ${name}${skipped}\n${details}`);
    },
    summary: (outcomes, _ms, coverage) => `${commented(coveredText(coverage))}1..${outcomes.length}\n`,
  };
}

/** Lines as comments of TAP. */
const commented = (text: string): string => text.replaceAll(/^(?=.|\n)/gm, "# ");

const jsonReporter: Reporter = {
  ended: () => "",
  summary: (outcomes, ms, coverage) =>
    `${JSON.stringify(
      {
        summary: {
          total: outcomes.length,
          passed: count(outcomes, "passed"),
          failed: count(outcomes, "failed"),
          skipped: count(outcomes, "skipped"),
          ms: Math.round(ms),
        },
        cases: outcomes.map(({ test, status, lines, ms: own }) => ({
          file: test.file,
          name: test.name,
          status,
          lines: textsOf({ lines }),
          at: test.at,
          ...(status === "failed" && { failures: lines }),
          ms: Math.round(own),
        })),
        ...(coverage !== undefined && { coverage }),
      },
      undefined,
      2,
    )}\n`,
};

function githubReporter(style: Style): Reporter {
  const spec = specReporter(style);
  const escaped = (text: string): string => text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
  const property = (text: string): string => escaped(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
  return {
    ended(outcome) {
      const { test, status, lines } = outcome;
      const annotations = lines.map(({ text, at = test.at }) => {
        const [, file = test.file, line = "1"] = /^(.*):(\d+):\d+$/s.exec(at) ?? [];
        return `::error file=${property(file)},line=${line}::${escaped(`${test.name}\n${text}`)}\n`;
      });
      return spec.ended(outcome) + (status === "failed" ? annotations.join("") : "");
    },
    summary: spec.summary,
  };
}

/** The reporters by name. */
export const reporters: Readonly<Record<string, (style: Style) => Reporter>> = {
  spec: specReporter,
  dot: () => dotReporter,
  tap: tapReporter,
  json: () => jsonReporter,
  github: githubReporter,
};

/** JUnit's XML: a suite a file, a test case a case. */
export function junitXml(outcomes: readonly CaseOutcome[]): string {
  const files = Map.groupBy(outcomes, ({ test }) => test.file);
  const suites = [...files].map(([file, cases]) => {
    const time = cases.reduce((sum, { ms }) => sum + ms, 0) / 1000;
    const failures = count(cases, "failed");
    const attributes = `name="${xml(file)}" tests="${cases.length}" failures="${failures}" skipped="${count(cases, "skipped")}" time="${time.toFixed(3)}"`;
    return `  <testsuite ${attributes}>\n${cases.map(junitCase).join("")}  </testsuite>\n`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join("")}</testsuites>\n`;
}

function junitCase({ test, status, lines: found, tree, ms }: CaseOutcome): string {
  const lines = textsOf({ lines: found });
  const attributes = `classname="${xml(test.suite)}" name="${xml(test.name)}" time="${(ms / 1000).toFixed(3)}"`;
  if (status === "passed") return `    <testcase ${attributes}/>\n`;
  const inner =
    status === "skipped"
      ? `<skipped message="${xml(lines.join(" "))}"/>`
      : `<failure message="${xml(lines[0] ?? "")}">${xml(lines.join("\n"))}</failure>${systemOut(tree)}`;
  return `    <testcase ${attributes}>${inner}</testcase>\n`;
}

const systemOut = (tree: string | undefined): string =>
  tree === undefined ? "" : `<system-out>${xml(tree)}</system-out>`;

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\t": "&#9;",
  "\n": "&#10;",
  "\r": "&#13;",
};

/** Text for XML. Characters that XML has no form for become U+FFFD. */
function xml(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are the ones that XML does not allow.
  const allowed = text.replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udfff]/gu, "\ufffd");
  return allowed.replaceAll(/[&<>"\t\n\r]/g, (character) => entities[character] ?? character);
}
