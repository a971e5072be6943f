// SPDX-License-Identifier: Apache-2.0
import type { Part } from "../measure/suite.ts";
import { callFigures } from "./calls.ts";
import { codecFigures } from "./codec.ts";
import { encodeOnceFigures } from "./encode-once.ts";
import { memoryFigures } from "./memory.ts";

/** Everything `npm run bench -- functions` measures, in this order. */
export const parts: readonly Part[] = [
  {
    name: "codec",
    measure: (quick) =>
      codecFigures(quick ? { rounds: 3, sliceMs: 20, warmUpMs: 60 } : { rounds: 15, sliceMs: 200, warmUpMs: 2000 }),
  },
  {
    name: "calls",
    measure: (quick) =>
      callFigures(quick ? { rounds: 2, sliceMs: 200, warmUpMs: 300 } : { rounds: 9, sliceMs: 2000, warmUpMs: 5000 }),
  },
  { name: "encode-once", measure: (quick) => encodeOnceFigures(quick ? 4 : 100) },
  { name: "memory", measure: (quick) => memoryFigures(quick ? 2_000 : 100_000) },
];
