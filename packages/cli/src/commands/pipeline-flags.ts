// SPDX-License-Identifier: Apache-2.0
import type { OptionSpec } from "../options/command-spec.ts";
import { clusterOptions } from "../options/shared-options.ts";

const hidden = true;

/** The options of `purlin diff`. */
export const diffFlags: readonly OptionSpec[] = [
  {
    flags: "--function <name=source>",
    description:
      "run this instead of a function: ./fn.ts, a package file (x.xpkg), an image, revision:NAME, or host:port; repeatable",
    repeatable: true,
  },
  { flags: "--delete <type/name>", description: "also delete this object; repeatable", repeatable: true },
  { flags: "--prune", description: "with -l: also delete objects with these labels that are not in the files" },
  {
    flags: "-l, --selector <labels>",
    description: "only composite resources with these labels; with --prune, the objects to delete",
  },
  { flags: "--include-manual", description: "also show what pinned composite resources would do at the new revision" },
  { flags: "--include-pinned", description: "same as --include-manual", hidden },
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
  { flags: "--ignore-file <file>", description: "a file of such fields, one a line; # begins a comment" },
  { flags: "--show <what>", description: "also show status, owners, unchanged or pending; comma-separated" },
  {
    flags: "--assume <what>",
    description: "ready: composed resources become ready; none; or a file of assumed statuses",
    default: "ready",
  },
  { flags: "--eventual-state", description: "same as --assume ready", hidden },
  {
    flags: "--max-rounds <n>",
    description: "reconciles of one object after which it is reported as not settling",
    default: "20",
  },
  { flags: "--max-iterations <n>", description: "same as --max-rounds", hidden },
  { flags: "--no-color", description: "accepted as in crossplane-diff: the output has no color", hidden },
  { flags: "--max-nested-depth <n>", description: "how deep new composite resources may be nested (unlimited)" },
  { flags: "--no-baseline", description: "do not subtract what would happen without the change" },
  { flags: "--check-stable", description: "preview twice, and mark values that differ from run to run" },
  {
    flags: "--functions <where>",
    description: "auto; live: only where they run now; local: packages run on this machine",
    default: "auto",
  },
  {
    flags: "--function-credentials <file>",
    description: "Secrets with credentials of functions, used instead of those of the control plane",
  },
  {
    flags: "--apply-as <how>",
    description: "auto, kubectl or server-side[=MANAGER]: how the files are applied",
    default: "auto",
  },
  { flags: "--parallel <n>", description: "how many objects are reconciled at the same time", default: "8" },
  { flags: "--timeout <duration>", description: "timeout of the whole preview", default: "10m" },
  { flags: "-o, --output <format>", description: "plan, diff, json, yaml or markdown", default: "plan" },
  { flags: "--compact", description: "with -o diff and markdown: three lines of context" },
  { flags: "--minimize-composition", description: "name changed Compositions without their own diff" },
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
    flags: "--print-rbac",
    description: "print the rights that this preview needs, as a ClusterRole, instead of the plan",
  },
  {
    flags: "-n, --namespace <name>",
    description: "namespace of objects that name none (from the kubeconfig context or purlin.yaml, otherwise default)",
  },
  ...clusterOptions,
];

/** The options of `purlin render`. */
export const renderFlags: readonly OptionSpec[] = [
  { flags: "-x, --include-full-xr", description: "include the spec and metadata of the XR" },
  {
    flags: "-r, --include-function-results",
    description: "include events and results, one Result per event",
  },
  { flags: "-c, --include-context", description: "include the context of the last step" },
  { flags: "--output <format>", description: "yaml or json", default: "yaml" },
  {
    flags: "-o, --observed-resources <path>",
    description: "observed composed resources, such as the output of a previous render",
    repeatable: true,
  },
  {
    flags: "-e, --required-resources <path>",
    description: "objects that answer required resources",
    repeatable: true,
  },
  { flags: "--extra-resources <path>", description: "deprecated name of --required-resources", repeatable: true },
  {
    flags: "-s, --required-schemas <dir>",
    description: "folder of OpenAPI v3 documents, as served by an API server, that answer required schemas",
    repeatable: true,
  },
  {
    flags: "--context-files <key=file>",
    description: "context value from a JSON or YAML file",
    repeatable: true,
  },
  {
    flags: "--context-values <key=value>",
    description: "context value as JSON or YAML; overrides --context-files",
    repeatable: true,
  },
  { flags: "--function-credentials <path>", description: "Secrets that steps use as credentials", repeatable: true },
  {
    flags: "-a, --function-annotations <key=value>",
    description: "annotation for every Function, overrides its own",
    repeatable: true,
  },
  {
    flags: "--tls-client-certs-dir <dir>",
    description: "folder of tls.crt, tls.key and ca.crt to call FunctionRevisions with ($TLS_CLIENT_CERTS_DIR)",
  },
  { flags: "--xrd <path>", description: "XRD of the XR, unless it is in the other files" },
  { flags: "--timeout <duration>", description: "timeout of the whole command", default: "1m" },
];
