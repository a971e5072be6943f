// SPDX-License-Identifier: Apache-2.0

import type { CommandSpec, OptionSpec } from "../options/command-spec.ts";
import { limitFlags } from "../options/limit-flags.ts";
import { clusterOptions, dataDirOption, functionLimit } from "../options/shared-options.ts";
import { renderFlags } from "../render/render-flags.ts";
import { startFlags } from "../start/start-flags.ts";
import { xpkgCommands } from "../xpkg/xpkg-commands.ts";

const namespaceOption: OptionSpec = {
  flags: "-n, --namespace <name>",
  description: "namespace (from the kubeconfig context or purlin.yaml, otherwise default)",
};

const filenameOption: OptionSpec = {
  flags: "-f, --filename <path>",
  description: "YAML file or folder of YAML files; - reads stdin; repeatable",
  repeatable: true,
};

const selectorOption: OptionSpec = {
  flags: "-l, --selector <labels>",
  description: "label selector, such as app=shop,tier!=test or 'tier in (a,b)'",
};

const everywhereOption: OptionSpec = { flags: "-A, --all-namespaces", description: "all namespaces" };

const subresourceOption: OptionSpec = {
  flags: "--subresource <name>",
  description: "subresource to change, such as status or scale",
};

const acceptDataLoss: OptionSpec = {
  flags: "--accept-data-loss",
  description: "start even if acknowledged writes are missing from the data directory",
};

const insecure: OptionSpec = {
  flags: "--insecure",
  description: "use plaintext; only for functions on this machine",
};

