// SPDX-License-Identifier: Apache-2.0
import type { Part } from "../measure/suite.ts";
import { type CompositionEffort, clusterFigures, embeddedFigures } from "./cluster.ts";
import { growthFigures } from "./growth.ts";
import { renderFigures } from "./render.ts";

const full: CompositionEffort = {
  many: 1000,
  some: 100,
  rounds: 3,
  creates: 4000,
  warmUp: 300,
  idleMs: 120_000,
  settleMs: 70_000,
};
const short: CompositionEffort = {
  many: 30,
  some: 10,
  rounds: 2,
  creates: 200,
  warmUp: 10,
  idleMs: 1_000,
  settleMs: 500,
};

/** Everything `npm run bench -- composition` measures, in this order. */
export const parts: readonly Part[] = [
  { name: "cluster", measure: (quick) => clusterFigures(quick ? short : full) },
  { name: "embedded", measure: (quick) => embeddedFigures(quick ? short : full) },
  { name: "render", measure: (quick) => renderFigures(quick ? 5 : 21) },
  {
    name: "growth",
    measure: (quick) =>
      growthFigures(
        quick
          ? { few: 10, many: 50, count: 10, rounds: 1, warmUp: 10 }
          : { few: 100, many: 10_000, count: 200, rounds: 5, warmUp: 1500 },
      ),
  },
];
