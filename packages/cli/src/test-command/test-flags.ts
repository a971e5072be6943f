// SPDX-License-Identifier: Apache-2.0
import type { OptionSpec } from "../options/command-spec.ts";

/** The flags of `purlin test`. */
export const testFlags: readonly OptionSpec[] = [
  { flags: "-t, --test-name-pattern <regexp>", description: "only cases whose name matches" },
  { flags: "--tag <tag>", description: "only cases with this tag; repeatable", repeatable: true },
  { flags: "--bail", description: "stop after the first failure" },
  { flags: "-u, --update <mode>", description: "golden files to write: new, all or none (new; none when $CI is set)" },
  { flags: "--reporter <name>", description: "spec, dot, tap, json or github", default: "spec" },
  { flags: "--junit <file>", description: "also write a JUnit report" },
  { flags: "--parallel <n>", description: "cases that run at the same time (the number of processors)" },
  { flags: "--timeout <duration>", description: "time limit of a case without its own", default: "30s" },
  { flags: "--list", description: "print the cases and run none" },
  { flags: "--pass-with-no-tests", description: "exit with 0 when there are no tests" },
  { flags: "-w, --watch", description: "run again on each save, until Ctrl-C" },
];
