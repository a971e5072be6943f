// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { CronSyntaxError } from "./cron-fields.ts";
import { type CronSchedule, isTimeZone, parseCron } from "./cron-schedule.ts";

const start = "2026-01-02T03:04:05Z";
const iso = (time: number | undefined): string | undefined =>
  time === undefined ? undefined : new Date(time).toISOString().replace(".000", "");

// The times of robfig/cron v3, which Kubernetes and Crossplane use.
const times: readonly (readonly [schedule: string, after: string, next: string | undefined, zone?: string])[] = [
  ["* * * * SUN", start, "2026-01-04T00:00:00Z"],
  ["@weekly", start, "2026-01-04T00:00:00Z"],
  ["0 0 1,15 * 1", start, "2026-01-05T00:00:00Z"],
  ["0 0 */2 * 1", start, "2026-01-03T00:00:00Z"],
  ["0 0 ? * 1", start, "2026-01-05T00:00:00Z"],
  ["0 0 */1 * 1", start, "2026-01-05T00:00:00Z"],
  ["5/15 * * * *", start, "2026-01-02T03:05:00Z"],
  ["0 0 29 2 *", start, "2028-02-29T00:00:00Z"],
  ["CRON_TZ=America/New_York 0 2 * * *", start, "2026-01-02T07:00:00Z"],
  ["TZ=America/New_York @daily", start, "2026-01-02T05:00:00Z"],
  ["TZ= 0 4 * * *", start, "2026-01-02T04:00:00Z"],
  ["@every 90s", start, "2026-01-02T03:05:35Z"],
  ["@every 1500ms", start, "2026-01-02T03:04:06Z"],
  ["@every -1h", start, "2026-01-02T03:04:06Z"],
  ["@every 1h30m", start, "2026-01-02T04:34:05Z"],
  ["TZ=America/New_York 30 2 * * *", "2026-03-08T06:00:00Z", "2026-03-09T06:30:00Z"],
  ["TZ=America/New_York 30 1 * * *", "2026-11-01T04:00:00Z", "2026-11-01T05:30:00Z"],
  ["TZ=America/New_York 30 1 * * *", "2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"],
  ["TZ=America/New_York 30 1 * * *", "2026-11-01T06:30:00Z", "2026-11-02T06:30:00Z"],
  ["TZ=America/New_York 45 * * * *", "2026-11-01T05:50:00Z", "2026-11-01T06:45:00Z"],
  ["TZ=Asia/Kathmandu 0 12 * * *", start, "2026-01-02T06:15:00Z"],
  ["TZ=Australia/Lord_Howe 45 1 * * *", "2026-04-04T12:00:00Z", "2026-04-04T14:45:00Z"],
  ["TZ=Australia/Lord_Howe 45 1 * * *", "2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z"],
  ["* * * * *", "2026-03-01T10:00:30Z", "2026-03-01T10:01:00Z"],
  ["*/15 * * * *", "2026-03-01T10:45:00Z", "2026-03-01T11:00:00Z"],
  ["5,35 9-17 * * mon-fri", "2026-03-06T17:35:00Z", "2026-03-09T09:05:00Z"],
  ["0 0 30 2 *", "2026-03-01T00:00:00Z", undefined],
  ["TZ=Europe/Berlin 0 0 31 4,6 *", "2026-03-01T00:00:00Z", undefined],
  [",,, * * * *", start, undefined],
  ["0 0 13 * fri", "2026-03-01T00:00:00Z", "2026-03-06T00:00:00Z"],
  ["@daily", "2026-12-31T10:00:00Z", "2027-01-01T00:00:00Z"],
  ["30 9 * * *", "2026-07-01T00:00:00Z", "2026-07-01T07:30:00Z", "Europe/Berlin"],
  ["30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z", "Europe/Berlin"],
];

for (const [schedule, after, next, zone] of times) {
  test(`the time of "${schedule}" after ${after}${zone === undefined ? "" : ` in ${zone}`}`, () => {
    assert.equal(iso(parseCron(schedule, zone).next(Date.parse(after))), next);
  });
}

const accepted = ["59 23 31 12 6", "*/15 0-6 1,15 jan-mar mon-fri", "? ? ? ? ?", "  0   0 * *  * ", "1,,2 * * * *"];
const descriptors = ["@yearly", "@annually", "@monthly", "@daily", "@midnight", "@hourly", "@every 1.5s"];

for (const schedule of [...accepted, ...descriptors]) {
  test(`"${schedule}" is a schedule`, () => assert.ok(parseCron(schedule).next(0) !== undefined));
}

