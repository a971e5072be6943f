// SPDX-License-Identifier: Apache-2.0
import { clusterOptions, dataDirOption } from "../cluster/cluster-options.ts";
import { renderFlags } from "../render/render-flags.ts";
import { startFlags } from "../start/start-flags.ts";
import { limitFlags } from "../up/limit-flags.ts";
import { xpkgCommands } from "../xpkg/xpkg-commands.ts";
import type { CommandSpec, OptionSpec } from "./command-spec.ts";
import { functionLimit } from "./function-limit-flag.ts";

const namespaceOption: OptionSpec = {
  flags: "-n, --namespace <name>",
  description: "the namespace (that of the context or purlin.yaml, or default)",
};

const filenameOption: OptionSpec = {
  flags: "-f, --filename <path>",
  description: "a YAML file, or a folder with such files; - reads stdin; may be given more than once",
  repeatable: true,
};

const selectorOption: OptionSpec = {
  flags: "-l, --selector <labels>",
  description: "only objects with these labels, such as app=shop,tier!=test or 'tier in (a,b)'",
};

const everywhereOption: OptionSpec = { flags: "-A, --all-namespaces", description: "in all namespaces" };

const subresourceOption: OptionSpec = {
  flags: "--subresource <name>",
  description: "the subresource to change, such as status or scale",
};

const acceptDataLoss: OptionSpec = {
  flags: "--accept-data-loss",
  description: "start although writes that were acknowledged are no longer in the data directory",
};

const insecure: OptionSpec = { flags: "--insecure", description: "plaintext; only for functions on this machine" };

/** The groups of commands, with what they have in common. */
export const commandGroups: Readonly<Record<string, string>> = {
  function: "write, run and call composition functions",
  xpkg: "build, publish and install packages",
};

const repairCertificates: OptionSpec = {
  flags: "--repair-certificates",
  description: "replace damaged or missing certificates and keys of the data directory, and say which",
};

const maxRequestsInFlight: OptionSpec = {
  flags: "--max-requests-inflight <n>",
  description: "requests of one user that the API server answers at the same time (400); four times as many wait",
};

