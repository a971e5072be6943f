// SPDX-License-Identifier: Apache-2.0
import { type AnswerLimits, defaultAnswerLimits, isAnswerLimitName } from "@purlin/function-runner";
import { UserError } from "../user-error.ts";
import { type CommandInput, listOption } from "./command-spec.ts";

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
