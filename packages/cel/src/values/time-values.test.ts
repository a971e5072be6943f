// SPDX-License-Identifier: Apache-2.0
// Durations and timestamps: the texts that Go reads, their limits, and computing with them.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  addDuration,
  Duration,
  durationOf,
  epochSeconds,
  formatTimestamp,
  parseDuration,
  parseTimestamp,
  subtractTimestamps,
  Timestamp,
  timestampOf,
} from "./time-values.ts";
import { CelError } from "./value.ts";

const second = 1_000_000_000n;
const longest = 2n ** 63n - 1n;

describe("a duration is read as Go reads it", () => {
  const good: readonly (readonly [text: string, nanos: bigint])[] = [
    ["0", 0n],
    ["+0", 0n],
    ["-0", 0n],
    ["0s", 0n],
    ["1ns", 1n],
    ["1us", 1_000n],
    ["1\u00b5s", 1_000n],
    ["1\u03bcs", 1_000n],
    ["1ms", 1_000_000n],
    ["1s", second],
    ["1m", 60n * second],
    ["1h", 3600n * second],
    ["1h30m", 5400n * second],
    ["30m1h", 5400n * second],
    ["1s1s", 2n * second],
    ["-1.5s", -1_500_000_000n],
    ["+1.5s", 1_500_000_000n],
    ["1.s", second],
    [".5s", 500_000_000n],
    ["00000000000000000000000001s", second],
    ["0.5ns", 0n],
    ["1.9ns", 1n],
    ["0.333333333333333333333h", 1_200n * second],
    ["0.9999999999999999999s", second],
    ["0.9223372036854775807ms", 922_337n],
    ["9223372036854775807ns", longest],
    ["-9223372036854775808ns", -longest - 1n],
    ["9223372036.854775807s", longest],
    ["2562047h47m16.854775807s", longest],
  ];
  for (const [text, nanos] of good) test(JSON.stringify(text), () => assert.equal(parseDuration(text)?.nanos, nanos));

  const bad: Readonly<Record<string, string>> = {
    "an empty text": "",
    "a sign alone": "-",
    "a number without a unit": "1",
    "a unit without a number": "s",
    "a point without digits": ".s",
    "a day": "1d",
    "a unit in capitals": "1S",
    "white space inside": "1 s",
    "white space around": " 1s",
    "two signs": "--1s",
    "a sign inside": "1h-1m",
    "an exponent": "1e3s",
    "two points": "1.1.1s",
    "a number after the last unit": "1s5",
    "a nanosecond too long": "9223372036854775808ns",
    "a nanosecond too long below zero": "-9223372036854775809ns",
    "a sum that is too long": "9223372036s1s",
    "a number of 20 digits": "10000000000000000000ns",
    "other digits": "\u0661s",
    "a line break": "1s\n",
  };
  for (const [why, text] of Object.entries(bad)) {
    test(`${why} is refused`, () => assert.equal(parseDuration(text), undefined));
  }
});

describe("the limits of a duration", () => {
  test("64 bits of nanoseconds fit", () => {
    assert.deepEqual(durationOf(longest), new Duration(longest));
    assert.deepEqual(durationOf(-longest - 1n), new Duration(-longest - 1n));
  });

  test("one more is an overflow", () => {
    assert.deepEqual(durationOf(longest + 1n), new CelError("integer overflow"));
    assert.deepEqual(durationOf(-longest - 2n), new CelError("integer overflow"));
  });
});

describe("a timestamp is read as RFC 3339 says", () => {
  const good: Readonly<Record<string, Timestamp>> = {
    "1970-01-01T00:00:00Z": new Timestamp(0, 0),
    "1970-01-01T00:00:01.5Z": new Timestamp(1, 500_000_000),
    "1970-01-01T00:00:00,25Z": new Timestamp(0, 250_000_000),
    "1970-01-01T00:00:00.0000000019Z": new Timestamp(0, 1),
    "1970-01-01T01:00:00+01:00": new Timestamp(0, 0, 3600),
    "1969-12-31T16:30:00-07:30": new Timestamp(0, 0, -27_000),
    "1969-12-31T23:59:59Z": new Timestamp(-1, 0),
    "2000-02-29T00:00:00Z": new Timestamp(951_782_400, 0),
    "0001-01-01T00:00:00Z": new Timestamp(-62_135_596_800, 0),
    "9999-12-31T23:59:59.999999999Z": new Timestamp(253_402_300_799, 999_999_999),
    "1970-01-01T1:00:00Z": new Timestamp(3600, 0),
    "1970-01-02T00:00:00+24:00": new Timestamp(0, 0, 86_400),
  };
  for (const [text, time] of Object.entries(good)) test(text, () => assert.deepEqual(parseTimestamp(text), time));

  const bad: Readonly<Record<string, string>> = {
    "an empty text": "",
    "a date": "2020-01-01",
    "a time without a zone": "2020-01-01T00:00:00",
    "a space for the T": "2020-01-01 00:00:00Z",
    "a small t": "2020-01-01t00:00:00Z",
    "a small z": "2020-01-01T00:00:00z",
    "month 0": "2020-00-01T00:00:00Z",
    "month 13": "2020-13-01T00:00:00Z",
    "day 0": "2020-01-00T00:00:00Z",
    "day 31 of a month of 30": "2020-04-31T00:00:00Z",
    "29 February of a year that is not a leap year": "2100-02-29T00:00:00Z",
    "hour 24": "2020-01-01T24:00:00Z",
    "minute 60": "2020-01-01T00:60:00Z",
    "a leap second": "2016-12-31T23:59:60Z",
    "a year of five digits": "10000-01-01T00:00:00Z",
    "a year below zero": "-0001-01-01T00:00:00Z",
    "a point without digits": "2020-01-01T00:00:00.Z",
    "an offset without a colon": "2020-01-01T00:00:00+0100",
    "an offset of hours alone": "2020-01-01T00:00:00+01",
    "an offset of more than a day": "2020-01-01T00:00:00+25:00",
    "white space around": " 2020-01-01T00:00:00Z",
  };
  for (const [why, text] of Object.entries(bad)) {
    test(`${why} is refused`, () => assert.equal(parseTimestamp(text), undefined));
  }
});

