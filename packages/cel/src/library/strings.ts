// SPDX-License-Identifier: Apache-2.0
import { goShortEscapes } from "@purlin/kube-objects/json";
import { intType, listOf, stringType } from "../types/types.ts";
import { ArrayList, elementsOf, ListValue } from "../values/collections.ts";
import { describe } from "../values/describe.ts";
import {
  characterAt,
  indexOfText,
  lastIndexOfText,
  replaceText,
  splitText,
  substringOf,
  trimSpace,
} from "../values/text.ts";
import { CelError, type Meter, type Value } from "../values/value.ts";
import {
  addRanges,
  type CostModel,
  characterCost,
  listTraversal,
  multiplyRanges,
  type Range,
  scaleRange,
  sizeOf,
  traversal,
  unbounded,
  zero,
} from "./costs.ts";
import { formatFunction } from "./format-string.ts";
import { type FunctionDecl, type Implementation, memberOverload, overload, signature } from "./function.ts";

const text = stringType;

/** Text functions say what they look through, so that a cheap call on a large string is not free. */
function scanning(run: (args: readonly Value[], meter: Meter) => Value): Implementation {
  return (args, meter) => {
    const [first] = args;
    if (typeof first === "string") meter.characters(first.length);
    return run(args, meter);
  };
}

const string = (value: Value | undefined): string => (typeof value === "string" ? value : "");
const int = (value: Value | undefined): bigint => (typeof value === "bigint" ? value : 0n);

const join: Implementation = ([list, separator], meter) => {
  if (!(list instanceof ListValue)) return new CelError("no such overload");
  const parts: string[] = [];
  for (const element of elementsOf(list)) {
    if (typeof element !== "string") return new CelError(`join: invalid input: ${describe(element)}`);
    meter.elements(1);
    meter.characters(element.length + string(separator).length);
    parts.push(element);
  }
  return parts.join(string(separator));
};

const joinCost: CostModel = {
  needsResult: true,
  actual: (_args, meter, result) => Math.ceil(sizeOf(result, meter) * 2 * characterCost),
  estimate: (call) => {
    if (!call.target) return undefined;
    const count = call.sizeOf(call.target);
    const element = call.elementOf(call.target);
    const content = element ? multiplyRanges(count, call.sizeOf(element)) : zero;
    const [separator] = call.args;
    const size = separator ? addRanges(content, multiplyRanges(call.sizeOf(separator), gaps(count))) : content;
    return { cost: scaleRange(size, characterCost), resultSize: size };
  },
};

const gaps = ({ min, max }: Range): Range => ({ min: min > 0n ? min - 1n : 0n, max: max > 0n ? max - 1n : 0n });

const replaceCost: CostModel = {
  actual: (args, meter) => Math.ceil(sizeOf(args[0] ?? null, meter) * 2 * characterCost),
  estimate: (call) => {
    const [old, replacement] = call.args;
    if (!call.target || !old || !replacement) return undefined;
    const size = call.sizeOf(call.target);
    const resultSize = replacedSize({ size, old: call.sizeOf(old), replacement: call.sizeOf(replacement) });
    return { cost: scaleRange(size, 2 * characterCost), resultSize };
  },
};

interface Replacement {
  readonly size: Range;
  readonly old: Range;
  readonly replacement: Range;
}

/** The sizes a text can have after a replacement: the ends are found apart, each by its worst case. */
function replacedSize({ size, old, replacement }: Replacement): Range {
  const most = replacedEnd({ size: size.max, old: old.min, keeps: replacement.max <= old.min });
  const least = replacedEnd({ size: size.min, old: old.max, keeps: old.max <= replacement.min });
  const counts = { min: least.count, max: most.count };
  return addRanges(multiplyRanges(counts, replacement), { min: least.kept, max: most.kept });
}

function replacedEnd({ size, old, keeps }: { size: bigint; old: bigint; keeps: boolean }): {
  count: bigint;
  kept: bigint;
} {
  // An empty text is found between all characters and at both ends.
  if (old === 0n) return { count: size < unbounded ? size + 1n : size, kept: size };
  if (keeps) return { count: 0n, kept: size };
  const count = Math.ceil(Number(size) / Number(old));
  return { count: BigInt(count), kept: 0n };
}

const splitCost: CostModel = {
  actual: (args, meter) => Math.ceil(sizeOf(args[0] ?? null, meter) * 2 * characterCost),
  estimate: (call) => {
    if (!call.target) return undefined;
    const size = call.sizeOf(call.target);
    const limit = call.args[1]?.expr;
    const isLiteral = limit?.kind === "literal" && typeof limit.value === "bigint";
    const max = isLiteral ? BigInt.asUintN(64, limit.value as bigint) : size.max;
    return { cost: scaleRange(size, 2 * characterCost), resultSize: { min: 0n, max } };
  },
};

