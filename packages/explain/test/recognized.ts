// SPDX-License-Identifier: Apache-2.0

import { refText } from "../src/inspect/facts.ts";
import type { Recognized, TextContext, TextRule } from "../src/inspect/inspection.ts";

/** What rules say about a text, without what all findings share. */
export interface Outcome {
  readonly code?: string;
  readonly sentence?: string;
  readonly path?: string | undefined;
  readonly via?: string | undefined;
  readonly next?: readonly string[];
  /** The objects to look at for the root cause. */
  readonly waitsFor?: readonly string[];
  readonly healed?: string;
  readonly at?: string | null | undefined;
}

/** What the first rule that recognizes a text says; empty if there is none. */
export async function recognizedBy(rules: readonly TextRule[], context: TextContext): Promise<Outcome> {
  for (const rule of rules) {
    const recognized = await rule(context);
    if (recognized !== undefined) return outcomeOf(recognized);
  }
  return {};
}

function outcomeOf(recognized: Exclude<Recognized, undefined>): Outcome {
  if ("healed" in recognized) {
    return { healed: recognized.healed, ...(recognized.at === undefined ? {} : { at: recognized.at }) };
  }
  const { code, sentence, path, via, next, waitsFor = [] } = recognized;
  return {
    code,
    ...(path === undefined ? {} : { path }),
    ...(via === undefined ? {} : { via }),
    sentence,
    next,
    ...(waitsFor.length === 0 ? {} : { waitsFor: waitsFor.map(({ to }) => refText(to)) }),
  };
}
