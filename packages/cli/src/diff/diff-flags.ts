// SPDX-License-Identifier: Apache-2.0
import type { OptionSpec } from "../options/command-spec.ts";
import { clusterOptions } from "../options/shared-options.ts";

const hidden = true;

/** The options of `purlin diff`. */
export const diffFlags: readonly OptionSpec[] = [
  {
    flags: "--function <name=source>",
    description: "run this source instead of a function: ./fn.ts, or host:port of a running function; repeatable",
    repeatable: true,
  },
  { flags: "--delete <type/name>", description: "also delete this object; repeatable", repeatable: true },
  {
    flags: "--xr <name>",
    description: "only these composite resources, as NAME or NAMESPACE/NAME; repeatable",
    repeatable: true,
  },
  { flags: "--resource <name>", description: "same as --xr", repeatable: true, hidden },
  {
    flags: "--ignore <path>",
    description: "leave out a field, such as metadata.labels[team] or ConfigMap:data; repeatable",
    repeatable: true,
  },
  { flags: "--ignore-paths <path>", description: "same as --ignore", repeatable: true, hidden },
  { flags: "--show <what>", description: "also show status, owners, unchanged or pending; comma-separated" },
  {
    flags: "--assume <what>",
    description: "ready: composed resources become ready; none; or a file of assumed statuses",
    default: "ready",
  },
  { flags: "--eventual-state", description: "same as --assume ready", hidden },
  {
    flags: "--max-rounds <n>",
    description: "how often one object is reconciled until it is said not to settle",
    default: "20",
  },
  { flags: "--max-iterations <n>", description: "same as --max-rounds", hidden },
  { flags: "--no-baseline", description: "do not subtract what would happen without the change" },
  {
    flags: "--apply-as <how>",
    description: "auto, kubectl or server-side[=MANAGER]: how the files are applied",
    default: "auto",
  },
  { flags: "--parallel <n>", description: "how many objects are reconciled at the same time", default: "8" },
  { flags: "--timeout <duration>", description: "timeout of the whole preview", default: "10m" },
  { flags: "-o, --output <format>", description: "plan, diff, json, yaml or markdown", default: "plan" },
  { flags: "--compact", description: "with -o diff and markdown: three lines of context" },
  {
    flags: "--key <name>",
    description: "with -o markdown: marks the comment, so that the next run can update it",
    default: "default",
  },
  {
    flags: "--exit-code <style>",
    description: "purlin (0, 1, 2, 3), kubectl (0, 1, 2), terraform (0, 1, 2) or none",
    default: "purlin",
  },
  { flags: "--tls-client-certs-dir <dir>", description: "certificates to call functions with (those of purlin up)" },
  {
    flags: "-n, --namespace <name>",
    description: "namespace of objects that name none (from the kubeconfig context or purlin.yaml, otherwise default)",
  },
  ...clusterOptions,
];
