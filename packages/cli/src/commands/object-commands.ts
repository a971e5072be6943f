// SPDX-License-Identifier: Apache-2.0

import type { CommandSpec, OptionSpec } from "../options/command-spec.ts";
import { clusterOptions, dataOption, selectorOption } from "../options/shared-options.ts";

const namespaceOption: OptionSpec = {
  flags: "-n, --namespace <name>",
  description: "namespace (from the kubeconfig context or purlin.yaml, otherwise default)",
};

const filenameOption: OptionSpec = {
  flags: "-f, --filename <path>",
  description: "YAML file or folder of YAML files; - reads stdin; repeatable",
  repeatable: true,
};

const everywhereOption: OptionSpec = { flags: "-A, --all-namespaces", description: "all namespaces" };

const subresourceOption: OptionSpec = {
  flags: "--subresource <name>",
  description: "subresource to change, such as status or scale",
};

/** As in Crossplane's trace, `-c` is a context. */
const traceClusterOptions = clusterOptions.map((option) =>
  option.flags === "--context <name>" ? { ...option, flags: "-c, --context <name>" } : option,
);

/** The commands that read and write objects of a running control plane. */
export const objectCommands: readonly CommandSpec[] = [
  {
    name: "apply",
    summary: "apply manifests to a running control plane",
    arguments: [{ name: "[path...]", description: "YAML files or folders of YAML files; - reads stdin" }],
    options: [
      filenameOption,
      { flags: "--dry-run", description: "preview the changes as purlin diff does, and apply nothing" },
      {
        flags: "--confirm [hash]",
        description: "preview the changes and ask before applying them; with a hash, apply only the plan that has it",
      },
      dataOption,
      namespaceOption,
      ...clusterOptions,
    ],
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
    options: [namespaceOption, everywhereOption, selectorOption, dataOption, ...clusterOptions],
    load: () => import("../describe/describe-command.ts"),
  },
  {
    name: "events",
    summary: "show events, oldest first",
    options: [
      { flags: "--for <type/name>", description: "only events of this object" },
      {
        flags: "--below",
        description: "with --for: also events of everything below the object, as purlin trace shows it",
      },
      { flags: "--types <types>", description: "only events of these types, such as Warning" },
      { flags: "--reasons <reasons>", description: "only events with these reasons, such as ComposeResources" },
      { flags: "--since <duration>", description: "only events of the last, such as 10m" },
      { flags: "-o, --output <format>", description: "table, json, yaml or name", default: "table" },
      { flags: "-w, --watch", description: "after the list, print each new event until Ctrl-C" },
      namespaceOption,
      everywhereOption,
      ...clusterOptions,
    ],
    load: () => import("../events/events-command.ts"),
  },
  {
    name: "trace",
    summary: "show claims, composite resources and packages with everything below them, and their status",
    arguments: [
      {
        name: "[type]",
        description: "type as for purlin get, or TYPE/NAME; all claims and composite resources if omitted",
      },
      { name: "[name]", description: "name of the object; all objects of the type if omitted" },
    ],
    options: [
      namespaceOption,
      {
        flags: "-o, --output <format>",
        description: "table, wide, json, yaml, dot, tree or name",
        default: "table",
      },
      { flags: "-w, --watch", description: "print changes until the object is deleted, or until Ctrl-C" },
      {
        flags: "--columns <columns>",
        description: "columns of the table instead of the usual ones, by title or JSONPath: READY,REGION=.spec.region",
      },
      {
        flags: "--show-package-revisions <which>",
        description: "revisions of packages: active, all or none",
        default: "active",
      },
      {
        flags: "--show-package-dependencies <which>",
        description: "packages that a package depends on: unique, all or none",
        default: "unique",
      },
      { flags: "--show-package-runtime-configs", description: "also show the DeploymentRuntimeConfigs of packages" },
      { flags: "-s, --show-connection-secrets", description: "also show Secrets with connection details" },
      { flags: "--concurrency <n>", description: "accepted as in crossplane, without effect", hidden: true },
      ...traceClusterOptions,
    ],
    load: () => import("../trace/trace-command.ts"),
  },
  {
    name: "explain",
    summary: "find the cause of an object that is not ready",
    arguments: [
      {
        name: "[type]",
        description: "TYPE/NAME, or a type as for purlin get; all unhealthy objects if omitted",
      },
      { name: "[name...]", description: "names of objects; all objects of the type if omitted" },
    ],
    options: [
      { flags: "--all", description: "show all causes in full, not only the first one" },
      { flags: "--code <code>", description: "show what a cause code means, such as E11" },
      dataOption,
      {
        flags: "--system-namespace <name>",
        description: "namespace of packages and of the control plane's Lease",
        default: "crossplane-system",
      },
      namespaceOption,
      ...clusterOptions,
    ],
    load: () => import("../explain/explain-command.ts"),
  },
  {
    name: "top",
    summary: "show what functions and composite resources use: calls, latency, errors, CPU, memory, reconciles",
    arguments: [{ name: "[what]", description: "functions or xrs (both)" }],
    options: [
      { flags: "--interval <duration>", description: "time over which calls per second are measured", default: "1s" },
      { flags: "--since <duration>", description: "reconciles of the last, such as 10m", default: "1h" },
      { flags: "-w, --watch", description: "measure again and again until Ctrl-C" },
      { flags: "-s, --summary", description: "first a summary of all pods or processes" },
      { flags: "-o, --output <format>", description: "table or json", default: "table" },
      {
        flags: "-n, --namespace <name>",
        description: "on a cluster: namespace of the pods (crossplane-system)",
      },
      ...clusterOptions,
    ],
    load: () => import("../top/top-command.ts"),
  },
  {
    name: "logs",
    summary: "show the logs of functions",
    arguments: [{ name: "[function...]", description: "names of Functions (all, in the order of time)" }],
    options: [
      { flags: "--revision <name>", description: "only this revision (all)" },
      { flags: "-f, --follow", description: "follow: stream new lines" },
      { flags: "--tail <lines>", description: "number of most recent lines to show (all)" },
      { flags: "--since <duration>", description: "only lines of the last, such as 10m" },
      { flags: "--xr <kind/name>", description: "only lines about this composite resource, such as App/shop" },
      selectorOption,
      { flags: "-o, --output <format>", description: "text or json" },
      ...clusterOptions,
    ],
    load: () => import("../logs/logs-command.ts"),
  },
  {
    name: "mrd unused",
    summary: "list active managed resource definitions that have no objects",
    options: [
      { flags: "-o, --output <format>", description: "table, name, json or yaml", default: "table" },
      ...clusterOptions,
    ],
    load: () => import("../mrd/unused-command.ts"),
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
      dataOption,
      namespaceOption,
      ...clusterOptions,
    ],
    load: async () => ({ run: (await import("../edit/edit-commands.ts")).patch }),
  },
  {
    name: "edit",
    summary: "change an object in an editor",
    arguments: [
      { name: "<type>", description: "as for purlin get" },
      { name: "[name]", description: "name of the object" },
    ],
    options: [subresourceOption, dataOption, namespaceOption, ...clusterOptions],
    load: () => import("../edit/edit-commands.ts"),
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
      dataOption,
      ...clusterOptions,
    ],
    load: () => import("../delete/delete-command.ts"),
  },
];
