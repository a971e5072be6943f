// SPDX-License-Identifier: Apache-2.0
// The values that protobuf-JSON writes in a form of its own: times, durations, bytes and integers. protobuf-es reads and writes the same.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, test } from "node:test";
import { create as judgeCreate, fromJson as judgeFromJson, toJson as judgeToJson } from "@bufbuild/protobuf";
import { DurationSchema, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { create } from "./descriptor.ts";
import type { Duration } from "./gen/duration.ts";
import { StepMeta } from "./gen/pipeline-inspector.ts";
import { CredentialData, RequestMeta, ResponseMeta, Result } from "./gen/run-function.ts";
import { Timestamp } from "./gen/timestamp.ts";
import { fromJson, toJson } from "./message-json.ts";

const readTime = (json: unknown): Timestamp | undefined => fromJson(StepMeta, { timestamp: json }).timestamp;
const writeTime = (seconds: bigint, nanos = 0): unknown =>
  toJson(StepMeta, create(StepMeta, { timestamp: create(Timestamp, { seconds, nanos }) }))["timestamp"];

describe("a time", () => {
  const times: Readonly<Record<string, readonly [seconds: bigint, nanos: number]>> = {
    "1970-01-01T00:00:00Z": [0n, 0],
    "2026-01-15T10:30:00Z": [1_768_473_000n, 0],
    "2026-01-15T10:30:00.500Z": [1_768_473_000n, 500_000_000],
    "2026-01-15T10:30:00.000001Z": [1_768_473_000n, 1000],
    "2026-01-15T10:30:00.123456789Z": [1_768_473_000n, 123_456_789],
    "1969-12-31T23:59:59.900Z": [-1n, 900_000_000],
    "2024-02-29T00:00:00Z": [1_709_164_800n, 0],
    "0001-01-01T00:00:00Z": [-62_135_596_800n, 0],
    "9999-12-31T23:59:59.999999999Z": [253_402_300_799n, 999_999_999],
  };
  for (const [text, [seconds, nanos]] of Object.entries(times)) {
    test(`${text} is read and written, as protobuf-es does`, () => {
      const read = readTime(text);
      assert.deepEqual([read?.seconds, read?.nanos], [seconds, nanos]);
      assert.equal(writeTime(seconds, nanos), text);
      assert.equal(judgeToJson(TimestampSchema, judgeCreate(TimestampSchema, { seconds, nanos })), text);
      const theirs = judgeFromJson(TimestampSchema, text);
      assert.deepEqual([theirs.seconds, theirs.nanos], [seconds, nanos]);
    });
  }

  test("may have another zone and any number of digits after the point up to nine", () => {
    const noon = 1_768_473_000n;
    const rows: readonly (readonly [text: string, seconds: bigint, nanos: number])[] = [
      ["2026-01-15T11:30:00+01:00", noon, 0],
      ["2026-01-15T05:00:00-05:30", noon, 0],
      ["2026-01-15T10:30:00+00:00", noon, 0],
      ["2026-01-15T10:30:00.5Z", noon, 500_000_000],
      ["2026-01-15T10:30:00.1234567Z", noon, 123_456_700],
    ];
    for (const [text, seconds, nanos] of rows) {
      const read = readTime(text);
      assert.deepEqual([read?.seconds, read?.nanos], [seconds, nanos], text);
    }
  });

  test("of another form is refused with its path", () => {
    const refused: readonly unknown[] = [
      ...["", "now", "2026-01-15", "2026-01-15T10:30:00", "2026-01-15 10:30:00Z", "2026-1-15T10:30:00Z"],
      ...["2026-02-30T00:00:00Z", "2025-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-15T24:00:00Z"],
      ...["2026-01-15T10:30:60Z", "2026-01-15T10:30:00.Z", "2026-01-15T10:30:00.1234567890Z"],
      // Before the year 1 by its zone, and after the year 9999.
      ...["0000-12-31T23:59:59Z", "0001-01-01T00:00:00+01:00", "10000-01-01T00:00:00Z", "9999-12-31T23:59:59-01:00"],
      ...[0, { seconds: "1", nanos: 0 }, ["2026-01-15T10:30:00Z"]],
    ];
    for (const json of refused) {
      assert.throws(
        () => readTime(json),
        {
          code: "INVALID_JSON",
          path: "timestamp",
          message: `timestamp: expected a time such as "2026-01-02T03:04:05Z", not ${JSON.stringify(json)}`,
        },
        JSON.stringify(json),
      );
    }
  });

  test("outside the years 1 to 9999, or with a wrong number of nanoseconds, has no JSON form", () => {
    const rows: readonly (readonly [seconds: bigint, nanos: number])[] = [
      [-62_135_596_801n, 0],
      [253_402_300_800n, 0],
      [2n ** 62n, 0],
      [0n, -1],
      [0n, 1_000_000_000],
    ];
    for (const [seconds, nanos] of rows) {
      assert.throws(
        () => writeTime(seconds, nanos),
        { code: "INVALID_VALUE", message: "a Timestamp holds a time that JSON cannot show" },
        `${seconds} ${nanos}`,
      );
    }
  });

  test("that is null or missing is absent", () => {
    assert.equal(readTime(null), undefined);
    assert.equal(fromJson(StepMeta, {}).timestamp, undefined);
    assert.deepEqual(toJson(StepMeta, create(StepMeta)), {});
  });
});

describe("a duration", () => {
  const read = (json: unknown): Duration | undefined => fromJson(ResponseMeta, { ttl: json }).ttl;

  test("is read with its sign on both parts", () => {
    const rows: readonly (readonly [text: string, seconds: bigint, nanos: number])[] = [
      ["0s", 0n, 0],
      ["-0s", 0n, 0],
      ["1.5s", 1n, 500_000_000],
      ["-1.5s", -1n, -500_000_000],
      ["-0.000000001s", 0n, -1],
      ["315576000000s", 315_576_000_000n, 0],
      ["-315576000000s", -315_576_000_000n, 0],
    ];
    for (const [text, seconds, nanos] of rows) {
      const ours = read(text);
      assert.deepEqual([ours?.seconds, ours?.nanos], [seconds, nanos], text);
      const theirs = judgeFromJson(DurationSchema, text);
      assert.deepEqual([theirs.seconds, theirs.nanos || 0], [seconds, nanos], `protobuf-es: ${text}`);
    }
  });

  test("of more than 10,000 years is refused", () => {
    for (const text of ["315576000001s", "-315576000001s", "999999999999s"]) {
      assert.throws(() => read(text), {
        path: "ttl",
        message: `ttl: expected a duration of at most 10000 years, not "${text}"`,
      });
      assert.throws(() => judgeFromJson(DurationSchema, text), /out of range|cannot decode/);
    }
  });

  test("of another form is refused", () => {
    for (const json of ["", "s", "1", "1m", " 1s", "1s ", "1.s", ".5s", "+1s", "1.1234567890s", "1e3s", 60, {}]) {
      assert.throws(() => read(json), {
        message: `ttl: expected a duration such as "60s" or "1.5s", not ${JSON.stringify(json)}`,
      });
    }
  });
});

describe("bytes", () => {
  const read = (json: unknown): Uint8Array | undefined => fromJson(CredentialData, { data: { a: json } }).data.get("a");

  test("are base64 of both alphabets, with or without padding", () => {
    const rows: Readonly<Record<string, readonly number[]>> = {
      "": [],
      "AA==": [0],
      AA: [0],
      "AAE=": [0, 1],
      AAE: [0, 1],
      AAEC: [0, 1, 2],
      "+/8=": [0xfb, 0xff],
      "-_8": [0xfb, 0xff],
      "AAECAw==": [0, 1, 2, 3],
    };
    for (const [text, bytes] of Object.entries(rows)) assert.deepEqual([...(read(text) ?? [])], bytes, text);
  });

  test("of a length that base64 never has are refused, not cut", () => {
    for (const json of ["A", "AAAAA", "A===", "AA=", "AAA==", "AAAA=", "AA==AA==", "A A=", "AA\n", "AÄ==", 1, [65]]) {
      assert.throws(() => read(json), {
        path: "data.a",
        message: `data.a: expected base64, not ${JSON.stringify(json)}`,
      });
    }
  });

  test("are copied: a change of the message does not reach a shared buffer", () => {
    const one = read("AAEC");
    assert.equal(one?.buffer.byteLength, 3);
    assert.equal(one?.constructor, Uint8Array);
    const data = create(CredentialData, { data: new Map([["a", Buffer.from([0, 1, 2, 255])]]) });
    assert.deepEqual(toJson(CredentialData, data), { data: { a: "AAEC/w==" } });
  });
});

describe("integers", () => {
  const step = (json: unknown): number => fromJson(StepMeta, { stepIndex: json }).stepIndex;

  test("of 32 bits are numbers or strings within their range", () => {
    const rows: readonly (readonly [json: unknown, value: number])[] = [
      [7, 7],
      ["7", 7],
      ["-1", -1],
      [1.0, 1],
      [2_147_483_647, 2_147_483_647],
      ["-2147483648", -2_147_483_648],
    ];
    for (const [json, value] of rows) assert.equal(step(json), value, String(json));
  });

  test("of 32 bits that are too large or not whole are refused", () => {
    for (const json of [2_147_483_648, -2_147_483_649, "2147483648", 1.5, "1.5", "", " 1", "0x1", "1e3", true, [1]]) {
      assert.throws(() => step(json), { message: `stepIndex: expected an integer, not ${JSON.stringify(json)}` });
    }
    assert.throws(() => step(Number.NaN), { message: "stepIndex: expected an integer, not null" });
  });

  test("of 64 bits are written as strings and read from strings, numbers and bigints", () => {
    const read = (json: unknown): unknown =>
      fromJson({ ...Timestamp, typeName: "test.Int64" } as typeof Timestamp, { seconds: json }).seconds;
    for (const [json, value] of [
      ["9223372036854775807", 2n ** 63n - 1n],
      ["-9223372036854775808", -(2n ** 63n)],
      [-5, -5n],
      [9_007_199_254_740_991, 9_007_199_254_740_991n],
      [12n, 12n],
    ] as const) {
      assert.equal(read(json), value, String(json));
    }
    for (const text of ["9223372036854775808", "-9223372036854775809", "9999999999999999999"]) {
      assert.throws(() => read(text), { message: `seconds: expected an integer of 64 bits, not "${text}"` });
    }
    assert.throws(() => read(2n ** 63n), {
      message: "seconds: expected an integer of 64 bits, not 9223372036854775808",
    });
    for (const json of [2 ** 53, 1.5, "", "1.0", "12345678901234567890", true]) {
      assert.throws(() => read(json), { message: `seconds: expected an integer, not ${JSON.stringify(json)}` });
    }
    const type = { ...Timestamp, typeName: "test.Int64" } as typeof Timestamp;
    assert.deepEqual(toJson(type, create(type, { seconds: -5n })), { seconds: "-5" });
  });

  test("that stand for an enum have its range, and no other string than a name", () => {
    assert.deepEqual(fromJson(RequestMeta, { capabilities: [-1, 2_147_483_647] }).capabilities, [-1, 2_147_483_647]);
    for (const json of [2_147_483_648, 1.5, "1", "constructor", "severity_fatal", true]) {
      assert.throws(() => fromJson(Result, { severity: json }), {
        path: "severity",
        message: `severity: expected one of SEVERITY_UNSPECIFIED, SEVERITY_FATAL, SEVERITY_WARNING, SEVERITY_NORMAL, not ${JSON.stringify(json)}`,
      });
    }
  });
});

describe("members", () => {
  test("are found by both of their names, and may be given once", () => {
    for (const json of [{ stepIndex: 3 }, { step_index: 3 }, { stepIndex: null, step_index: 3 }]) {
      assert.equal(fromJson(StepMeta, json).stepIndex, 3);
    }
    assert.throws(() => fromJson(StepMeta, { stepIndex: 1, step_index: 1 }), {
      path: "step_index",
      message: "step_index: it is given twice",
    });
  });

  test("null stands for an absent member, but not for an item of a list or a map", () => {
    assert.deepEqual(fromJson(RequestMeta, { tag: null, capabilities: null }), create(RequestMeta));
    assert.throws(() => fromJson(RequestMeta, { capabilities: [null] }), { path: "capabilities[0]" });
    assert.throws(() => fromJson(CredentialData, { data: { a: null } }), {
      message: "data.a: expected base64, not null",
    });
  });

  test("a value that is refused is shown up to 60 characters", () => {
    const shown = (tag: unknown): string => {
      try {
        fromJson(RequestMeta, { tag });
      } catch (error) {
        return (error as Error).message.replace("tag: expected a string, not ", "");
      }
      return "";
    };
    assert.equal(shown(["x".repeat(56)]), `["${"x".repeat(56)}"]`);
    assert.equal(shown(["x".repeat(57)]), `["${"x".repeat(55)}…`);
    assert.equal(shown({ n: 10n }), '{"n":10}');
    assert.equal(shown(10n), "10");
    assert.equal(
      shown(() => {}),
      "function",
    );
  });
});
