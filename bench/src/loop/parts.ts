// SPDX-License-Identifier: Apache-2.0
import type { Part } from "../measure/suite.ts";
import { commandFigures } from "./commands.ts";
import { diffFigures } from "./diff.ts";
import { explainFigures } from "./explain.ts";
import { recorderFigures } from "./recorder.ts";
import { rolloutFigures } from "./rollout.ts";
import { shadowFigures } from "./shadow.ts";
import { testFigures } from "./tests.ts";

/** Everything `npm run bench -- loop` measures, in this order. */
export const parts: readonly Part[] = [
  {
    name: "recorder",
    measure: (quick) => recorderFigures(quick ? { rounds: 1, count: 20 } : { rounds: 5, count: 200 }),
  },
  {
    name: "diff",
    measure: (quick) => diffFigures(quick ? { rounds: 1, count: 20, few: 5 } : { rounds: 5, count: 200, few: 20 }),
  },
  {
    name: "test",
    measure: async (quick) => testFigures(quick ? { rounds: 1, count: 20 } : { rounds: 5, count: 200 }),
  },
  {
    name: "explain",
    measure: (quick) => explainFigures(quick ? { rounds: 1, count: 20 } : { rounds: 10, count: 1000 }),
  },
  {
    name: "commands",
    measure: (quick) => commandFigures({ rounds: quick ? 2 : 20 }),
  },
  {
    name: "shadow",
    measure: (quick) => shadowFigures(quick ? { rounds: 1, count: 20 } : { rounds: 40, count: 100 }),
  },
  {
    name: "rollout",
    measure: (quick) => rolloutFigures(quick ? { rounds: 3, count: 500 } : { rounds: 15, count: 10_000 }),
  },
];
