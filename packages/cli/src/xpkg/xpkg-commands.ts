// SPDX-License-Identifier: Apache-2.0

import type { CommandSpec, OptionSpec } from "../options/command-spec.ts";
import { clusterOptions, dataOption } from "../options/shared-options.ts";

const registryConfig: OptionSpec = {
  flags: "--registry-config <file>",
  description: "credentials in the format of Docker's config.json, preferred over those of docker login",
};
const platform: OptionSpec = {
  flags: "--platform <os/arch>",
  description: "platform of a multi-platform package, such as linux/arm64",
};

const buildOptions: readonly OptionSpec[] = [
  {
    flags: "-f, --package-root <dir>",
    description: "folder of crossplane.yaml and the objects (package, or the current folder)",
  },
  { flags: "-o, --output <file>", description: "output file (NAME-DIGEST.xpkg)" },
  { flags: "--function <file>", description: "file that exports the function (from package.json)" },
  { flags: "--provider <file>", description: "program of a Provider on the provider kit (from package.json)" },
  { flags: "--root <dir>", description: "root file system of the image, with a program in any language" },
  {
    flags: "--entrypoint <command>",
    description: 'command that starts the program: space-separated words, or a JSON list such as ["/bin/fn", "a b"]',
  },
  { flags: "--base <base>", description: "base image: an image in a registry, or a folder" },
  {
    flags: "-e, --examples <dir>",
    description: "folder of examples to include (examples, if it exists)",
  },
  {
    flags: "--platform <os/arch>",
    description: "target platform (linux/amd64; with --root or --base, the architecture of this machine)",
  },
  { flags: "--ignore <glob>", description: "files of the package folder to exclude", repeatable: true },
  { flags: "--skip-start", description: "skip the start check of the function" },
  registryConfig,
];

/** The commands for packages. */
export const xpkgCommands: readonly CommandSpec[] = [
  {
    name: "xpkg build",
    summary: "build a package reproducibly, without Docker",
    options: buildOptions,
    load: () => import("./build-command.ts"),
  },
  {
    name: "xpkg push",
    summary: "push package files to a registry, one per platform",
    arguments: [
      { name: "<image>", description: "image to push to, such as registry.example.org/acme/function-hello:v1" },
    ],
    options: [
      {
        flags: "-f, --package-files <files>",
        description: "comma-separated package files (the only .xpkg file in the folder)",
      },
      dataOption,
      registryConfig,
    ],
    load: async () => ({ run: (await import("./transfer-command.ts")).push }),
  },
  {
    name: "xpkg pull",
    summary: "fetch a package from a registry into a file",
    arguments: [{ name: "<image>", description: "image with a tag or digest" }],
    options: [
      { flags: "-o, --output <file>", description: "output file (NAME-DIGEST.xpkg)" },
      platform,
      registryConfig,
    ],
    load: async () => ({ run: (await import("./transfer-command.ts")).pull }),
  },
  {
    name: "xpkg install",
    summary: "install a package in a control plane",
    arguments: [
      { name: "<kind>", description: "function, provider or configuration" },
      { name: "<image>", description: "image with a tag or digest" },
      { name: "[name]", description: "name of the package (derived from the repository)" },
    ],
    options: [
      { flags: "-m, --manual-activation", description: "activate revisions manually" },
      { flags: "-r, --revision-history-limit <number>", description: "number of old revisions to keep" },
      { flags: "-w, --wait", description: "wait until the package is installed and healthy" },
      { flags: "--timeout <duration>", description: "timeout of --wait", default: "5m" },
      dataOption,
      ...clusterOptions,
    ],
    load: () => import("./install-command.ts"),
  },
  {
    name: "xpkg inspect",
    summary: "show the metadata, objects, layers, platforms and entry point of a package",
    arguments: [{ name: "<package>", description: "package file, or an image in a registry" }],
    options: [dataOption, platform, registryConfig],
    load: () => import("./inspect-command.ts"),
  },
];
