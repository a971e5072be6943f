// SPDX-License-Identifier: Apache-2.0
import type { Part } from "../measure/suite.ts";
import { explainFigures } from "./explain.ts";
import { recorderFigures } from "./recorder.ts";

/** Everything `npm run bench -- loop` measures, in this order. */
export const parts: readonly Part[] = [
  {
    name: "recorder",
    measure: (quick) => recorderFigures(quick ? { rounds: 1, count: 20 } : { rounds: 5, count: 200 }),
  },
  {
    name: "explain",
    measure: (quick) => explainFigures(quick ? { rounds: 1, count: 20 } : { rounds: 10, count: 1000 }),
  },
];
