// SPDX-License-Identifier: Apache-2.0

import type { CommandSpec, OptionSpec } from "../options/command-spec.ts";
import { clusterOptions, dataOption } from "../options/shared-options.ts";
import { xpkgCommands } from "../xpkg/xpkg-commands.ts";
import { functionCommands, providerCommands, rolloutCommands } from "./function-commands.ts";
import { objectCommands } from "./object-commands.ts";
import { diffFlags, renderFlags } from "./pipeline-flags.ts";
import { runCommands } from "./run-commands.ts";
import { devCommand, serverCommands, upCommand } from "./server-commands.ts";

/** The flags of `purlin test`. */
const testFlags: readonly OptionSpec[] = [
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
  { flags: "--seed <n>", description: "run the cases in a random order, the same one for the same number" },
  { flags: "--parallel <n>", description: "cases that run at the same time (the number of processors)" },
  { flags: "--timeout <duration>", description: "time limit of a case without its own", default: "30s" },
  { flags: "--list", description: "print the cases and run none" },
  { flags: "--pass-with-no-tests", description: "exit with 0 when there are no tests" },
  {
    flags: "--allow-hooks",
    description: "run the hooks of suites of xprin, which are programs of a shell; cases then run one at a time",
  },
  { flags: "-w, --watch", description: "run again on each save, until Ctrl-C; keys run all, failed or filtered cases" },
  {
    flags: "--registry-config <file>",
    description: "credentials for registries of packages, in the format of Docker's config.json",
  },
];

/** The flags of `render` that are about composite resources. */
const compositeFlags = ["--include-full-xr", "--observed-resources", "--xrd"];

/** The commands about operations. */
const operationCommands: readonly CommandSpec[] = [
  {
    name: "operation render",
    summary: "preview what an Operation applies, without a cluster",
    arguments: [
      { name: "<operation>", description: "Operation, CronOperation or WatchOperation" },
      { name: "[functions]", description: "Functions of the pipeline (those in the same file)" },
    ],
    options: [
      { flags: "-o, --include-full-operation", description: "include the spec of the Operation" },
      {
        flags: "-w, --watched-resource <path>",
        description: "object that triggers a WatchOperation",
        repeatable: true,
      },
      ...renderFlags.filter(({ flags }) => !compositeFlags.some((flag) => flags.includes(flag))),
    ],
    load: async () => ({ run: (await import("../operation/operation-command.ts")).render }),
  },
  {
    name: "operation run",
    summary: "run an Operation now and show its result; exit 1 when it fails",
    arguments: [
      { name: "<operation>", description: "Operation, or a CronOperation or WatchOperation for its template" },
    ],
    options: [
      { flags: "--timeout <duration>", description: "how long to wait for the end", default: "5m" },
      dataOption,
      ...clusterOptions,
    ],
    load: () => import("../operation/operation-command.ts"),
  },
];

/** The groups of commands, with what they have in common. */
export const commandGroups: Readonly<Record<string, string>> = {
  runs: "show, compare and replay recorded reconciles",
  rollout: "start, watch and steer rollouts of functions and Compositions",
  operation: "preview and run operations",
  mrd: "inspect managed resource definitions",
  function: "write, run and call composition functions",
  provider: "write providers",
  resource: "validate resources as Crossplane's command line does",
  xpkg: "build, publish and install packages",
};

