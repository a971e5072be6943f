// SPDX-License-Identifier: Apache-2.0
import type { CommandSpec, OptionSpec } from "../options/command-spec.ts";
import { clusterOptions, dataOption } from "../options/shared-options.ts";

const insecure: OptionSpec = {
  flags: "--insecure",
  description: "use plaintext; only for functions on this machine",
};

/** The commands of function authors. */
export const functionCommands: readonly CommandSpec[] = [
  {
    name: "function init",
    summary: "create a function project with a test and an example request",
    arguments: [{ name: "<name>", description: "name of the function and of the folder to create" }],
    load: async () => ({ run: (await import("../init/init-command.ts")).initFunction }),
  },
  {
    name: "function run",
    summary: "serve a function and reload it on save",
    arguments: [{ name: "<file>", description: "TypeScript or JavaScript file that exports the function" }],
    options: [
      insecure,
      {
        flags: "--tls-certs-dir <dir>",
        description: "serve mutual TLS with tls.crt, tls.key and ca.crt from this folder ($TLS_SERVER_CERTS_DIR)",
      },
      {
        flags: "--address <host:port>",
        description: "address to listen on; `:9443` means all interfaces (localhost:9443, in a Pod :9443)",
      },
      { flags: "--network <kind>", description: "tcp, or unix with a socket path as the address" },
      { flags: "--max-recv-message-size <MiB>", description: "maximum size of a request (64)" },
      { flags: "--max-send-message-size <MiB>", description: "maximum size of a response (64)" },
      { flags: "--ttl <duration>", description: "TTL of responses, such as 90s or 1m30s (60s)" },
      { flags: "--metrics-address <host:port>", description: "address of the Prometheus metrics (off)" },
    ],
    load: () => import("../function-run/run-command.ts"),
  },
  {
    name: "function call",
    summary: "call a function as a control plane does and print its response",
    options: [
      { flags: "--target <host:port>", description: "address of the function", required: true },
      {
        flags: "--request <file>",
        description: "RunFunctionRequest with protobuf-JSON names, as YAML or JSON; - reads stdin",
      },
      { flags: "--xr <file>", description: "composite resource, used as observed.composite.resource of the request" },
      insecure,
      {
        flags: "--tls-certs-dir <dir>",
        description: "use mutual TLS: tls.crt and tls.key as the client certificate, ca.crt as the trusted authority",
      },
      {
        flags: "--required-resources <path>",
        description: "file or folder of objects that answer required resources",
      },
      {
        flags: "--crds <path>",
        description: "file or folder of CustomResourceDefinitions that answer required schemas",
      },
      {
        flags: "--openapi <dir>",
        description: "folder of OpenAPI v3 documents, as served by an API server, that answer required schemas",
      },
      {
        flags: "--as-crossplane <release>",
        description: "behave like Crossplane v1.15, v1.16, v1.17 or v2.2, without the fields that release lacks",
      },
      {
        flags: "--timeout <duration>",
        description: "timeout of all calls together",
        default: "30s",
      },
      { flags: "-o, --output <format>", description: "yaml or json", default: "yaml" },
    ],
    load: () => import("../function-call/call-command.ts"),
  },
  {
    name: "function certs",
    summary: "create development certificates for mutual TLS",
    arguments: [{ name: "<dir>", description: "folder to create, with tls.crt, tls.key and ca.crt" }],
    load: () => import("../function-certs/certs-command.ts"),
  },
];

/** The commands of provider authors. */
export const providerCommands: readonly CommandSpec[] = [
  {
    name: "provider init",
    summary: "create a provider project with a managed resource and a test",
    arguments: [{ name: "<name>", description: "name of the provider and of the folder to create" }],
    load: async () => ({ run: (await import("../init/init-command.ts")).initProvider }),
  },
];

const rollout = { name: "<rollout>", description: "name of the FunctionRollout" };
const anyRollout = { name: "[rollout]", description: "name of the FunctionRollout (all)" };
const rolloutCommand = () => import("../rollout/rollout-command.ts");

/** The commands about rollouts. */
export const rolloutCommands: readonly CommandSpec[] = [
  {
    name: "rollout start",
    summary: "move composite resources to the next revision of a function, step by step",
    arguments: [{ name: "<target>", description: "name of the Function, or of the Composition with --composition" }],
    options: [
      { flags: "--image <reference>", description: "package to install; without it the next revision is waited for" },
      { flags: "--composition", description: "roll out the next revision of a Composition" },
      { flags: "--name <name>", description: "name of the FunctionRollout (that of the target)" },
      { flags: "--percent <list>", description: "shares of composite resources, step by step", default: "5,25,100" },
      { flags: "--min-duration <duration>", description: "how long each step takes at least" },
      { flags: "--skip-shadow", description: "do not compare the two revisions before the first step" },
      { flags: "--approve", description: "wait for purlin rollout approve after each step but the last" },
      { flags: "--failure-policy <policy>", description: "Rollback or Pause when a gate fails", default: "Rollback" },
      { flags: "--stable <revision>", description: "revision to move from (the one that serves)" },
      { flags: "--candidate <revision>", description: "revision to move to (the next one)" },
      { flags: "--dry-run", description: "print the FunctionRollout instead of creating it" },
      dataOption,
      ...clusterOptions,
    ],
    load: async () => ({ run: (await rolloutCommand()).start }),
  },
  {
    name: "rollout status",
    summary: "show waves, gates and numbers of a rollout",
    arguments: [anyRollout],
    options: [
      {
        flags: "-w, --watch",
        description: "show every change until the rollout has ended; exit 1 unless it succeeded",
      },
      dataOption,
      ...clusterOptions,
    ],
    load: async () => ({ run: (await rolloutCommand()).status }),
  },
  {
    name: "rollout preview",
    summary: "show what the candidate would change, found by running it in shadow",
    arguments: [rollout],
    options: [dataOption, ...clusterOptions],
    load: async () => ({ run: (await rolloutCommand()).preview }),
  },
  {
    name: "rollout pause",
    summary: "stop a rollout where it is",
    arguments: [rollout],
    options: [dataOption, ...clusterOptions],
    load: async () => ({ run: (await rolloutCommand()).pause }),
  },
  {
    name: "rollout resume",
    summary: "continue a rollout that is paused, or that a failed gate stopped",
    arguments: [rollout],
    options: [dataOption, ...clusterOptions],
    load: async () => ({ run: (await rolloutCommand()).resume }),
  },
  {
    name: "rollout approve",
    summary: "approve the step that a rollout waits at",
    arguments: [rollout],
    options: [
      { flags: "--step <name>", description: "step to approve (the one that waits)" },
      dataOption,
      ...clusterOptions,
    ],
    load: async () => ({ run: (await rolloutCommand()).approve }),
  },
  {
    name: "rollout abort",
    summary: "move all composite resources back to the stable revision",
    arguments: [rollout],
    options: [dataOption, ...clusterOptions],
    load: async () => ({ run: (await rolloutCommand()).abort }),
  },
  {
    name: "rollout history",
    summary: "list the decisions about a rollout with their numbers",
    arguments: [anyRollout],
    options: [dataOption, ...clusterOptions],
    load: async () => ({ run: (await rolloutCommand()).history }),
  },
];
