// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { scheduleProblem } from "./cron-schedule.ts";

const taken = [
  "* * * * *",
  "0 0 1 1 0",
  "59 23 31 12 6",
  "*/15 0-6 1,15 jan-mar mon-fri",
  "? ? ? ? ?",
  "5/10 * * * *",
  "0 0 * * SUN",
  "  0   0 * *  * ",
  "@yearly",
  "@annually",
  "@monthly",
  "@weekly",
  "@daily",
  "@midnight",
  "@hourly",
  "@every 1h30m",
  "@every 1.5s",
];

for (const schedule of taken) {
  test(`"${schedule}" is a schedule`, () => assert.equal(scheduleProblem(schedule), undefined));
}

const refused: Record<string, string> = {
  "": "expected exactly 5 fields, found 0: []",
  "* * * *": "expected exactly 5 fields, found 4: [* * * *]",
  "* * * * * *": "expected exactly 5 fields, found 6: [* * * * * *]",
  "60 * * * *": "end of range (60) above maximum (59): 60",
  "* 24 * * *": "end of range (24) above maximum (23): 24",
  "* * 0 * *": "beginning of range (0) below minimum (1): 0",
  "* * * 13 *": "end of range (13) above maximum (12): 13",
  "* * * * 7": "end of range (7) above maximum (6): 7",
  "5-1 * * * *": "beginning of range (5) beyond end of range (1): 5-1",
  "*/0 * * * *": "step of range should be a positive number: */0",
  "1/2/3 * * * *": "too many slashes: 1/2/3",
  "1-2-3 * * * *": "too many hyphens: 1-2-3",
  "x * * * *": 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax',
  "*/x * * * *": 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax',
  "1,x * * * *": 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax',
  "* * * foo *": 'failed to parse int from foo: strconv.Atoi: parsing "foo": invalid syntax',
  "@reboot": "unrecognized descriptor: @reboot",
  "@every soon": "unrecognized descriptor: @every soon",
};

for (const [schedule, problem] of Object.entries(refused)) {
  test(`"${schedule}" is not a schedule`, () => assert.equal(scheduleProblem(schedule), problem));
}
