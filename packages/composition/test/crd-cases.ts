// SPDX-License-Identifier: Apache-2.0
// What our CRDs accept and refuse, for every API server they are applied to.
import { compositionCrdCases } from "./composition-crd-cases.ts";
import type { CrdCase } from "./crd-case.ts";
import { definitionCrdCases } from "./definition-crd-cases.ts";
import { keptCrdCases } from "./kept-crd-cases.ts";

/** All of them, by what they are about. */
export const crdCases: Readonly<Record<string, Readonly<Record<string, CrdCase>>>> = {
  definitions: definitionCrdCases,
  compositions: compositionCrdCases,
  "kinds that are only kept": keptCrdCases,
};