/** Every command, in the order in which help and reference list them. */
export const commandTable: readonly CommandSpec[] = [
  {
    name: "demo",
    summary: "run a function, a claim and the requirements loop, in one minute",
    load: () => import("../demo/demo-command.ts"),
  },
  {
    name: "init",
    summary: "make a platform project: an API, the function behind it, an example and a test",
    arguments: [{ name: "[dir]", description: "the folder to make (this folder); one that exists must be empty" }],
    options: [
      { flags: "--name <name>", description: "the name of the project and its package (that of the folder)" },
      { flags: "--kind <kind>", description: "the kind that the platform offers", default: "App" },
      { flags: "--group <group>", description: "the API group of the kind", default: "platform.example.org" },
    ],
    load: async () => ({ run: (await import("../init/init-command.ts")).initPlatform }),
  },
  upCommand,
  devCommand,
  {
    name: "render",
    summary: "preview the composed resources of a composite resource, without a cluster",
    arguments: [
      { name: "<xr>", description: "composite resource or claim" },
      { name: "<composition>", description: "Composition to use" },
      { name: "<functions>", description: "Functions of the pipeline" },
    ],
    options: renderFlags,
    load: () => import("../render/render-command.ts"),
  },
  {
    name: "diff",
    summary: "preview what a change does to a running control plane",
    arguments: [{ name: "[path...]", description: "YAML files or folders of YAML files; - reads stdin" }],
    options: diffFlags,
    load: () => import("../diff/diff-command.ts"),
  },
  {
    name: "validate",
    summary: "check manifests against their schemas, definitions and each other, without a cluster",
    arguments: [
      {
        name: "[path...]",
        description:
          "YAML files, folders of YAML files and packages (.xpkg); - reads stdin (paths of purlin.yaml, or this folder)",
      },
    ],
    options: [
      { flags: "-o, --output <format>", description: "text, json, yaml, github or sarif", default: "text" },
      { flags: "--strict", description: "treat warnings and missing schemas as errors" },
      {
        flags: "--old <path>",
        description:
          "objects as they were before, for CEL rules about changes and for breaking changes of XRDs and CRDs; repeatable",
        repeatable: true,
      },
      { flags: "--fetch-packages", description: "fetch the packages that manifests name, and keep their schemas" },
      { flags: "--cluster", description: "also use the definitions, functions and objects of a running control plane" },
      { flags: "-w, --watch", description: "validate again on each save, until Ctrl-C" },
      ...clusterOptions,
    ],
    load: () => import("../validate/validate-command.ts"),
  },
  {
    name: "test",
    summary: "run tests of compositions and Operations, without a cluster",
    arguments: [
      {
        name: "[path...]",
        description: "test files, and folders with files that end in .test.yaml or _xprin.yaml (this folder)",
      },
    ],
    options: testFlags,
    load: () => import("../test-command/test-command.ts"),
  },
  ...objectCommands,
  {
    name: "version",
    summary: "show the version of this command and of the API server",
    options: [
      { flags: "--client", description: "only the version of this command" },
      { flags: "-o, --output <format>", description: "text, yaml or json", default: "text" },
      ...clusterOptions,
    ],
    load: () => import("../version/version-command.ts"),
  },
  {
    name: "completion",
    summary: "print the script that makes a shell complete this command",
    arguments: [{ name: "<shell>", description: "bash, zsh or fish" }],
    load: () => import("../completion/completion-command.ts"),
  },
  ...serverCommands,
  {
    name: "types",
    summary: "write TypeScript types and JSON Schemas of XRDs, CRDs and built-in kinds",
    arguments: [
      { name: "[path...]", description: "YAML files with XRDs and CRDs, or folders with such files (this folder)" },
    ],
    options: [
      { flags: "--out <dir>", description: "the folder to write to", default: "types" },
      { flags: "--from-server", description: "also the CRDs of a running control plane; without paths, only those" },
      dataOption,
      ...clusterOptions,
    ],
    load: async () => ({ run: (await import("../types/types-command.ts")).writeTypes }),
  },
  {
    name: "schemas",
    summary: "write JSON Schemas of manifests, test files and purlin.yaml, for editors",
    arguments: [
      {
        name: "[path...]",
        description: "YAML files, folders of YAML files and packages of functions (.xpkg) (this folder)",
      },
    ],
    options: [
      { flags: "--out <dir>", description: "the folder to write to", default: "schemas" },
      { flags: "--fetch-packages", description: "fetch the packages that Functions name, and keep their schemas" },
      dataOption,
    ],
    load: async () => ({ run: (await import("../types/types-command.ts")).writeSchemas }),
  },
  ...runCommands,
  ...rolloutCommands,
  ...operationCommands,
  ...functionCommands,
  ...providerCommands,
  {
    name: "resource validate",
    summary: "validate resources with the output and exit codes of crossplane resource validate",
    arguments: [
      { name: "<extensions>", description: "files and folders with XRDs, CRDs and packages; comma-separated" },
      { name: "<resources>", description: "files and folders with resources; comma-separated; - reads stdin" },
    ],
    options: [
      { flags: "-o, --output <format>", description: "text, json or yaml", default: "text" },
      { flags: "--skip-success-results", description: "do not print valid resources" },
      { flags: "--error-on-missing-schemas", description: "exit with 1 when a schema is missing" },
      { flags: "--fetch-packages", description: "fetch the packages that manifests name, and keep their schemas" },
      { flags: "--cache-dir <dir>", description: "accepted, without effect", hidden: true },
      { flags: "--clean-cache", description: "accepted, without effect", hidden: true },
      { flags: "--update-cache", description: "accepted, without effect", hidden: true },
      { flags: "--crossplane-image <image>", description: "accepted, without effect", hidden: true },
    ],
    load: async () => ({ run: (await import("../validate/validate-command.ts")).validateResources }),
  },
  ...xpkgCommands,
];
