// SPDX-License-Identifier: Apache-2.0
// What one process remembers of the limits that throttled it.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { manualClock } from "@purlin/base/testing";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { until } from "../../test/local-processes.ts";
import { type LaunchEvents, openSupervision, type ResourceSupervision } from "../spawn/supervision.ts";
import { createFunctionCertificates } from "./function-certificates.ts";
import { createPortPool } from "./function-port.ts";
import { startFunctionProcess } from "./function-process.ts";

const limits = {
  startMs: 60_000,
  graceMs: 0,
  lingerMs: 0,
  holdMs: 0,
  replacedMs: 0,
  restart: { baseMs: 1000, maxMs: 1000, healthyMs: 0 },
};

test("a function that is throttled again and again is remembered for the last hundred notices only", async (t) => {
  using folder = tempFolder();
  const started: LaunchEvents[] = [];
  const real = openSupervision(folder.path);
  t.after(() => real.close());
  const resources: ResourceSupervision = {
    ...real,
    of: (spec) => ({
      ...real.of(spec),
      watch(_, { events }) {
        started.push(events);
        return { [Symbol.dispose]() {} };
      },
    }),
  };
  const clock = manualClock();
  const written: string[] = [];
  const fn = startFunctionProcess(
    { name: "fn", cwd: folder.path, program: { kind: "command", command: "/bin/sh", args: ["-c", "exec sleep 1000"] } },
    {
      certificates: createFunctionCertificates(join(folder.path, "certificates"), {
        now: () => Date.now(),
        days: 1,
        clientFolder: undefined,
      }),
      ports: createPortPool(),
      networks: {
        take: () => assert.fail("no sandbox"),
        open: () => assert.fail("no sandbox"),
        warm() {},
        async close() {},
      },
      env: { PATH: "/usr/bin:/bin" },
      clock,
      logFile: () => ({ add: (text) => void written.push(text) }),
      onChange() {},
      limits,
      resources,
    },
  );
  t.after(() => fn.stop());
  await until(() => started.length === 1);
  const held = (number: number): number => {
    written.length = 0;
    started[0]?.held(`it used ${number} CPUs`);
    return written.length;
  };
  for (let number = 0; number < 100; number++) assert.equal(held(number), 1);
  assert.equal(held(0), 0, "one that is known is not logged again");
  assert.equal(held(100), 1);
  assert.equal(held(1), 0, "the others are known");
  assert.equal(held(0), 1, "the oldest was forgotten");
});
