// SPDX-License-Identifier: Apache-2.0
import type { OptionSpec } from "../options/command-spec.ts";

/** The flags of `purlin test`. */
export const testFlags: readonly OptionSpec[] = [
  { flags: "-t, --test-name-pattern <regexp>", description: "only cases whose name matches" },
  { flags: "--tag <tag>", description: "only cases with this tag; repeatable", repeatable: true },
  { flags: "--only-failed", description: "only cases that failed in the last run in this folder" },
  { flags: "--bail [count]", description: "stop after this many failures (1)" },
  { flags: "-u, --update <mode>", description: "golden files to write: new, all or none (new; none when $CI is set)" },
  { flags: "--reporter <name>", description: "spec, dot, tap, json or github", default: "spec" },
  { flags: "--junit <file>", description: "also write a JUnit report" },
  {
    flags: "--coverage [percent]",
    description: "report which steps, resources, patches and fields the cases cover; fail below a percentage",
  },
  {
    flags: "--shard <index/count>",
    description: "only a part of the cases, such as 1/4: for parallel jobs of a CI system",
  },
  { flags: "--parallel <n>", description: "cases that run at the same time (the number of processors)" },
  { flags: "--timeout <duration>", description: "time limit of a case without its own", default: "30s" },
  { flags: "--list", description: "print the cases and run none" },
  { flags: "--pass-with-no-tests", description: "exit with 0 when there are no tests" },
  { flags: "-w, --watch", description: "run again on each save, until Ctrl-C; keys run all, failed or filtered cases" },
  {
    flags: "--registry-config <file>",
    description: "credentials for registries of packages, in the format of Docker's config.json",
  },
];
