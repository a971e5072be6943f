// SPDX-License-Identifier: Apache-2.0
import type { Part } from "../measure/suite.ts";
import { restFigures } from "./at-rest.ts";

/** Everything `npm run bench -- workloads` measures. */
export const parts: readonly Part[] = [
  {
    name: "rest",
    measure: (quick) =>
      restFigures(
        quick
          ? { deployments: 2, replicas: 10, rounds: 1, seconds: 2 }
          : { deployments: 20, replicas: 500, rounds: 3, seconds: 30 },
      ),
  },
];
