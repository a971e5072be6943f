// SPDX-License-Identifier: Apache-2.0
import { clusterOptions } from "../cluster/cluster-options.ts";
import type { CommandSpec, OptionSpec } from "../commands/command-spec.ts";

const registryConfig: OptionSpec = {
  flags: "--registry-config <file>",
  description: "credentials in the format of Docker's config.json, asked before those of docker login",
};
const platform: OptionSpec = {
  flags: "--platform <os/arch>",
  description: "one platform of several, such as linux/arm64",
};

const buildOptions: readonly OptionSpec[] = [
  {
    flags: "-f, --package-root <dir>",
    description: "the folder of crossplane.yaml and the objects (the folder package, or the current one)",
  },
  { flags: "-o, --output <file>", description: "what to write (NAME-DIGEST.xpkg)" },
  { flags: "--function <file>", description: "the file that exports the function (what package.json says)" },
  { flags: "--root <dir>", description: "a folder with a program of any language, as the root of the image" },
  {
    flags: "--entrypoint <command>",
    description: 'how the program is started: words between blanks, or a JSON list such as ["/bin/fn", "a b"]',
  },
  { flags: "--base <base>", description: "what lies below: an image in a registry, or a folder" },
  {
    flags: "-e, --examples <dir>",
    description: "the folder with examples to include (examples of the project, if it exists)",
  },
  {
    flags: "--platform <os/arch>",
    description: "what it runs on (linux/amd64; with --root or --base, the architecture of this machine)",
  },
  { flags: "--ignore <glob>", description: "files of the package folder to leave out", repeatable: true },
  { flags: "--skip-start", description: "do not start the function once to see that it answers" },
  registryConfig,
];

/** The commands for packages. */
export const xpkgCommands: readonly CommandSpec[] = [
  {
    name: "xpkg build",
    summary: "build a package, without Docker and the same byte for byte each time",
    options: buildOptions,
    load: () => import("./build-command.ts"),
  },
  {
    name: "xpkg push",
    summary: "push package files to a registry, several as the platforms of one package",
    arguments: [{ name: "<image>", description: "where to, such as registry.example.org/acme/function-hello:v1" }],
    options: [
      {
        flags: "-f, --package-files <files>",
        description: "the files, with commas between them (the only .xpkg file here)",
      },
      registryConfig,
    ],
    load: () => import("./push-command.ts"),
  },
  {
    name: "xpkg pull",
    summary: "fetch a package from a registry into a file",
    arguments: [{ name: "<image>", description: "with a tag or a digest" }],
    options: [
      { flags: "-o, --output <file>", description: "what to write (NAME-DIGEST.xpkg)" },
      platform,
      registryConfig,
    ],
    load: () => import("./pull-command.ts"),
  },
  {
    name: "xpkg install",
    summary: "install a package in a control plane",
    arguments: [
      { name: "<kind>", description: "function, provider or configuration" },
      { name: "<image>", description: "with a tag or a digest" },
      { name: "[name]", description: "the name of the package (made from the repository)" },
    ],
    options: [
      { flags: "-m, --manual-activation", description: "revisions become active only by hand" },
      { flags: "-r, --revision-history-limit <number>", description: "how many old revisions are kept" },
      { flags: "-w, --wait", description: "wait until the package is installed and healthy" },
      { flags: "--timeout <duration>", description: "how long --wait waits", default: "5m" },
      ...clusterOptions,
    ],
    load: () => import("./install-command.ts"),
  },
  {
    name: "xpkg inspect",
    summary: "show what is in a package: metadata, objects, layers, platforms and entry point",
    arguments: [{ name: "<package>", description: "a file, or an image in a registry" }],
    options: [
      { flags: "-o, --output <format>", description: "text, json or yaml", default: "text" },
      platform,
      registryConfig,
    ],
    load: () => import("./inspect-command.ts"),
  },
];
