// SPDX-License-Identifier: Apache-2.0
import { listOf, optionalOf, stringType, structType } from "../types/types.ts";
import { type CelError, isError, noSuchOverload } from "../values/cel-error.ts";
import { ArrayList } from "../values/list.ts";
import { OpaqueValue } from "../values/opaque.ts";
import { none, OptionalValue } from "../values/optional.ts";
import { epochSeconds } from "../values/timestamp.ts";
import type { Value } from "../values/value.ts";
import type { CostModel } from "./cost-model.ts";
import { characterCost, fixedCost, patternCharacterCost, sizeOf } from "./costs.ts";
import { type FunctionDecl, type Implementation, memberOverload, overload, signature } from "./function.ts";
import {
  asPrefix,
  checkLabel,
  checkLabel1035,
  checkLabelValue,
  checkQualifiedName,
  checkSubdomain,
  type FormatCheck,
} from "./name-formats.ts";
import { checkRequestUri } from "./parse-url.ts";
import { scaleRange } from "./range.ts";
import { UrlProblem } from "./url-escaping.ts";

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
    if (problem instanceof UrlProblem) return [problem.message];
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
