// SPDX-License-Identifier: Apache-2.0
// How limits are shown, and what is judged.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  defaultFunctionLimits,
  raiseAdvice,
  settingsOfRuntimeConfig,
  showBytes,
  showLimit,
} from "./function-limits.ts";
import type { ProcessStat } from "./marked-processes.ts";
import {
  type CpuClock,
  cpusUsed,
  createThrottle,
  heldText,
  isClose,
  judge,
  nextDuty,
  stoppedText,
} from "./throttle.ts";

describe("amounts", () => {
  const amounts: readonly (readonly [number, string])[] = [
    [0, "0"],
    [1023, "1023"],
    [1024, "1Ki"],
    [1536, "1.5Ki"],
    [1024 ** 2 - 1, "1Mi"],
    [64 * 1024 ** 2, "64Mi"],
    [2.25 * 1024 ** 3, "2.3Gi"],
    [1024 ** 5, "1024Ti"],
  ];
  for (const [bytes, text] of amounts) test(`${bytes} bytes are ${text}`, () => assert.equal(showBytes(bytes), text));

  test("are shown in the unit of their limit", () => {
    assert.equal(showLimit("memoryBytes", 1024 ** 3), "1Gi");
    assert.equal(showLimit("tmpBytes", 512), "512");
    assert.equal(showLimit("logBytesPerSecond", 1024 ** 2), "1Mi a second");
    assert.equal(showLimit("cpus", 2), "2");
    assert.equal(showLimit("cpus", 1.5), "1500m");
    assert.equal(showLimit("processes", 1024), "1024");
  });

  test("can be raised by a flag, and some by a field", () => {
    assert.equal(raiseAdvice("processes"), "raise --function-process-limit");
    assert.equal(
      raiseAdvice("cpus"),
      "raise --function-cpu-limit, or resources.limits.cpu in its DeploymentRuntimeConfig",
    );
  });
});

describe("a function that uses too much", () => {
  const limits = { ...defaultFunctionLimits, memoryBytes: 1000, processes: 10, tmpBytes: 100, cpus: 1.5 };
  const none = { memoryBytes: 0, processes: 0, tmpBytes: 0 };

  test("is stopped above a limit, and not at it", () => {
    assert.equal(judge({ memoryBytes: 1000, processes: 10, tmpBytes: 100 }, limits), undefined);
    assert.equal(judge({ ...none, processes: 11 }, limits)?.limit, "processes");
    assert.equal(judge({ memoryBytes: 1001, processes: 11, tmpBytes: 101 }, limits)?.limit, "memoryBytes");
  });

  test("is described with what it used, where that is known", () => {
    assert.equal(
      judge({ ...none, tmpBytes: 2048 }, limits)?.text,
      "the function exceeded its temporary file limit of 100 by using 2Ki and was stopped; raise --function-tmp-limit, or resources.limits.ephemeral-storage in its DeploymentRuntimeConfig",
    );
    assert.equal(
      stoppedText("processes", limits),
      "the function exceeded its process limit of 10 and was stopped; raise --function-process-limit",
    );
  });

  test("or held to it", () => {
    assert.equal(
      heldText("cpus", limits),
      "the function reached its CPU limit of 1500m: it is slowed down; raise --function-cpu-limit, or resources.limits.cpu in its DeploymentRuntimeConfig",
    );
    assert.match(heldText("openFiles", limits), /: it cannot open more; raise --function-open-file-limit$/);
    assert.match(
      heldText("logBytesPerSecond", limits),
      /1Mi a second: further output was discarded; raise --function-log-limit$/,
    );
  });

  test("is measured more often above half of a limit", () => {
    assert.equal(isClose({ ...none, memoryBytes: 500 }, limits), false);
    assert.equal(isClose({ ...none, memoryBytes: 501 }, limits), true);
    assert.equal(isClose({ ...none, tmpBytes: 51 }, limits), true);
  });
});

describe("processor time", () => {
  const stat = (pid: number, ticks: number, start = 1): ProcessStat => ({
    pid,
    parent: 1,
    start,
    ticks,
    childTicks: 0,
    threads: 1,
    resident: 1,
    isZombie: false,
  });

  test("a process that ended and one of the same pid are different ones", () => {
    const clock: CpuClock = new Map();
    assert.equal(cpusUsed([stat(7, 50)], clock, 1000), 0.5);
    assert.equal(cpusUsed([stat(7, 100)], clock, 1000), 0.5);
    assert.equal(cpusUsed([stat(7, 30, 2)], clock, 1000), 0.3);
    assert.deepEqual([...clock], [["7 2", { ticks: 30, childTicks: 0 }]]);
  });

  test("no time has passed", () => assert.equal(cpusUsed([stat(7, 50)], new Map(), 0), 0));

  test("a duty is never below five percent and never above all of the time", () => {
    assert.equal(nextDuty(1, 100, 1), 0.05);
    assert.equal(nextDuty(0.5, 1, 4), 1);
    assert.equal(nextDuty(0.5, 0, 1), 1);
    assert.equal(nextDuty(0.5, 2, 1), 0.25);
  });

  test("a throttle without processes, or with the whole time, stops nothing", () => {
    const sent: string[] = [];
    const throttle = createThrottle(({ pid }, signal) => void sent.push(`${pid} ${signal}`));
    throttle.set(0.5, []);
    throttle.set(1, [{ pid: 1, start: 1 }]);
    throttle.end();
    assert.deepEqual(sent, []);
  });
});

test("variables and arguments of a DeploymentRuntimeConfig are those of one container", () => {
  const container = {
    name: "package-runtime",
    args: ["--debug"],
    env: [
      { name: "A", value: "1" },
      { name: "B", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
      { name: "C" },
    ],
  };
  const spec = (...containers: readonly object[]): object => ({
    deploymentTemplate: { spec: { template: { spec: { containers } } } },
  });
  assert.deepEqual(settingsOfRuntimeConfig(spec({ name: "other", args: ["x"] }, container)), {
    env: { A: "1" },
    args: ["--debug"],
    hidden: ["B"],
  });
  assert.deepEqual(settingsOfRuntimeConfig(spec({ name: "package-runtime", args: [] })), { env: {}, hidden: [] });
  assert.deepEqual(settingsOfRuntimeConfig({}), { env: {}, hidden: [] });
});
