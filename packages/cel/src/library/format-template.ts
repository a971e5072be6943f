// SPDX-License-Identifier: Apache-2.0

const clauseVerbs = ["s", "d", "f", "e", "b", "x", "X", "o"] as const;
export type ClauseVerb = (typeof clauseVerbs)[number];

export interface Clause {
  readonly verb: ClauseVerb;
  readonly precision: number | undefined;
}

/** A problem with a template or its arguments, with the message CEL gives. */
export class FormatError extends Error {
  /** The expression to blame, when it is not the call itself. */
  readonly exprId: number | undefined;

  constructor(message: string, exprId?: number) {
    super(message);
    this.exprId = exprId;
  }
}

interface TemplateArgs {
  readonly size: number;
  /** Makes sure that there is an argument for the next clause. */
  require(index: number): void;
  format(index: number, clause: Clause): string;
}

/** Fills a `%` template. A clause is looked at only after it is known that there is an argument for it. */
export function fillTemplate(template: string, args: TemplateArgs): string {
  let result = "";
  let used = 0;
  let at = 0;
  while (at < template.length) {
    const next = template.indexOf("%", at);
    if (next < 0) return result + template.slice(at);
    result += template.slice(at, next);
    if (template[next + 1] === "%") {
      result += "%";
      at = next + 2;
      continue;
    }
    args.require(used);
    if (next + 1 >= template.length) throw new FormatError("unexpected end of string");
    if (used >= args.size) throw new FormatError(`index ${used} out of range`);
    const { clause, end } = parseClause(template, next + 1);
    result += args.format(used, clause);
    used++;
    at = end;
  }
  return result;
}

function parseClause(template: string, start: number): { readonly clause: Clause; readonly end: number } {
  const problem = "could not parse formatting clause";
  const { precision, end } = parsePrecision(template, start);
  const verb = clauseVerbs.find((one) => one === template[end]);
  if (!verb) throw new FormatError(`${problem}: unrecognized formatting clause "${firstByte(template, end)}"`);
  return { clause: { verb, precision }, end: end + 1 };
}

/** CEL reads templates byte by byte: of a character outside ASCII, the message shows the first byte. */
function firstByte(template: string, at: number): string {
  return String.fromCharCode(Buffer.from(String.fromCodePoint(template.codePointAt(at) ?? 0))[0] ?? 0);
}

function parsePrecision(
  template: string,
  start: number,
): { readonly precision: number | undefined; readonly end: number } {
  if (template[start] !== ".") return { precision: undefined, end: start };
  const problem = "could not parse formatting clause: error while parsing precision";
  const [digits = ""] = /^\d*/.exec(template.slice(start + 1)) ?? [];
  const end = start + 1 + digits.length;
  if (end >= template.length) throw new FormatError(`${problem}: could not find end of precision specifier`);
  // No integer of 64 bits has more than 19 digits; reading a megabyte of them would take long.
  const isTooLarge = digits.replace(/^0+/, "").length > 19 || BigInt(digits.slice(-19)) > 2n ** 63n - 1n;
  if (digits === "" || isTooLarge) {
    const reason = digits === "" ? "invalid syntax" : "value out of range";
    const detail = `error while converting precision to integer: strconv.Atoi: parsing "${digits}": ${reason}`;
    throw new FormatError(`${problem}: ${detail}`);
  }
  return { precision: Number(digits), end };
}

const subjects: Readonly<Record<ClauseVerb, string>> = {
  s: "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
  d: "decimal clause can only be used on integers",
  f: "fixed-point clause can only be used on doubles",
  e: "scientific clause can only be used on doubles",
  b: "only integers and bools can be formatted as binary",
  x: "only integers, byte buffers, and strings can be formatted as hex",
  X: "only integers, byte buffers, and strings can be formatted as hex",
  o: "octal clause can only be used on integers",
};

/** The clause does not take arguments of that type. */
export function wrongType(verb: ClauseVerb, typeName: string, exprId?: number): FormatError {
  return new FormatError(`error during formatting: ${subjects[verb]}, was given ${typeName}`, exprId);
}