describe("seconds of a date", () => {
  test("years before 100 are those years", () => {
    assert.equal(epochSeconds([1, 1, 1]), -62_135_596_800);
    assert.equal(epochSeconds([99, 1, 1]), -59_042_995_200);
  });

  test("the parts that are left out are zero", () => assert.equal(epochSeconds([1970, 1, 2]), 86_400));
  test("a date needs a month and a day", () => assert.equal(epochSeconds([1970]), undefined));
});

describe("the limits of a timestamp", () => {
  const overflow = new CelError("timestamp overflow");

  test("from the year 1 to the year 9999", () => {
    assert.deepEqual(timestampOf(-62_135_596_800n), new Timestamp(-62_135_596_800, 0));
    assert.deepEqual(timestampOf(253_402_300_799, 999_999_999), new Timestamp(253_402_300_799, 999_999_999));
  });

  test("a second before and after", () => {
    assert.deepEqual(timestampOf(-62_135_596_801n), overflow);
    assert.deepEqual(timestampOf(253_402_300_800n), overflow);
    assert.deepEqual(timestampOf(2n ** 63n - 1n), overflow);
  });
});

describe("computing with times", () => {
  const time = new Timestamp(10, 900_000_000, 3600);

  test("nanoseconds are carried over to seconds, and the offset stays", () => {
    assert.deepEqual(addDuration(time, new Duration(200_000_000n)), new Timestamp(11, 100_000_000, 3600));
    assert.deepEqual(addDuration(time, new Duration(-900_000_001n)), new Timestamp(9, 999_999_999, 3600));
  });

  test("a time before 1970 keeps its nanoseconds at or above zero", () => {
    assert.deepEqual(addDuration(new Timestamp(0, 0), new Duration(-1n)), new Timestamp(-1, 999_999_999));
  });

  test("a sum beyond the year 9999 is an overflow", () => {
    const last = new Timestamp(253_402_300_799, 999_999_999);
    assert.deepEqual(addDuration(last, new Duration(0n)), last);
    assert.deepEqual(addDuration(last, new Duration(1n)), new CelError("timestamp overflow"));
  });

  test("the difference of two times is a duration, whatever their offsets", () => {
    assert.deepEqual(subtractTimestamps(time, new Timestamp(10, 0)), new Duration(900_000_000n));
    assert.deepEqual(subtractTimestamps(new Timestamp(10, 0), time), new Duration(-900_000_000n));
  });

  test("a difference of more than 292 years is an overflow", () => {
    const days = (count: number): Timestamp => new Timestamp(count * 86_400, 0);
    assert.deepEqual(subtractTimestamps(days(106_751), days(0)), new Duration(106_751n * 86_400n * second));
    assert.deepEqual(subtractTimestamps(days(106_752), days(0)), new CelError("integer overflow"));
  });
});

describe("a timestamp as text", () => {
  const rows: readonly (readonly [Timestamp, string])[] = [
    [new Timestamp(0, 0), "1970-01-01T00:00:00Z"],
    [new Timestamp(0, 1), "1970-01-01T00:00:00.000000001Z"],
    [new Timestamp(0, 120_000_000), "1970-01-01T00:00:00.12Z"],
    [new Timestamp(-1, 500_000_000), "1969-12-31T23:59:59.5Z"],
    [new Timestamp(0, 0, 5400), "1970-01-01T01:30:00+01:30"],
    [new Timestamp(0, 0, -3600), "1969-12-31T23:00:00-01:00"],
    [new Timestamp(-62_135_596_800, 0), "0001-01-01T00:00:00Z"],
    [new Timestamp(253_402_300_799, 0), "9999-12-31T23:59:59Z"],
  ];
  for (const [time, text] of rows) {
    test(text, () => {
      assert.equal(formatTimestamp(time), text);
      assert.deepEqual(parseTimestamp(text), time, "it is read back the same");
    });
  }
});