function quote(value: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is escaped
  return `"${value.toWellFormed().replace(/[\u0007\b\f\n\r\t\v\\"]/g, (char) => goShortEscapes[char] ?? char)}"`;
}

const quoteCost: CostModel = {
  actual: (args, meter) => Math.ceil(sizeOf(args[0] ?? null, meter) * characterCost),
  estimate: (call) => {
    const [subject] = call.args;
    if (!subject) return undefined;
    const size = call.sizeOf(subject);
    // Every character may need a backslash, and there are always two quotes.
    const resultSize = { min: size.min + 2n, max: BigInt.asUintN(64, size.max * 2n + 2n) };
    return { cost: scaleRange(size, characterCost), resultSize };
  },
};

const variadic = { stopsAtError: true } as const;
const toAscii = (pattern: RegExp, change: (char: string) => string): Implementation =>
  scanning(([value]) => string(value).replace(pattern, change));

/** The string functions of CEL's strings extension, version 2. */
export const stringFunctions: readonly FunctionDecl[] = [
  {
    name: "charAt",
    overloads: [
      memberOverload(
        signature("string_char_at_int", [text, intType], text),
        scanning(([value, at]) => characterAt(string(value), int(at))),
      ),
    ],
  },
  {
    name: "indexOf",
    cost: listTraversal,
    overloads: [
      memberOverload(
        signature("string_index_of_string", [text, text], intType),
        scanning(([value, part]) => indexOfText(string(value), string(part), 0n)),
      ),
      memberOverload(
        signature("string_index_of_string_int", [text, text, intType], intType),
        scanning(([value, part, from]) => indexOfText(string(value), string(part), int(from))),
        variadic,
      ),
    ],
  },
  {
    name: "lastIndexOf",
    cost: listTraversal,
    overloads: [
      memberOverload(
        signature("string_last_index_of_string", [text, text], intType),
        scanning(([value, part]) => lastIndexOfText(string(value), string(part), undefined)),
      ),
      memberOverload(
        signature("string_last_index_of_string_int", [text, text, intType], intType),
        scanning(([value, part, from]) => lastIndexOfText(string(value), string(part), int(from))),
        variadic,
      ),
    ],
  },
  {
    name: "lowerAscii",
    cost: traversal({ keepsSize: true }),
    overloads: [
      memberOverload(
        signature("string_lower_ascii", [text], text),
        toAscii(/[A-Z]+/g, (char) => char.toLowerCase()),
      ),
    ],
  },
  {
    name: "upperAscii",
    cost: traversal({ keepsSize: true }),
    overloads: [
      memberOverload(
        signature("string_upper_ascii", [text], text),
        toAscii(/[a-z]+/g, (char) => char.toUpperCase()),
      ),
    ],
  },
  {
    name: "replace",
    cost: replaceCost,
    overloads: [
      memberOverload(
        signature("string_replace_string_string", [text, text, text], text),
        scanning(([value, old, by], meter) =>
          replaceText(string(value), { old: string(old), by: string(by), limit: -1n }, meter),
        ),
        variadic,
      ),
      memberOverload(
        signature("string_replace_string_string_int", [text, text, text, intType], text),
        scanning(([value, old, by, limit], meter) =>
          replaceText(string(value), { old: string(old), by: string(by), limit: int(limit) }, meter),
        ),
        variadic,
      ),
    ],
  },
  {
    name: "split",
    cost: splitCost,
    overloads: [
      memberOverload(
        signature("string_split_string", [text, text], listOf(text)),
        scanning(([value, by]) => new ArrayList(splitText(string(value), string(by), -1n))),
      ),
      memberOverload(
        signature("string_split_string_int", [text, text, intType], listOf(text)),
        scanning(([value, by, limit]) => new ArrayList(splitText(string(value), string(by), int(limit)))),
        variadic,
      ),
    ],
  },
  {
    name: "substring",
    cost: traversal({ keepsSize: true }),
    overloads: [
      memberOverload(
        signature("string_substring_int", [text, intType], text),
        scanning(([value, start]) => substringOf(string(value), int(start), undefined)),
      ),
      memberOverload(
        signature("string_substring_int_int", [text, intType, intType], text),
        scanning(([value, start, end]) => substringOf(string(value), int(start), int(end))),
        variadic,
      ),
    ],
  },
  {
    name: "trim",
    cost: traversal({ keepsSize: true }),
    overloads: [
      memberOverload(
        signature("string_trim", [text], text),
        scanning(([value]) => trimSpace(string(value))),
      ),
    ],
  },
  formatFunction,
  {
    name: "strings.quote",
    overloads: [
      overload(
        signature("strings_quote", [text], text),
        scanning(([value]) => quote(string(value))),
        { cost: quoteCost },
      ),
    ],
  },
  {
    name: "join",
    cost: joinCost,
    overloads: [
      memberOverload(signature("list_join", [listOf(text)], text), join),
      memberOverload(signature("list_join_string", [listOf(text), text], text), join),
    ],
  },
];
