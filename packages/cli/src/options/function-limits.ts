// SPDX-License-Identifier: Apache-2.0

import type { FunctionLimits } from "@purlin/function-process";
import { type AnswerLimits, defaultAnswerLimits, isAnswerLimitName } from "@purlin/function-runner";
import { quantityValue } from "@purlin/kube-objects/typed";
import { UserError } from "../user-error.ts";
import { type CommandInput, listOption } from "./command-spec.ts";
import { type LimitSetting, mebibyte, limitSettings as settings } from "./shared-options.ts";

/** The fields of purlin.yaml's `functions` that set limits. */
export const limitFields: readonly string[] = Object.values(settings).map(({ field }) => field);

/** Reads limits by the names of their fields. `wrong` makes the error about one of them. */
export function readLimits(
  given: (field: string) => unknown,
  wrong: (field: string, expected: string) => UserError,
): Partial<FunctionLimits> {
  const found = Object.entries(settings).flatMap(([name, setting]) => {
    const value = given(setting.field);
    if (value === undefined) return [];
    const amount = amountOf(value, setting);
    if (amount === undefined) throw wrong(setting.field, `must be ${expected(setting)}`);
    return [[name, amount] as const];
  });
  return Object.fromEntries(found);
}

function amountOf(value: unknown, { least, isWhole }: LimitSetting): number | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const amount = quantityValue(String(value));
  if (amount === undefined || amount < least || (isWhole && !Number.isSafeInteger(amount))) return undefined;
  return amount;
}

function expected({ least, example, isWhole }: LimitSetting): string {
  const smallest = least >= mebibyte ? `${least / mebibyte}Mi` : String(least);
  return `a ${isWhole ? "whole " : ""}quantity of at least ${smallest}, such as ${example}`;
}

/** The option of a field, in lowerCamelCase. */
export function limitOption(field: string): string {
  return `function${field.charAt(0).toUpperCase()}${field.slice(1)}`;
}

/** The limits of `--function-limit name=number`. Throws a UserError on one that does not exist, or a number that is not positive. */
export function readFunctionLimits(input: CommandInput): Partial<AnswerLimits> {
  return Object.fromEntries(listOption(input, "functionLimit").map(readLimit));
}

function readLimit(text: string): readonly [string, number] {
  const [name = "", value = "", ...rest] = text.split("=");
  if (!isAnswerLimitName(name)) {
    const names = Object.keys(defaultAnswerLimits).join(", ");
    throw new UserError(`--function-limit ${text}: unknown limit; expected NAME=NUMBER with one of ${names}`, {
      exitCode: 2,
    });
  }
  if (rest.length === 0 && /^[1-9][0-9]{0,14}$/.test(value)) return [name, Number(value)];
  throw new UserError(`--function-limit ${text}: expected ${name}=NUMBER with a positive integer`, {
    exitCode: 2,
  });
}
