// SPDX-License-Identifier: Apache-2.0
// The five fields of a cron schedule, and the order of times around the days and hours that they select.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type CronFields, parseFields } from "./cron-fields.ts";
import { parseCron } from "./cron-schedule.ts";

type FieldName = Exclude<keyof CronFields, "isEitherDay">;
const position: Readonly<Record<FieldName, number>> = { minutes: 0, hours: 1, days: 2, months: 3, weekdays: 4 };

/** The values that a text allows in a field. */
function values(name: FieldName, text: string): number[] {
  const fields = ["*", "*", "*", "*", "*"].with(position[name], text).join(" ");
  return [...parseFields(fields)[name]].sort((a, b) => a - b);
}

const range = (from: number, to: number, by = 1): number[] =>
  Array.from({ length: Math.floor((to - from) / by) + 1 }, (_, index) => from + index * by);

describe("the values of a field", () => {
  const rows: readonly (readonly [name: FieldName, text: string, values: readonly number[]])[] = [
    ["minutes", "*", range(0, 59)],
    ["minutes", "?", range(0, 59)],
    ["minutes", "0", [0]],
    ["minutes", "59", [59]],
    ["minutes", "+5", [5]],
    ["minutes", "007", [7]],
    ["minutes", "*/20", [0, 20, 40]],
    ["minutes", "?/20", [0, 20, 40]],
    ["minutes", "50/4", [50, 54, 58]],
    ["minutes", "10-20/5", [10, 15, 20]],
    ["minutes", "10-19/5", [10, 15]],
    ["minutes", "7/100", [7]],
    ["minutes", "5-5", [5]],
    ["minutes", "*-5", range(0, 59)],
    ["minutes", "3,1,2,1", [1, 2, 3]],
    ["minutes", ",5,", [5]],
    ["hours", "22-23,0", [0, 22, 23]],
    ["days", "*", range(1, 31)],
    ["days", "*/10", [1, 11, 21, 31]],
    ["months", "jan,DEC", [1, 12]],
    ["months", "Mar-may", [3, 4, 5]],
    ["months", "feb/5", [2, 7, 12]],
    ["weekdays", "sun,Sat", [0, 6]],
    ["weekdays", "mon-5", range(1, 5)],
  ];
  for (const [name, text, expected] of rows) {
    test(`${name} "${text}"`, () => assert.deepEqual(values(name, text), expected));
  }
});

describe("a field that is wrong", () => {
  const atoi = (text: string, why = "invalid syntax"): string =>
    `failed to parse int from ${text}: strconv.Atoi: parsing "${text}": ${why}`;
  const rows: Readonly<Record<string, string>> = {
    "5- * * * *": atoi(""),
    "-5 * * * *": atoi(""),
    "1-2-3/0 * * * *": "too many hyphens: 1-2-3/0",
    "1.5 * * * *": atoi("1.5"),
    "*/ * * * *": atoi(""),
    "*/-1 * * * *": "negative number (-1) not allowed: -1",
    "1/0 * * * *": "step of range should be a positive number: 1/0",
    "1/2/ * * * *": "too many slashes: 1/2/",
    "** * * * *": atoi("**"),
    "0-60 * * * *": "end of range (60) above maximum (59): 0-60",
    "60/5 * * * *": "beginning of range (60) beyond end of range (59): 60/5",
    "* * 0-5 * *": "beginning of range (0) below minimum (1): 0-5",
    "* * * january *": atoi("january"),
    "* * * */jan *": atoi("jan"),
    "* * * * mon-sun": "beginning of range (1) beyond end of range (0): mon-sun",
    "jan * * * *": atoi("jan"),
    "9223372036854775808 * * * *": atoi("9223372036854775808", "value out of range"),
    "* * * *\t\n": "expected exactly 5 fields, found 4: [* * * *]",
  };
  for (const [text, message] of Object.entries(rows)) {
    test(JSON.stringify(text), () => assert.throws(() => parseFields(text), { name: "CronSyntaxError", message }));
  }
});

