// SPDX-License-Identifier: Apache-2.0
import { RunnerError } from "../runner-error.ts";

/** What the runner of a release line lacked. */
export interface LineGaps {
  /** It called functions as v1beta1 only. */
  readonly betaOnly: boolean;
  /** It sent neither capabilities nor a tag, and knew neither required resources nor schemas, TTL or output. */
  readonly before20: boolean;
  readonly credentials: boolean;
  /** Conditions, and the reason and target of results. */
  readonly conditions: boolean;
}

/** A release line of Crossplane that can be imitated. */
export type CrossplaneLine = "v1.15" | "v1.16" | "v1.17" | "v2.2";

const gaps: Readonly<Record<CrossplaneLine, LineGaps>> = {
  "v1.15": { betaOnly: true, before20: true, credentials: true, conditions: true },
  "v1.16": { betaOnly: true, before20: true, credentials: false, conditions: true },
  "v1.17": { betaOnly: false, before20: true, credentials: false, conditions: false },
  "v2.2": { betaOnly: false, before20: false, credentials: false, conditions: false },
};

/** All lines that can be imitated, oldest first. */
export const crossplaneLines: readonly CrossplaneLine[] = Object.keys(gaps) as CrossplaneLine[];

/** What a line lacked. Throws on an unknown line, naming those there are. */
export function gapsOf(line: string): LineGaps {
  if (Object.hasOwn(gaps, line)) return gaps[line as CrossplaneLine];
  const known = crossplaneLines.join(", ");
  throw new RunnerError("UNKNOWN_LINE", `unknown Crossplane release line "${line}": expected one of ${known}`);
}
