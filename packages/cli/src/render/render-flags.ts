// SPDX-License-Identifier: Apache-2.0
import type { OptionSpec } from "../commands/command-spec.ts";

/** The options of `purlin render`. */
export const renderFlags: readonly OptionSpec[] = [
  { flags: "-x, --include-full-xr", description: "print the XR with the spec and metadata it was given" },
  {
    flags: "-r, --include-function-results",
    description: "print the events of the XR, one Result per event",
  },
  { flags: "-c, --include-context", description: "print the context the last step left" },
  {
    flags: "-o, --observed-resources <path>",
    description: "observed composed resources; the output of a render will do",
    repeatable: true,
  },
  {
    flags: "-e, --required-resources <path>",
    description: "objects that exist, to answer what functions require",
    repeatable: true,
  },
  { flags: "--extra-resources <path>", description: "the old name of --required-resources", repeatable: true },
  {
    flags: "-s, --required-schemas <dir>",
    description: "OpenAPI v3 documents as an API server serves them, to answer required schemas",
    repeatable: true,
  },
  {
    flags: "--context-files <key=file>",
    description: "a value of the context, from a JSON or YAML file",
    repeatable: true,
  },
  {
    flags: "--context-values <key=value>",
    description: "a value of the context, as JSON or YAML; wins over --context-files",
    repeatable: true,
  },
  { flags: "--function-credentials <path>", description: "Secrets that steps name as credentials", repeatable: true },
  {
    flags: "-a, --function-annotations <key=value>",
    description: "an annotation for every Function, over its own",
    repeatable: true,
  },
  {
    flags: "--tls-client-certs-dir <dir>",
    description: "tls.crt, tls.key and ca.crt to call FunctionRevisions with ($TLS_CLIENT_CERTS_DIR)",
  },
  { flags: "--xrd <path>", description: "the XRD of the XR; one among the other files counts as well" },
  { flags: "--timeout <duration>", description: "how long everything together may take", default: "1m" },
];
