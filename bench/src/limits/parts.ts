// SPDX-License-Identifier: Apache-2.0
import type { Part } from "../measure/suite.ts";
import { callFigures, createFigures } from "./cost.ts";
import { sandboxFigures } from "./sandboxed.ts";

/** Everything `npm run bench -- limits` measures, in this order. */
export const parts: readonly Part[] = [
  {
    name: "creates",
    measure: (quick) => createFigures(quick ? { rounds: 1, count: 100 } : { rounds: 20, count: 2_000 }),
  },
  {
    name: "calls",
    measure: (quick) => callFigures(quick ? { rounds: 1, sliceMs: 300 } : { rounds: 20, sliceMs: 1_500 }),
  },
  {
    name: "sandbox",
    measure: (quick) => sandboxFigures(quick ? { rounds: 1, sliceMs: 300 } : { rounds: 20, sliceMs: 1_500 }),
  },
];
