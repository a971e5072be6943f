// SPDX-License-Identifier: Apache-2.0
import type { Part } from "../measure/suite.ts";
import { admissionFigures } from "./admission.ts";
import { authorizationFigures } from "./authorization.ts";
import { createFigures } from "./creates.ts";
import { growthFigures } from "./growth.ts";
import { listFigures } from "./list.ts";
import { memoryFigures } from "./memory.ts";
import { startFigures } from "./start.ts";
import { watchFigures } from "./watch.ts";

/** Everything `npm run bench -- apiserver` measures, in this order. */
export const parts: readonly Part[] = [
  { name: "start", measure: (quick) => startFigures(quick ? 1 : 7) },
  {
    name: "memory",
    measure: (quick) =>
      memoryFigures(quick ? { rounds: 1, objects: 500, restMs: 500 } : { rounds: 3, objects: 10_000, restMs: 20_000 }),
  },
  {
    name: "creates",
    measure: (quick) =>
      createFigures(quick ? { rounds: 1, count: 300, warmUp: 100 } : { rounds: 7, count: 4_000, warmUp: 4_000 }),
  },
  {
    name: "authorization",
    measure: (quick) =>
      authorizationFigures(quick ? { rounds: 1, count: 300, warmUp: 100 } : { rounds: 40, count: 500, warmUp: 3_000 }),
  },
  {
    name: "admission",
    measure: (quick) =>
      admissionFigures(quick ? { rounds: 1, count: 200, warmUp: 100 } : { rounds: 24, count: 400, warmUp: 2_000 }),
  },
  {
    name: "list",
    measure: (quick) => listFigures(quick ? { rounds: 2, objects: 500 } : { rounds: 9, objects: 10_000 }),
  },
  { name: "watch", measure: (quick) => watchFigures(quick ? { rounds: 1, count: 50 } : { rounds: 10, count: 1_000 }) },
  {
    name: "growth",
    measure: (quick) =>
      growthFigures(
        quick
          ? { few: 200, some: 500, many: 1_000, rounds: 1, count: 100 }
          : { few: 1_000, some: 20_000, many: 100_000, rounds: 5, count: 2_000 },
      ),
  },
];