describe("days of the month and of the week", () => {
  const isEither = (days: string, weekdays: string): boolean => parseFields(`0 0 ${days} * ${weekdays}`).isEitherDay;

  test("one of them suffices where both are restricted; a star in any part of a list lifts it", () => {
    const rows: readonly (readonly [days: string, weekdays: string, isEither: boolean])[] = [
      ["*", "*", false],
      ["1", "*", false],
      ["*", "1", false],
      ["?", "1", false],
      ["1", "1", true],
      ["*/2", "1", true],
      ["*/1", "1", false],
      ["1,*", "1", false],
      ["1-31", "0-6", true],
      ["1", "*/2", true],
    ];
    for (const [days, weekdays, expected] of rows)
      assert.equal(isEither(days, weekdays), expected, `${days} ${weekdays}`);
  });

  const next = (schedule: string, after: string): string | undefined => {
    const time = parseCron(schedule).next(Date.parse(after));
    return time === undefined ? undefined : new Date(time).toISOString().slice(0, 16);
  };

  test("the first day of either kind is the next", () => {
    // 2026-06-01 is a Monday.
    assert.equal(next("0 0 13 * 5", "2026-06-01T00:00:00Z"), "2026-06-05T00:00");
    assert.equal(next("0 0 13 * 5", "2026-06-12T00:00:00Z"), "2026-06-13T00:00");
    assert.equal(next("0 0 1-7 * 1", "2026-06-01T00:00:00Z"), "2026-06-02T00:00");
    assert.equal(next("0 0 * * 1", "2026-06-01T00:00:00Z"), "2026-06-08T00:00");
  });

  test("a time is later than the given one, also by a millisecond", () => {
    assert.equal(next("30 12 * * *", "2026-06-01T12:29:59.999Z"), "2026-06-01T12:30");
    assert.equal(next("30 12 * * *", "2026-06-01T12:30:00.000Z"), "2026-06-02T12:30");
    assert.equal(next("30 12 * * *", "2026-06-01T12:30:00.001Z"), "2026-06-02T12:30");
  });

  test("months and years are carried over", () => {
    assert.equal(next("0 0 31 * *", "2026-01-31T00:00:00Z"), "2026-03-31T00:00");
    assert.equal(next("59 23 31 12 *", "2026-12-31T23:59:00Z"), "2027-12-31T23:59");
    assert.equal(next("0 0 29 2 *", "2096-03-01T00:00:00Z"), undefined, "2100 is not a leap year: none in five years");
  });

  test("a schedule that never applies has no last time either", () => {
    const never = parseCron("0 0 31 2 *");
    assert.equal(never.last({ after: 0, until: Date.parse("2026-01-01T00:00:00Z") }), undefined);
    const noHour = parseCron("0 , * * *");
    assert.deepEqual([noHour.next(0), noHour.last({ after: 0, until: 1e12 })], [undefined, undefined]);
  });

  test("the last time may be the end of the window itself", () => {
    const daily = parseCron("0 0 * * *");
    const at = (text: string): number => Date.parse(text);
    const last = (after: string, until: string): number | undefined =>
      daily.last({ after: at(after), until: at(until) });
    assert.equal(last("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"), at("2026-01-02T00:00:00Z"));
    assert.equal(last("2026-01-01T00:00:00Z", "2026-01-01T23:59:59.999Z"), undefined);
    assert.equal(last("2025-12-31T23:59:59.999Z", "2026-01-01T00:00:00Z"), at("2026-01-01T00:00:00Z"));
  });

  test("many zones are used one after the other, and again", () => {
    const zones = ["Europe/Berlin", "America/New_York", "Asia/Tokyo", "Australia/Sydney"];
    for (let year = 2026; year < 2046; year++) {
      for (const zone of zones) {
        const time = parseCron("0 12 1 7 *", zone).next(Date.parse(`${year}-06-01T00:00:00Z`));
        const shown = new Intl.DateTimeFormat("en-GB", { timeZone: zone, dateStyle: "short", timeStyle: "short" });
        assert.equal(shown.format(time), `01/07/${year}, 12:00`, zone);
      }
    }
  });
});
