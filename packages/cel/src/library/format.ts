// SPDX-License-Identifier: Apache-2.0
import { listOf, optionalOf, stringType, structType } from "../types/types.ts";
import { ArrayList } from "../values/collections.ts";
import { epochSeconds } from "../values/time-values.ts";
import {
  type CelError,
  isError,
  none,
  noSuchOverload,
  OpaqueValue,
  OptionalValue,
  type Value,
} from "../values/value.ts";
import { type CostModel, characterCost, fixedCost, patternCharacterCost, scaleRange, sizeOf } from "./costs.ts";
import { type FunctionDecl, type Implementation, memberOverload, overload, signature } from "./function.ts";
import { checkRequestUri, UrlSyntaxError } from "./parse-url.ts";

/** What is wrong with a text under a format; nothing if it fits. */
type FormatCheck = (text: string) => readonly string[];

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomain = `${label}(\\.${label})*`;
const label1035 = "[a-z]([-a-z0-9]*[a-z0-9])?";
const labelKey = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const labelValue = `(${labelKey})?`;

const whole = (pattern: string): RegExp => new RegExp(`^(?:${pattern})$`);
const labelPattern = whole(label);
const subdomainPattern = whole(subdomain);
const label1035Pattern = whole(label1035);
const labelKeyPattern = whole(labelKey);
const labelValuePattern = whole(labelValue);

function patternError(message: string, pattern: string, examples: readonly string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(" or ");
  return `${message} (e.g. ${shown}regex used for validation is '${pattern}')`;
}

const tooLong = (text: string, max: number, unit = "characters"): readonly string[] =>
  Buffer.byteLength(text) > max ? [`must be no more than ${max} ${unit}`] : [];

const checkLabel: FormatCheck = (text) => {
  const problems = [...tooLong(text, 63)];
  if (labelPattern.test(text)) return problems;
  if (subdomainPattern.test(text)) return [...problems, "must not contain dots"];
  const message =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
  return [...problems, patternError(message, label, ["my-name", "123-abc"])];
};

const checkSubdomain: FormatCheck = (text) => {
  const problems = [...tooLong(text, 253)];
  return subdomainPattern.test(text) ? problems : [...problems, subdomainError];
};

const subdomainError = patternError(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  subdomain,
  ["example.com"],
);

const checkLabel1035: FormatCheck = (text) => {
  const problems = [...tooLong(text, 63)];
  if (label1035Pattern.test(text)) return problems;
  const message =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
  return [...problems, patternError(message, label1035, ["my-name", "abc-123"])];
};

/** A name to which more is appended may end in a dash. */
const asPrefix =
  (check: FormatCheck): FormatCheck =>
  (text) =>
    check(text.length > 1 && text.endsWith("-") ? `${text.slice(0, -2)}a` : text);

const keyError = patternError(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  labelKey,
  ["MyName", "my.name", "123-abc"],
);

const checkQualifiedName: FormatCheck = (text) => {
  const parts = text.split("/");
  if (parts.length > 2) {
    const suffix = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
    return [`a valid label key ${keyError}${suffix}`];
  }
  const [prefix, name = prefix ?? ""] = parts;
  const problems = parts.length === 2 ? prefixProblems(prefix ?? "") : [];
  const lengthProblems = name === "" ? ["must be non-empty"] : tooLong(name, 63, "bytes");
  const formProblems = labelKeyPattern.test(name) ? [] : [keyError];
  return [...problems, ...[...lengthProblems, ...formProblems].map((problem) => `name part ${problem}`)];
};

function prefixProblems(prefix: string): readonly string[] {
  if (prefix === "") return ["prefix part must be non-empty"];
  const lengthProblems = tooLong(prefix, 253, "bytes");
  const formProblems = subdomainPattern.test(prefix) ? [] : [subdomainError];
  return [...lengthProblems, ...formProblems].map((problem) => `prefix part ${problem}`);
}

const checkLabelValue: FormatCheck = (text) => {
  const problems = [...tooLong(text, 63, "bytes")];
  if (labelValuePattern.test(text)) return problems;
  const message =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
  return [...problems, patternError(message, labelValue, ["MyValue", "my_value", "12345"])];
};

const formatType = structType("kubernetes.NamedFormat");

interface NamedFormat {
  readonly name: string;
  readonly check: FormatCheck;
  /** The length of the pattern a check is charged for. */
  readonly patternSize: number;
}

/** A format as a value. */
class FormatValue extends OpaqueValue {
  readonly typeName = "kubernetes.NamedFormat";
  readonly format: NamedFormat;

