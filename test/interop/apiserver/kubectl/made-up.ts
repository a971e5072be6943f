// SPDX-License-Identifier: Apache-2.0
// Parts of kubectl's output that no two runs share.
import type { Step } from "./step.ts";

type MadeUp = NonNullable<Step["madeUp"]>;

/** `kubectl diff` compares files in folders with random names, and prints when each was written. */
export const inDiff: MadeUp = [
  [/\/(LIVE|MERGED)-\d+/g, "/$1-<number>"],
  [/\t\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [-+]\d{4}/g, "\t<time>"],
];

/** The build information of a program. Its version and the fields that there are stay. */
export const ofTheBuild: MadeUp = [
  [/(?<="v\d+\.\d+\.\d+)\+purlin(?=")/g, ""],
  [/"(buildDate|gitCommit|gitTreeState|goVersion|compiler|platform)": "[^"]*"/g, '"$1": "<of the build>"'],
];
