// SPDX-License-Identifier: Apache-2.0
// Which groups of a suite run at the same time, and in which process.
import type { Suite } from "./suites.ts";
import { type Group, type GroupResult, type ProcessOptions, TestProcess } from "./test-process.ts";

/** Runs groups one after the other. */
export interface GroupRunner {
  run(group: Group): Promise<void>;
  /** Called when it has run its last group. */
  end(): Promise<void>;
}

/** Runs all groups in their order, as many at once as the suite allows, and then those that run alone. */
export async function runGroups(suite: Suite, createRunner: () => GroupRunner): Promise<void> {
  const waiting = [...suite.groups];
  let turnTaken = false;
  const work = async (): Promise<void> => {
    const runner = createRunner();
    for (;;) {
      const index = waiting.findIndex(({ inTurn = false }) => !(inTurn && turnTaken));
      // Only groups whose turn is taken are left: the worker that has the turn runs them.
      const [group] = index === -1 ? [] : waiting.splice(index, 1);
      if (group === undefined) return runner.end();
      const { inTurn = false } = group;
      turnTaken ||= inTurn;
      await runner.run(group);
      if (inTurn) turnTaken = false;
    }
  };
  await Promise.all(Array.from({ length: suite.atOnce }, work));
  const last = createRunner();
  for (const group of suite.alone ?? []) await last.run(group);
  await last.end();
}

/** Runs each group in a process of its own. */
export function ownProcesses(options: ProcessOptions, onResult: (result: GroupResult) => void): GroupRunner {
  return {
    async run(group) {
      const process = new TestProcess(options);
      const result = await process.run(group);
      const { failures } = await process.end();
      onResult({
        ...result,
        failures: [...result.failures, ...failures.map((one) => ({ ...one, path: [group.title] }))],
      });
    },
    end: async () => {},
  };
}

/** Runs all groups in one process: what they load is loaded once. A process that ended early is replaced for the next group. */
export function sharedProcess(options: ProcessOptions, onResult: (result: GroupResult) => void): GroupRunner {
  let process: TestProcess | undefined;
  const end = async (): Promise<void> => {
    const ended = await process?.end();
    if (ended !== undefined && ended.failures.length > 0) onResult(ended);
    process = undefined;
  };
  return {
    async run(group) {
      process ??= new TestProcess(options);
      onResult(await process.run(group));
      if (process.hasEnded) await end();
    },
    end,
  };
}
