// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defaultFunctionLimits } from "./function-limits.ts";
import { cappedCommand, isPidMaxOwn, limitedCommand, namespacedCommand, type PidNamespace } from "./limit-script.ts";

const limits = { ...defaultFunctionLimits, memoryBytes: 1024 ** 3, openFiles: 100.4, processes: 10, tmpBytes: 1025 };
const options = { limits, countProcesses: false, limitFiles: false };
const namespace: PidNamespace = { words: ["unshare", "--pid"], ownUser: false, ownPidMax: false };
const linesOf = ([, , script = ""]: readonly string[]): string[] => script.split("\n");

describe("the shell that sets limits", () => {
  test("runs the command itself, word by word", () => {
    const command = limitedCommand(["/main", "--a=b c", "$HOME"], options);
    assert.deepEqual(command.slice(0, 2), ["/bin/sh", "-c"]);
    assert.deepEqual(command.slice(3), ["purlin-limits", "/main", "--a=b c", "$HOME"]);
    assert.equal(linesOf(command).at(-1), 'exec "$@"');
  });

  test("sets core files, open files and memory, and continues where one is refused", () => {
    assert.deepEqual(linesOf(limitedCommand(["/main"], options)).slice(0, -1), [
      "{ ulimit -c 0; } 2>/dev/null",
      "{ ulimit -n 100; } 2>/dev/null",
      // Twice the memory, and two GiB that runtimes reserve, in kilobytes.
      "{ ulimit -d 4194304; } 2>/dev/null",
    ]);
  });

  test("limits files in whole blocks of 512 bytes", () => {
    const script = (tmpBytes: number): string =>
      linesOf(limitedCommand(["/main"], { ...options, limits: { ...limits, tmpBytes }, limitFiles: true }))[3] ?? "";
    assert.equal(script(1024), "{ ulimit -f 2; } 2>/dev/null");
    assert.equal(script(1025), "{ ulimit -f 3; } 2>/dev/null");
  });

  test("limits processes above the supervised limit, in the words of bash or dash", () => {
    const script = linesOf(limitedCommand(["/main"], { ...options, countProcesses: true }));
    assert.equal(script[3], "{ { ulimit -u 29; } 2>/dev/null || ulimit -p 29; } 2>/dev/null");
  });
});

describe("the first process of a PID namespace", () => {
  test("comes after the words of the namespace", () => {
    const command = namespacedCommand(["/main", "x"], namespace, options);
    assert.deepEqual(command.slice(0, 4), ["unshare", "--pid", "/bin/sh", "-c"]);
    assert.deepEqual(command.slice(5), ["purlin-init", "/main", "x"]);
  });

  test("caps the number of pids only where the namespace has a largest pid of its own", () => {
    const script = (own: boolean): string =>
      cappedCommand(["/main"], { ...namespace, ownPidMax: own }, limits)[4] ?? "";
    // The kernel gives 301 pids only once.
    assert.match(script(true), /^\{ echo 311 >\/proc\/sys\/kernel\/pid_max; \} 2>\/dev\/null\n/);
    assert.doesNotMatch(script(false), /pid_max/);
    assert.doesNotMatch(script(true), /ulimit/);
  });
});

describe("whether a kernel has a largest pid for each namespace", () => {
  const kernels: Readonly<Record<string, boolean>> = {
    "6.13.12": false,
    "6.14": true,
    "6.14.0-rc1": true,
    "6.9.3-generic": false,
    "6.100.1": true,
    "5.99.0": false,
    "7.0.1": true,
    "10.0": true,
    unknown: false,
    "": false,
  };
  for (const [kernel, expected] of Object.entries(kernels)) {
    test(`"${kernel}": ${expected}`, () => assert.equal(isPidMaxOwn(kernel), expected));
  }
});
