// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { UserError } from "../user-error.ts";
import { limitFields, limitOption, readLimits } from "./function-limits.ts";

const wrong = (field: string, expected: string): UserError => new UserError(`${field} ${expected}`);
const read = (given: Readonly<Record<string, unknown>>): object => readLimits((field) => given[field], wrong);
const mebibyte = 1024 ** 2;

test("limits are quantities, as texts or numbers; those that are not given are absent", () => {
  assert.deepEqual(read({}), {});
  assert.deepEqual(
    read({
      memoryLimit: "512Mi",
      cpuLimit: "1500m",
      processLimit: 64,
      openFileLimit: "1k",
      tmpLimit: "1Gi",
      logLimit: 2048,
    }),
    {
      ...{ memoryBytes: 512 * mebibyte, cpus: 1.5, processes: 64, openFiles: 1000 },
      ...{ tmpBytes: 1024 * mebibyte, logBytesPerSecond: 2048 },
    },
  );
});

test("the smallest value of each limit is accepted, and one below it refused with an example", () => {
  const cases: readonly (readonly [field: string, name: string, least: string, below: string, message: string])[] = [
    ["memoryLimit", "memoryBytes", "16Mi", "16777215", "a whole quantity of at least 16Mi, such as 512Mi"],
    ["cpuLimit", "cpus", "10m", "9m", "a quantity of at least 0.01, such as 1500m"],
    ["processLimit", "processes", "32", "31", "a whole quantity of at least 32, such as 256"],
    ["openFileLimit", "openFiles", "64", "63", "a whole quantity of at least 64, such as 1024"],
    ["tmpLimit", "tmpBytes", "1Mi", "1048575", "a whole quantity of at least 1Mi, such as 256Mi"],
    ["logLimit", "logBytesPerSecond", "1Ki", "1023", "a whole quantity of at least 1024, such as 4Mi"],
  ];
  assert.deepEqual(
    cases.map(([field]) => field),
    limitFields,
  );
  for (const [field, name, least, below, message] of cases) {
    assert.deepEqual(Object.keys(read({ [field]: least })), [name]);
    assert.throws(() => read({ [field]: below }), { message: `${field} must be ${message}` });
  }
});

test("halves of what is whole, texts that are not quantities and other values are refused", () => {
  for (const value of ["64500m", "many", "", "-64", true, null, ["64"], Number.NaN, "1e30"]) {
    assert.throws(
      () => read({ processLimit: value }),
      { message: /^processLimit must be a whole quantity/ },
      String(value),
    );
  }
  assert.deepEqual(read({ cpuLimit: "0.25" }), { cpus: 0.25 });
});

test("the option of a field is in lowerCamelCase", () => {
  assert.equal(limitOption("memoryLimit"), "functionMemoryLimit");
});