  constructor(format: NamedFormat) {
    super();
    this.format = format;
  }

  equals(other: Value): boolean | CelError {
    if (!(other instanceof FormatValue)) return isError(other) ? other : noSuchOverload;
    return other.format.name === this.format.name;
  }

  override toString(): string {
    return this.format.name;
  }
}

const dateTimePattern = /^(\d{2}):(\d{2}):(\d{2})(.\d+)?(z|([+-]\d{2}:\d{2}))$/;

function isDate(text: string): boolean {
  const [, ...parts] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
  return parts.length === 3 && epochSeconds(parts.map(Number)) !== undefined;
}

function isDateTime(text: string): boolean {
  const [date = "", time] = text.toLowerCase().split("t");
  const match = time === undefined || !isDate(date) ? null : dateTimePattern.exec(time);
  return match !== null && Number(match[1]) <= 23 && Number(match[2]) <= 59 && Number(match[3]) <= 59;
}

const test =
  (pattern: (text: string) => boolean, problem: string): FormatCheck =>
  (text) =>
    pattern(text) ? [] : [problem];

const checkUri: FormatCheck = (text) => {
  try {
    checkRequestUri(text);
    return [];
  } catch (problem) {
    if (problem instanceof UrlSyntaxError) return [problem.message];
    throw problem;
  }
};

const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/;

const formats: ReadonlyMap<string, NamedFormat> = new Map(
  Object.entries({
    dns1123Label: { name: "DNS1123Label", check: checkLabel, patternSize: 30 },
    dns1123Subdomain: { name: "DNS1123Subdomain", check: checkSubdomain, patternSize: 60 },
    dns1035Label: { name: "DNS1035Label", check: checkLabel1035, patternSize: 30 },
    qualifiedName: { name: "QualifiedName", check: checkQualifiedName, patternSize: 60 },
    dns1123LabelPrefix: { name: "DNS1123LabelPrefix", check: asPrefix(checkLabel), patternSize: 30 },
    dns1123SubdomainPrefix: { name: "DNS1123SubdomainPrefix", check: asPrefix(checkSubdomain), patternSize: 60 },
    dns1035LabelPrefix: { name: "DNS1035LabelPrefix", check: asPrefix(checkLabel1035), patternSize: 30 },
    labelValue: { name: "LabelValue", check: checkLabelValue, patternSize: 40 },
    uri: { name: "URI", check: checkUri, patternSize: 1103 },
    uuid: { name: "uuid", check: test((text) => uuid.test(text), "does not match the UUID format"), patternSize: 70 },
    byte: { name: "byte", check: test((text) => base64.test(text), "invalid base64"), patternSize: 84 },
    date: { name: "date", check: test(isDate, "invalid date"), patternSize: 71 },
    datetime: { name: "datetime", check: test(isDateTime, "invalid datetime"), patternSize: 71 },
  }),
);

const validate: Implementation = ([format, text]) => {
  if (!(format instanceof FormatValue) || typeof text !== "string") return noSuchOverload;
  const problems = format.format.check(text);
  return problems.length === 0 ? none : new OptionalValue(new ArrayList([...problems]));
};

// Estimates are made before the format is known, with the longest pattern of a name.
const longestNamePattern = 128;

const validateCost: CostModel = {
  actual: ([format, text], meter) => {
    if (!(format instanceof FormatValue)) return 1;
    const size = Math.ceil((1 + sizeOf(text ?? null, meter)) * characterCost);
    return size * Math.ceil(format.format.patternSize * patternCharacterCost);
  },
  estimate: (call) => {
    const [text] = call.args;
    if (!text) return undefined;
    const size = scaleRange(call.sizeOf(text), characterCost);
    return { cost: scaleRange(size, longestNamePattern * patternCharacterCost) };
  },
};

/** Named formats and what is wrong with a text under them. */
export const formatFunctions: readonly FunctionDecl[] = [
  {
    name: "validate",
    cost: validateCost,
    overloads: [
      memberOverload(signature("format-validate", [formatType, stringType], optionalOf(listOf(stringType))), validate),
    ],
  },
  {
    name: "format.named",
    cost: fixedCost,
    overloads: [
      overload(signature("format-named", [stringType], optionalOf(formatType)), ([name]) => {
        const format = typeof name === "string" ? formats.get(name) : undefined;
        return format ? new OptionalValue(new FormatValue(format)) : none;
      }),
    ],
  },
  ...[...formats].map(([name, format]): FunctionDecl => {
    const value = new FormatValue(format);
    return { name: `format.${name}`, overloads: [overload(signature(`format.${name}`, [], formatType), () => value)] };
  }),
];