const refused: Record<string, string> = {
  "": "empty spec string",
  " ": "expected exactly 5 fields, found 0: []",
  "* * * *": "expected exactly 5 fields, found 4: [* * * *]",
  "* * * * * *": "expected exactly 5 fields, found 6: [* * * * * *]",
  "60 * * * *": "end of range (60) above maximum (59): 60",
  "* 24 * * *": "end of range (24) above maximum (23): 24",
  "* * 0 * *": "beginning of range (0) below minimum (1): 0",
  "* * * 13 *": "end of range (13) above maximum (12): 13",
  "* * * * 7": "end of range (7) above maximum (6): 7",
  "10-5 * * * *": "beginning of range (10) beyond end of range (5): 10-5",
  "*/0 * * * *": "step of range should be a positive number: */0",
  "1/2/3 * * * *": "too many slashes: 1/2/3",
  "0-10-20 * * * *": "too many hyphens: 0-10-20",
  "a * * * *": 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax',
  "*/x * * * *": 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax',
  "1,x * * * *": 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax',
  "* * * foo *": 'failed to parse int from foo: strconv.Atoi: parsing "foo": invalid syntax',
  "99999999999999999999 * * * *":
    'failed to parse int from 99999999999999999999: strconv.Atoi: parsing "99999999999999999999": value out of range',
  "@reboot": "unrecognized descriptor: @reboot",
  "@constructor": "unrecognized descriptor: @constructor",
  "@every soon": 'failed to parse duration @every soon: time: invalid duration "soon"',
  "TZ=Nope/Zone 0 0 * * *": "provided bad location Nope/Zone: unknown time zone Nope/Zone",
  "TZ=UTC": "no schedule after the time zone: TZ=UTC",
  "TZ=UTC ": "expected exactly 5 fields, found 0: []",
};

for (const [schedule, message] of Object.entries(refused)) {
  test(`"${schedule}" is not a schedule`, () => {
    assert.throws(
      () => parseCron(schedule),
      (error) => error instanceof CronSyntaxError && error.message === message,
    );
  });
}

test("a time zone is a name of the IANA database", () => {
  for (const name of ["", "UTC", "Europe/Kyiv", "US/Eastern", "Etc/GMT+5"]) assert.ok(isTimeZone(name), name);
  for (const name of ["Nope", "+01:00", "../etc", "Europe/Berlin "]) assert.ok(!isTimeZone(name), name);
});

/** Counts the searches of a schedule. */
function lastOf(schedule: CronSchedule, after: string, until: string): string | undefined {
  return iso(schedule.last({ after: Date.parse(after), until: Date.parse(until) }));
}

test("the last time before now is found without counting all of them", () => {
  const [after, now] = ["2006-01-01T00:00:00Z", "2026-01-01T00:00:30Z"];
  assert.equal(lastOf(parseCron("* * * * *"), after, now), "2026-01-01T00:00:00Z");
  assert.equal(lastOf(parseCron("0 0 1 6 *"), after, now), "2025-06-01T00:00:00Z");
  // Every minute of a month that is long over, by the time of a zone.
  const dense = parseCron("* * * 1 *", "Europe/Berlin");
  assert.equal(lastOf(dense, after, "2025-12-31T00:00:00Z"), "2025-01-31T22:59:00Z");
  assert.equal(lastOf(parseCron("* * * * *"), now, now), undefined);
  assert.equal(lastOf(parseCron("0 0 30 2 *"), after, now), undefined);
  assert.equal(lastOf(parseCron("@every 90s"), "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z"), "2026-01-01T00:04:30Z");
  assert.equal(lastOf(parseCron("@every 90s"), "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"), undefined);
});

/** Whether an instant matches `minute hour * * *` of New York, by the formatter alone. */
const format = new Intl.DateTimeFormat("en-US", {
  ...{ timeZone: "America/New_York", hourCycle: "h23", hour: "2-digit", minute: "2-digit" },
});

test("every time of a schedule around both changes of the clocks is one that the zone shows", () => {
  for (const [from, to] of [
    ["2026-03-07T00:00:00Z", "2026-03-10T00:00:00Z"],
    ["2026-10-31T00:00:00Z", "2026-11-03T00:00:00Z"],
  ] as const) {
    for (const [hour, minute] of [
      [0, 0],
      [1, 30],
      [2, 30],
      [3, 0],
      [23, 59],
    ] as const) {
      const schedule = parseCron(`TZ=America/New_York ${minute} ${hour} * * *`);
      const found: number[] = [];
      for (
        let at = schedule.next(Date.parse(from) - 1);
        at !== undefined && at < Date.parse(to);
        at = schedule.next(at)
      ) {
        found.push(at);
      }
      const expected: number[] = [];
      const text = `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`;
      for (let at = Date.parse(from); at < Date.parse(to); at += 60_000) {
        if (format.format(at) === text) expected.push(at);
      }
      assert.deepEqual(found.map(iso), expected.map(iso), `${text} from ${from}`);
    }
  }
});

test("a schedule of a megabyte is refused before it is read", () => {
  const text = `${"*,".repeat(500_000)}* * * * *`;
  assert.throws(() => parseCron(text), { message: "the schedule has more than 1024 characters" });
  const [minutes, hours] = [60, 24].map((count) => Array.from({ length: count }, (_, i) => i).join());
  const longest = `CRON_TZ=America/Argentina/ComodRivadavia ${minutes} ${hours} 1-31 1-12 0-6`;
  assert.notEqual(parseCron(longest).next(0), undefined);
});
