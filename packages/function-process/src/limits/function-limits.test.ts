// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultFunctionLimits, limitsOfRuntimeConfig, showBytes, showLimit } from "./function-limits.ts";
import { heldText, isClose, judge, stoppedText } from "./throttle.ts";

const mebibyte = 1024 ** 2;
const limits = {
  ...defaultFunctionLimits,
  memoryBytes: 200 * mebibyte,
  processes: 100,
  tmpBytes: 16 * mebibyte,
  cpus: 0.5,
};
const little = { memoryBytes: 1, processes: 1, tmpBytes: 1 };

const judged: Record<string, readonly [Partial<typeof little>, string | undefined]> = {
  "within all of them": [{}, undefined],
  "as much as is allowed": [{ memoryBytes: 200 * mebibyte, processes: 100, tmpBytes: 16 * mebibyte }, undefined],
  "too much memory": [
    { memoryBytes: 231 * mebibyte },
    "the function exceeded its memory limit of 200Mi by using 231Mi and was stopped; raise --function-memory-limit, or resources.limits.memory in its DeploymentRuntimeConfig",
  ],
  "too many processes": [
    { processes: 101 },
    "the function exceeded its process limit of 100 by using 101 and was stopped; raise --function-process-limit",
  ],
  "too many temporary files": [
    { tmpBytes: 17.26 * mebibyte },
    "the function exceeded its temporary file limit of 16Mi by using 17.3Mi and was stopped; raise --function-tmp-limit, or resources.limits.ephemeral-storage in its DeploymentRuntimeConfig",
  ],
};
for (const [name, [usage, text]] of Object.entries(judged)) {
  test(`a function is judged by what it uses: ${name}`, () => {
    assert.equal(judge({ ...little, ...usage }, limits)?.text, text);
  });
}

test("a function is measured more often when it uses half of a limit", () => {
  assert.equal(isClose(little, limits), false);
  assert.equal(isClose({ ...little, processes: 51 }, limits), true);
});

test("texts say what happened and how to raise the limit", () => {
  assert.equal(
    stoppedText("memoryBytes", limits),
    "the function exceeded its memory limit of 200Mi and was stopped; raise --function-memory-limit, or resources.limits.memory in its DeploymentRuntimeConfig",
  );
  assert.equal(
    heldText("cpus", limits),
    "the function reached its CPU limit of 500m: it is slowed down; raise --function-cpu-limit, or resources.limits.cpu in its DeploymentRuntimeConfig",
  );
  assert.match(
    heldText("openFiles", limits),
    /open file limit of 16384: it cannot open more; raise --function-open-file-limit$/,
  );
  assert.match(
    heldText("logBytesPerSecond", limits),
    /log limit of 1Mi a second: further output was discarded; raise --function-log-limit$/,
  );
  assert.deepEqual([1, 1023, 1024, 1536, 3.04 * 1024 ** 3].map(showBytes), ["1", "1023", "1Ki", "1.5Ki", "3Gi"]);
  assert.equal(showLimit("cpus", 2), "2");
});

const configs: Record<string, readonly [unknown, object]> = {
  "no limits": [{ name: "package-runtime" }, {}],
  memory: [{ name: "package-runtime", resources: { limits: { memory: "256Mi" } } }, { memoryBytes: 256 * mebibyte }],
  "all that there are": [
    { name: "package-runtime", resources: { limits: { memory: "1Gi", cpu: "1500m", "ephemeral-storage": "1Mi" } } },
    { memoryBytes: 1024 * mebibyte, cpus: 1.5, tmpBytes: mebibyte },
  ],
  "a number": [{ name: "package-runtime", resources: { limits: { cpu: 2 } } }, { cpus: 2 }],
  "another container": [{ name: "sidecar", resources: { limits: { memory: "1Mi" } } }, {}],
  "what is not a quantity": [{ name: "package-runtime", resources: { limits: { memory: "much", cpu: "-1" } } }, {}],
  "other shapes": [{ name: "package-runtime", resources: 3 }, {}],
};
for (const [name, [container, expected]] of Object.entries(configs)) {
  test(`a DeploymentRuntimeConfig sets the limits of a function: ${name}`, () => {
    const spec = { deploymentTemplate: { spec: { template: { spec: { containers: [container] } } } } };
    assert.deepEqual(limitsOfRuntimeConfig(spec), expected);
  });
}

test("a DeploymentRuntimeConfig without a template sets no limits", () => {
  for (const spec of [
    {},
    { deploymentTemplate: {} },
    { deploymentTemplate: { spec: { template: { spec: { containers: 3 } } } } },
  ]) {
    assert.deepEqual(limitsOfRuntimeConfig(spec), {});
  }
});
