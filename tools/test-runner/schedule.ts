// SPDX-License-Identifier: Apache-2.0
// Which groups of a suite run at the same time.
import type { Group } from "./run-group.ts";
import type { Suite } from "./suites.ts";

/** Runs all groups in their order, as many at once as the suite allows, and then those that run alone. */
export async function runGroups(suite: Suite, run: (group: Group) => Promise<void>): Promise<void> {
  const waiting = [...suite.groups];
  let turnTaken = false;
  const work = async (): Promise<void> => {
    for (;;) {
      const index = waiting.findIndex(({ inTurn = false }) => !(inTurn && turnTaken));
      // Only groups whose turn is taken are left: the worker that has the turn runs them.
      const [group] = index === -1 ? [] : waiting.splice(index, 1);
      if (group === undefined) return;
      const { inTurn = false } = group;
      turnTaken ||= inTurn;
      await run(group);
      if (inTurn) turnTaken = false;
    }
  };
  await Promise.all(Array.from({ length: suite.atOnce }, work));
  for (const group of suite.alone ?? []) await run(group);
}
