// SPDX-License-Identifier: Apache-2.0
import type { Part } from "../measure/suite.ts";
import { callFigures } from "./calls.ts";
import { installFigures } from "./install.ts";
import { lookupFigures } from "./lookup.ts";
import { providerFigures } from "./providers.ts";
import { usageFigures } from "./usage.ts";

/** Everything `npm run bench -- packages` measures, in this order. */
export const parts: readonly Part[] = [
  { name: "install", measure: (quick) => installFigures(quick ? 2 : 15) },
  {
    name: "usage",
    measure: (quick) => usageFigures(quick ? { rounds: 1, idleMs: 1_000 } : { rounds: 3, idleMs: 10_000 }),
  },
  {
    name: "providers",
    measure: (quick) => providerFigures(quick ? { rounds: 1, idleMs: 1_000 } : { rounds: 3, idleMs: 30_000 }),
  },
  {
    name: "lookup",
    measure: (quick) =>
      lookupFigures(quick ? { rounds: 2, sliceMs: 20, warmUpMs: 50 } : { rounds: 11, sliceMs: 200, warmUpMs: 1_000 }),
  },
  { name: "calls", measure: (quick) => callFigures(quick ? { rounds: 2, calls: 50 } : { rounds: 11, calls: 1_000 }) },
];
