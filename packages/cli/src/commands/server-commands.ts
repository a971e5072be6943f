// SPDX-License-Identifier: Apache-2.0

import type { CommandSpec, OptionSpec } from "../options/command-spec.ts";
import {
  clusterOptions,
  dataDirOption,
  dataOption,
  functionLimit,
  limitFlags,
  redactOption,
  selectorOption,
} from "../options/shared-options.ts";
import { featureFlags, startFlags, unusedFeatureFlags } from "../start/start-flags.ts";

const acceptDataLoss: OptionSpec = {
  flags: "--accept-data-loss",
  description: "start even if acknowledged writes are missing from the data directory",
};

const repairCertificates: OptionSpec = {
  flags: "--repair-certificates",
  description: "replace damaged or missing certificates and keys in the data directory, and list them",
};

const maxRequestsInFlight: OptionSpec = {
  flags: "--max-requests-inflight <n>",
  description: "maximum number of concurrent API requests per user (400); four times as many are queued",
};

const auditFlags: readonly OptionSpec[] = [
  {
    flags: "--audit-policy-file <file>",
    description: "log API requests as this policy (audit.k8s.io/v1) says; off without it",
  },
  { flags: "--audit-log-path <file>", description: "the audit log (audit.log in the data directory)" },
  { flags: "--audit-log-maxsize <MB>", description: "size at which the audit log is rotated (100)" },
  { flags: "--audit-log-maxbackup <n>", description: "number of rotated audit logs to keep (10)" },
];

const webhookTarget: OptionSpec = {
  flags: "--webhook-target <namespace/service:port=host:port>",
  description: "host and port of the program that answers the webhooks of a Service",
  repeatable: true,
};

const enableAdmissionPlugins: OptionSpec = {
  flags: "--enable-admission-plugins <names>",
  description: "admission plugins to run that are off by default: OwnerReferencesPermissionEnforcement",
  repeatable: true,
};

const disableAdmissionPlugins: OptionSpec = {
  flags: "--disable-admission-plugins <names>",
  description: "admission plugins to leave out, such as ResourceQuota",
  repeatable: true,
};

const workloads = (mode: "simulate" | "off"): OptionSpec => ({
  flags: "--workloads <mode>",
  description:
    "simulate: Deployments roll out and Pods become ready, without containers; off: workloads are only stored",
  default: mode,
});

const authorization: OptionSpec = {
  flags: "--authorization <mode>",
  description: "rbac evaluates Roles and bindings; admin gives every ServiceAccount all rights (rbac)",
};

/** How a control plane runs on this machine. */
const planeFlags: readonly OptionSpec[] = [
  {
    flags: "--data-dir <dir>",
    description: "data directory; created if missing ($PURLIN_DATA_DIR, purlin.yaml, or .purlin)",
  },
  {
    flags: "--port <port>",
    description: "port on loopback, 0 for any free port (a free port, reused across restarts)",
  },
  {
    flags: "--registry-port <port>",
    description: "port of the registry, 0 for any free port (a free port, reused across restarts)",
  },
  repairCertificates,
  { flags: "--prune", description: "delete applied objects that are no longer in the files" },
];

const serverFlags: readonly OptionSpec[] = [
  acceptDataLoss,
  maxRequestsInFlight,
  ...auditFlags,
  webhookTarget,
  enableAdmissionPlugins,
  disableAdmissionPlugins,
  workloads("simulate"),
  authorization,
  ...featureFlags,
  { flags: "--xfn-cache-dir <dir>", description: "response cache directory (xfn in the data directory)" },
  {
    flags: "--enable-webhooks [bool]",
    description: "has no effect here: the API server protects used resources itself",
    hidden: true,
  },
  ...unusedFeatureFlags,
  { flags: "--require-sandbox", description: "refuse to run functions without a sandbox" },
  ...limitFlags,
  functionLimit,
  redactOption,
];

const manifestPaths = [{ name: "[path...]", description: "YAML files or folders of YAML files" }];

