// SPDX-License-Identifier: Apache-2.0
import type { Part } from "../measure/suite.ts";
import { emptyFigures, restFigures, scheduleFigures } from "./at-rest.ts";
import { deletionFigures, usageFigures } from "./usages.ts";

/** Everything `npm run bench -- workloads` measures. */
export const parts: readonly Part[] = [
  {
    name: "empty",
    measure: (quick) =>
      emptyFigures(
        quick ? { rounds: 1, apartSeconds: 0, settleSeconds: 5 } : { rounds: 5, apartSeconds: 5, settleSeconds: 60 },
      ),
  },
  {
    name: "rest",
    measure: (quick) =>
      restFigures(
        quick
          ? { deployments: 2, replicas: 10, rounds: 1, seconds: 2 }
          : { deployments: 20, replicas: 500, rounds: 3, seconds: 30 },
      ),
  },
  {
    name: "schedules",
    measure: (quick) =>
      scheduleFigures(quick ? { schedules: 20, rounds: 1, seconds: 2 } : { schedules: 1000, rounds: 3, seconds: 30 }),
  },
  {
    name: "usages",
    measure: (quick) =>
      usageFigures(quick ? { usages: 20, rounds: 1, seconds: 1 } : { usages: 1000, rounds: 3, seconds: 30 }),
  },
  {
    name: "deletions",
    measure: (quick) =>
      deletionFigures(
        quick
          ? { usages: 5, deletions: 5, rounds: 2, blocks: 2 }
          : { usages: 200, deletions: 20, rounds: 50, blocks: 4 },
      ),
  },
];