/** The groups of commands, with what they have in common. */
export const commandGroups: Readonly<Record<string, string>> = {
  function: "write, run and call composition functions",
  xpkg: "build, publish and install packages",
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

const workloads: OptionSpec = {
  flags: "--workloads <mode>",
  description:
    "simulate: Deployments roll out and Pods become ready, without containers; off: workloads are only stored",
  default: "off",
};

const authorization: OptionSpec = {
  flags: "--authorization <mode>",
  description: "rbac evaluates Roles and bindings; admin gives every ServiceAccount all rights (admin)",
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
    load: () => import("../init/init-command.ts"),
  },
  {
    name: "up",
    summary: "run a control plane on this machine and apply manifests to it",
    arguments: [{ name: "[path...]", description: "YAML files or folders of YAML files" }],
    options: [
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
      { flags: "--wait", description: "exit when everything is ready, or after --timeout with a list of what is not" },
      { flags: "--timeout <duration>", description: "timeout of --wait", default: "5m" },
      acceptDataLoss,
      maxRequestsInFlight,
      ...auditFlags,
      workloads,
      authorization,
      {
        flags: "--enable-function-revision-selectors",
        description: "allow several active revisions of a function, selected by pipeline steps",
      },
      { flags: "--require-sandbox", description: "refuse to run functions without a sandbox" },
      ...limitFlags,
      functionLimit,
    ],
    starting: "Starting the control plane…",
    load: () => import("../up/up-command.ts"),
  },
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
    name: "apply",
    summary: "apply manifests to a running control plane",
    arguments: [{ name: "[path...]", description: "YAML files or folders of YAML files; - reads stdin" }],
    options: [filenameOption, namespaceOption, ...clusterOptions],
    load: () => import("../apply/apply-command.ts"),
  },
  {
    name: "get",
    summary: "list objects",
    arguments: [
      {
        name: "<type>",
        description:
          "kind, plural, singular or short name, such as configmaps or xapps.example.org; comma-separated for several",
      },
      { name: "[name...]", description: "names of objects; all objects of the type if omitted" },
    ],
    options: [
      namespaceOption,
      everywhereOption,
      selectorOption,
      { flags: "--field-selector <fields>", description: "field selector, such as metadata.name=shop" },
      {
        flags: "-o, --output <format>",
        description: "table, wide, yaml, json, name or jsonpath=TEMPLATE",
        default: "table",
      },
      { flags: "-w, --watch", description: "after the list, print each change until Ctrl-C" },
      { flags: "--no-headers", description: "omit the table header" },
      ...clusterOptions,
    ],
    load: () => import("../get/get-command.ts"),
  },
  {
    name: "describe",
    summary: "show the fields and events of objects",
    arguments: [
      { name: "<type>", description: "as for purlin get" },
      { name: "[name...]", description: "names of objects; all objects of the type if omitted" },
    ],
    options: [namespaceOption, everywhereOption, selectorOption, ...clusterOptions],
    load: () => import("../describe/describe-command.ts"),
  },
  {
    name: "events",
    summary: "show events, oldest first",
    options: [
      { flags: "--for <type/name>", description: "only events of this object" },
      { flags: "--types <types>", description: "only events of these types, such as Warning" },
      { flags: "-w, --watch", description: "after the list, print each new event until Ctrl-C" },
      namespaceOption,
      everywhereOption,
      ...clusterOptions,
    ],
    load: () => import("../events/events-command.ts"),
  },
  {
    name: "trace",
    summary: "show claims and composite resources with their composed resources and status",
    arguments: [
      {
        name: "[type]",
        description: "type of one object, as for purlin get; all claims and composite resources if omitted",
      },
      { name: "[name]", description: "name of the object" },
    ],
    options: [
      namespaceOption,
      { flags: "-o, --output <format>", description: "tree, yaml or json", default: "tree" },
      ...clusterOptions,
    ],
    load: () => import("../trace/trace-command.ts"),
  },
  {
    name: "logs",
    summary: "show the logs of a function",
    arguments: [{ name: "<function>", description: "name of the Function" }],
    options: [
      { flags: "--revision <name>", description: "only this revision (all)" },
      { flags: "-f, --follow", description: "follow: stream new lines" },
      { flags: "--tail <lines>", description: "number of most recent lines to show (all)" },
      dataDirOption,
    ],
    load: () => import("../logs/logs-command.ts"),
  },
  {
    name: "patch",
    summary: "change fields of an object",
    arguments: [
      { name: "<type>", description: "as for purlin get" },
      { name: "<name>", description: "name of the object" },
      { name: "[patch]", description: "fields to change, as a JSON or YAML object; null removes a field" },
    ],
    options: [
      { flags: "-p, --patch <patch>", description: "the patch, instead of the argument" },
      { flags: "--type <type>", description: "merge, json or strategic", default: "merge" },
      subresourceOption,
      namespaceOption,
      ...clusterOptions,
    ],
    load: () => import("../patch/patch-command.ts"),
  },
  {
    name: "edit",
    summary: "change an object in an editor",
    arguments: [
      { name: "<type>", description: "as for purlin get" },
      { name: "[name]", description: "name of the object" },
    ],
    options: [subresourceOption, namespaceOption, ...clusterOptions],
    load: () => import("../edit/edit-command.ts"),
  },
  {
    name: "delete",
    summary: "delete objects and wait until they are gone",
    arguments: [
      { name: "[type]", description: "as for purlin get" },
      { name: "[name...]", description: "names of the objects" },
    ],
    options: [
      filenameOption,
      selectorOption,
      { flags: "--ignore-not-found", description: "do not fail if an object does not exist" },
      namespaceOption,
      { flags: "--timeout <duration>", description: "how long to wait for the deletion", default: "30s" },
      ...clusterOptions,
    ],
    load: () => import("../delete/delete-command.ts"),
  },
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
      workloads,
      authorization,
    ],
    load: () => import("../apiserver/apiserver-command.ts"),
  },
  {
    name: "backup",
    summary: "write everything that a control plane keeps to one file, while it runs",
    arguments: [{ name: "<file>", description: "file to create" }],
    options: [dataDirOption],
    load: () => import("../backup/backup-command.ts"),
  },
  {
    name: "restore",
    summary: "make a data directory from a backup",
    arguments: [{ name: "<file>", description: "file of purlin backup" }],
    options: [dataDirOption, { flags: "--replace", description: "move a data directory that is not empty aside" }],
    load: () => import("../backup/restore-command.ts"),
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
      { flags: "-n, --namespace <name>", description: "only objects of this namespace" },
      selectorOption,
      { flags: "--no-secrets", description: "leave Secrets out" },
      ...clusterOptions,
    ],
    load: () => import("../export/export-command.ts"),
  },
  {
    name: "kubeconfig",
    summary: "write a kubeconfig for another person, and grant a role",
    options: [
      { flags: "--as <name>", description: "name of the user", required: true },
      { flags: "--group <name>", description: "group of the user; repeatable", repeatable: true },
      { flags: "-n, --namespace <name>", description: "namespace in which the role is granted (the whole cluster)" },
      { flags: "--role <role>", description: "role to grant: view, edit or admin" },
      { flags: "--days <n>", description: "validity of the certificate in days", default: "30" },
      { flags: "-o, --output <file>", description: "file to write (stdout)" },
      dataDirOption,
    ],
    load: () => import("../kubeconfig/kubeconfig-command.ts"),
  },
  {
    name: "types",
    summary: "write TypeScript types and JSON Schemas of XRDs, CRDs and built-in kinds",
    arguments: [
      { name: "[path...]", description: "YAML files with XRDs and CRDs, or folders with such files (this folder)" },
    ],
    options: [
      { flags: "--out <dir>", description: "the folder to write to", default: "types" },
      { flags: "--from-server", description: "also the CRDs of a running control plane; without paths, only those" },
      ...clusterOptions,
    ],
    load: () => import("../types/types-command.ts"),
  },
  {
    name: "function init",
    summary: "create a function project with a test and an example request",
    arguments: [{ name: "<name>", description: "name of the function and of the folder to create" }],
    load: () => import("../function-init/init-command.ts"),
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
    ],
    load: () => import("../function-call/call-command.ts"),
  },
  {
    name: "function certs",
    summary: "create development certificates for mutual TLS",
    arguments: [{ name: "<dir>", description: "folder to create, with tls.crt, tls.key and ca.crt" }],
    load: () => import("../function-certs/certs-command.ts"),
  },
  ...xpkgCommands,
];