export const upCommand: CommandSpec = {
  name: "up",
  summary: "run a control plane on this machine and apply manifests to it",
  arguments: manifestPaths,
  options: [
    ...planeFlags,
    { flags: "--wait", description: "exit when everything is ready, or after --timeout with a list of what is not" },
    { flags: "--timeout <duration>", description: "timeout of --wait", default: "5m" },
    ...serverFlags,
  ],
  starting: "Starting the control plane…",
  load: () => import("../up/up-command.ts"),
};

export const devCommand: CommandSpec = {
  name: "dev",
  summary: "run a control plane on this machine and preview each save before it is applied",
  arguments: manifestPaths,
  options: [
    ...planeFlags,
    {
      flags: "--apply <when>",
      description: "ask, or on-save: apply what neither destroys nor breaks anything at once",
      default: "ask",
    },
    { flags: "--test", description: "run the tests in the folders on each save" },
    { flags: "--timeout <duration>", description: "time limit of one preview", default: "30s" },
    { flags: "--fresh", description: "start with an empty data directory, which is removed at the end" },
    ...serverFlags,
  ],
  starting: "Starting the control plane…",
  load: () => import("../dev/dev-command.ts"),
};

/** The commands that run servers, and that keep and share what servers hold. */
export const serverCommands: readonly CommandSpec[] = [
  {
    name: "start",
    summary: "run the control plane on a Kubernetes cluster",
    options: startFlags,
    load: () => import("../start/start-command.ts"),
  },
  {
    name: "apiserver",
    summary: "run a Kubernetes-compatible API server on this machine, without a cluster",
    options: [
      { flags: "--data-dir <dir>", description: "data directory; created if missing", required: true },
      {
        flags: "--port <port>",
        description: "port on loopback, 0 for any free port (a free port, reused across restarts)",
      },
      repairCertificates,
      acceptDataLoss,
      maxRequestsInFlight,
      ...auditFlags,
      webhookTarget,
      enableAdmissionPlugins,
      disableAdmissionPlugins,
      workloads("off"),
      authorization,
    ],
    load: () => import("../apiserver/apiserver-command.ts"),
  },
  {
    name: "backup",
    summary: "write everything that a control plane keeps to one file, while it runs",
    arguments: [{ name: "<file>", description: "file to create" }],
    options: [dataOption, dataDirOption],
    load: async () => ({ run: (await import("../backup/backup-command.ts")).backup }),
  },
  {
    name: "restore",
    summary: "make a data directory from a backup",
    arguments: [{ name: "<file>", description: "file of purlin backup" }],
    options: [
      dataOption,
      dataDirOption,
      { flags: "--replace", description: "move a data directory that is not empty aside" },
    ],
    load: async () => ({ run: (await import("../backup/backup-command.ts")).restore }),
  },
  {
    name: "export",
    summary: "print objects as YAML that can be applied to another control plane or cluster",
    options: [
      { flags: "--kinds <types>", description: "types to export, such as apps,configmaps (all types)" },
      {
        flags: "-o, --out <file>",
        description: "file to write instead of standard output; readable by its owner only",
      },
      { flags: "--output <format>", description: "yaml or json", default: "yaml" },
      { flags: "-n, --namespace <name>", description: "only objects of this namespace" },
      selectorOption,
      { flags: "--no-secrets", description: "leave Secrets out" },
      ...clusterOptions,
    ],
    load: () => import("../export/export-command.ts"),
  },
  {
    name: "kubeconfig",
    summary: "write a kubeconfig for another person, and grant a role, or revoke both",
    options: [
      { flags: "--as <name>", description: "name of the user", required: true },
      { flags: "--group <name>", description: "group of the user; repeatable", repeatable: true },
      { flags: "-n, --namespace <name>", description: "namespace in which the role is granted (the whole cluster)" },
      { flags: "--role <role>", description: "role to grant: view, edit or admin" },
      { flags: "--days <n>", description: "validity of the certificate in days", default: "30" },
      { flags: "--revoke", description: "refuse all certificates of the user, and delete what --role granted" },
      { flags: "-o, --output <file>", description: "file to write (stdout)" },
      dataDirOption,
    ],
    load: () => import("../kubeconfig/kubeconfig-command.ts"),
  },
];
