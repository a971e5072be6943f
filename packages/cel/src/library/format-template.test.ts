// SPDX-License-Identifier: Apache-2.0
// Templates of `format`: which clauses they have, and how wrong ones are reported.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Clause, FormatError, fillTemplate, wrongType } from "./format-template.ts";

/** The template filled with its clauses, such as `<0 f .2>` for the first argument with two digits. */
function filled(template: string, size = 9): string {
  const show = (index: number, { verb, precision }: Clause): string =>
    `<${index} ${verb}${precision === undefined ? "" : ` .${precision}`}>`;
  return fillTemplate(template, { size, require: () => {}, format: show });
}

describe("templates", () => {
  const rows: Readonly<Record<string, string>> = {
    "": "",
    plain: "plain",
    "100%%": "100%",
    "%%s": "%s",
    "%s": "<0 s>",
    "a%sb%dc": "a<0 s>b<1 d>c",
    "%s%s": "<0 s><1 s>",
    "%%%s%%": "%<0 s>%",
    "%.2f": "<0 f .2>",
    "%.0e": "<0 e .0>",
    "%.12f|%.3e": "<0 f .12>|<1 e .3>",
    "%.00000000000000000000002f": "<0 f .2>",
    "%b %x %X %o": "<0 b> <1 x> <2 X> <3 o>",
    "é%sé": "é<0 s>é",
    "%.9223372036854775807f": "<0 f .9223372036854776000>",
  };
  for (const [template, is] of Object.entries(rows)) {
    test(JSON.stringify(template), () => assert.equal(filled(template), is));
  }
});

describe("templates that are refused", () => {
  const clause = "could not parse formatting clause";
  const precision = `${clause}: error while parsing precision`;
  const atoi = `${precision}: error while converting precision to integer: strconv.Atoi: parsing`;
  const rows: Readonly<Record<string, string>> = {
    "%": "unexpected end of string",
    "a%": "unexpected end of string",
    "%s%": "unexpected end of string",
    "%z": `${clause}: unrecognized formatting clause "z"`,
    "% d": `${clause}: unrecognized formatting clause " "`,
    "%5d": `${clause}: unrecognized formatting clause "5"`,
    "%S": `${clause}: unrecognized formatting clause "S"`,
    "%é": `${clause}: unrecognized formatting clause "Ã"`,
    "%.2z": `${clause}: unrecognized formatting clause "z"`,
    "%.": `${precision}: could not find end of precision specifier`,
    "%.2": `${precision}: could not find end of precision specifier`,
    "%.f": `${atoi} "": invalid syntax`,
    "%.-1f": `${atoi} "": invalid syntax`,
    "%.9223372036854775808f": `${atoi} "9223372036854775808": value out of range`,
    "%.10000000000000000000f": `${atoi} "10000000000000000000": value out of range`,
  };
  for (const [template, message] of Object.entries(rows)) {
    test(JSON.stringify(template), () => assert.throws(() => filled(template), new FormatError(message)));
  }

  test("a precision of a million digits is refused without being read as a number", () => {
    const digits = "9".repeat(1_000_000);
    assert.throws(() => filled(`%.${digits}f`), new FormatError(`${atoi} "${digits}": value out of range`));
  });
});

describe("arguments", () => {
  test("a clause without an argument is refused before it is looked at", () => {
    assert.throws(() => filled("%s %z", 1), new FormatError("index 1 out of range"));
    assert.throws(() => filled("%d", 0), new FormatError("index 0 out of range"));
  });

  test("a percent sign needs no argument", () => assert.equal(filled("%%", 0), "%"));

  test("each clause asks for its argument in turn", () => {
    const asked: number[] = [];
    const args = { size: 3, require: (index: number) => void asked.push(index), format: () => "" };
    fillTemplate("%s%%%d%f", args);
    assert.deepEqual(asked, [0, 1, 2]);
  });

  test("an argument of the wrong type is reported with the place of its expression", () => {
    const problem = wrongType("d", "string", 7);
    assert.equal(
      problem.message,
      "error during formatting: decimal clause can only be used on integers, was given string",
    );
    assert.equal(problem.exprId, 7);
    assert.equal(wrongType("X", "bool").message, wrongType("x", "bool").message);
  });
});