/** Every command, in the order in which help and reference list them. */
export const commandTable: readonly CommandSpec[] = [
  {
    name: "demo",
    summary: "see a function, its claim and the requirements loop at work, in a minute",
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
    summary: "run a whole control plane on this machine and apply manifests to it",
    arguments: [{ name: "[path...]", description: "YAML files, or folders with such files" }],
    options: [
      {
        flags: "--data-dir <dir>",
        description: "where everything is kept; created if missing ($PURLIN_DATA_DIR, purlin.yaml, or .purlin)",
      },
      {
        flags: "--port <port>",
        description: "where to listen on loopback, 0 for any free port (a free one, kept across restarts)",
      },
      {
        flags: "--registry-port <port>",
        description: "where the registry listens, 0 for any free port (a free one, kept across restarts)",
      },
      repairCertificates,
      { flags: "--prune", description: "delete objects that were applied from the files and are no longer in them" },
      { flags: "--wait", description: "exit when everything is ready; after --timeout, list what is not" },
      { flags: "--timeout <duration>", description: "how long --wait waits", default: "5m" },
      acceptDataLoss,
      maxRequestsInFlight,
      {
        flags: "--enable-function-revision-selectors",
        description: "several revisions of a function may be active, and compositions choose",
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
    summary: "show what a composite resource would be composed of, without a cluster",
    arguments: [
      { name: "<xr>", description: "the composite resource, or its claim" },
      { name: "<composition>", description: "the Composition to compose it by" },
      { name: "<functions>", description: "the Functions of its pipeline" },
    ],
    options: renderFlags,
    load: () => import("../render/render-command.ts"),
  },
  {
    name: "apply",
    summary: "apply manifests to a running control plane",
    arguments: [{ name: "[path...]", description: "YAML files, or folders with such files; - reads stdin" }],
    options: [filenameOption, namespaceOption, ...clusterOptions],
    load: () => import("../apply/apply-command.ts"),
  },
  {
    name: "get",
    summary: "show the objects of a type, or one of them",
    arguments: [
      {
        name: "<type>",
        description:
          "kind, plural, singular or short name, such as configmaps or xapps.example.org; several with commas",
      },
      { name: "[name...]", description: "names of objects; all objects of the type if omitted" },
    ],
    options: [
      namespaceOption,
      everywhereOption,
      selectorOption,
      { flags: "--field-selector <fields>", description: "only objects with these fields, such as metadata.name=shop" },
      {
        flags: "-o, --output <format>",
        description: "table, wide, yaml, json, name or jsonpath=TEMPLATE",
        default: "table",
      },
      { flags: "-w, --watch", description: "after the list, show each change until Ctrl-C" },
      { flags: "--no-headers", description: "leave out the header of the table" },
      ...clusterOptions,
    ],
    load: () => import("../get/get-command.ts"),
  },
  {
    name: "describe",
    summary: "show the fields and events of objects in readable form",
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
      { flags: "--for <type/name>", description: "only events about this object" },
      { flags: "--types <types>", description: "only events of these types, such as Warning" },
      { flags: "-w, --watch", description: "after the list, show each new event until Ctrl-C" },
      namespaceOption,
      everywhereOption,
      ...clusterOptions,
    ],
    load: () => import("../events/events-command.ts"),
  },
  {
    name: "trace",
    summary: "show what claims and composite resources are made of, and what they wait for",
    arguments: [
      { name: "[type]", description: "the type of one of them, as for purlin get; all of them without it" },
      { name: "[name]", description: "its name" },
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
    summary: "show what a function wrote",
    arguments: [{ name: "<function>", description: "the name of the Function" }],
    options: [
      { flags: "--revision <name>", description: "only that revision (all of them)" },
      { flags: "-f, --follow", description: "go on with what it writes from now on" },
      { flags: "--tail <lines>", description: "only so many of its last lines (all of them)" },
      dataDirOption,
    ],
    load: () => import("../logs/logs-command.ts"),
  },
  {
    name: "patch",
    summary: "change a few fields of an object",
    arguments: [
      { name: "<type>", description: "as for purlin get" },
      { name: "<name>", description: "the object" },
      { name: "[patch]", description: "the fields to change, as a JSON or YAML object; null removes one" },
    ],
    options: [
      { flags: "-p, --patch <patch>", description: "the patch, instead of the last argument" },
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
      { name: "[name]", description: "the object" },
    ],
    options: [subresourceOption, namespaceOption, ...clusterOptions],
    load: () => import("../edit/edit-command.ts"),
  },
  {
    name: "delete",
    summary: "delete objects and wait until they are gone",
    arguments: [
      { name: "[type]", description: "as for purlin get" },
      { name: "[name...]", description: "the objects" },
    ],
    options: [
      filenameOption,
      selectorOption,
      { flags: "--ignore-not-found", description: "an object that does not exist is not an error" },
      namespaceOption,
      { flags: "--timeout <duration>", description: "how long to wait until it is gone", default: "30s" },
      ...clusterOptions,
    ],
    load: () => import("../delete/delete-command.ts"),
  },
  {
    name: "version",
    summary: "show the versions of this command and of the API server",
    options: [
      { flags: "--client", description: "show only the version of this command" },
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
      { flags: "--data-dir <dir>", description: "where everything is kept; made if it is not there", required: true },
      {
        flags: "--port <port>",
        description: "where to listen on loopback, 0 for any free port (a free one, kept across restarts)",
      },
      repairCertificates,
      acceptDataLoss,
      maxRequestsInFlight,
    ],
    load: () => import("../apiserver/apiserver-command.ts"),
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
    summary: "make a function project that installs, type-checks, passes its test and runs",
    arguments: [{ name: "<name>", description: "the name of the function and of the folder to make" }],
    load: () => import("../function-init/init-command.ts"),
  },
  {
    name: "function run",
    summary: "serve a function and reload it when it is saved",
    arguments: [{ name: "<file>", description: "the TypeScript or JavaScript file that exports the function" }],
    options: [
      insecure,
      {
        flags: "--tls-certs-dir <dir>",
        description: "serve mutual TLS with tls.crt, tls.key and ca.crt of this folder (env TLS_SERVER_CERTS_DIR)",
      },
      {
        flags: "--address <host:port>",
        description: "where to listen; `:9443` listens on all interfaces (localhost:9443, in a Pod :9443)",
      },
      { flags: "--network <kind>", description: "tcp, or unix with a socket path as address" },
      { flags: "--max-recv-message-size <MiB>", description: "largest request to accept (64)" },
      { flags: "--max-send-message-size <MiB>", description: "largest response to send (64)" },
      { flags: "--ttl <duration>", description: "how long responses may be reused, such as 90s or 1m30s (60s)" },
      { flags: "--metrics-address <host:port>", description: "serve Prometheus metrics there (off)" },
    ],
    load: () => import("../function-run/run-command.ts"),
  },
  {
    name: "function call",
    summary: "call a function the way a control plane does and print its response",
    options: [
      { flags: "--target <host:port>", description: "where the function listens", required: true },
      { flags: "--request <file>", description: "the request in protobuf-JSON names, as YAML or JSON; - reads stdin" },
      { flags: "--xr <file>", description: "a composite resource; becomes observed.composite.resource of the request" },
      insecure,
      {
        flags: "--tls-certs-dir <dir>",
        description: "mutual TLS with tls.crt and tls.key as our identity and ca.crt as the trusted authority",
      },
      {
        flags: "--required-resources <path>",
        description: "YAML files of the objects that exist, to answer required resources; a file or a folder",
      },
      {
        flags: "--crds <path>",
        description: "CustomResourceDefinitions, to answer required schemas; a file or a folder",
      },
      {
        flags: "--openapi <dir>",
        description: "OpenAPI v3 documents as an API server serves them, to answer required schemas",
      },
      {
        flags: "--as-crossplane <release>",
        description: "behave like v1.15, v1.16, v1.17 or v2.2: neither send nor honour what that release lacked",
      },
      {
        flags: "--timeout <duration>",
        description: "how long to wait for the response, all rounds together",
        default: "30s",
      },
    ],
    load: () => import("../function-call/call-command.ts"),
  },
  {
    name: "function certs",
    summary: "make certificates to try mutual TLS with",
    arguments: [{ name: "<dir>", description: "the folder to make, with tls.crt, tls.key and ca.crt" }],
    load: () => import("../function-certs/certs-command.ts"),
  },
  ...xpkgCommands,
];
