// SPDX-License-Identifier: Apache-2.0
import type { OptionSpec } from "../options/command-spec.ts";

/** The options of `purlin render`. */
export const renderFlags: readonly OptionSpec[] = [
  { flags: "-x, --include-full-xr", description: "include the spec and metadata of the XR" },
  {
    flags: "-r, --include-function-results",
    description: "include events and results, one Result per event",
  },
  { flags: "-c, --include-context", description: "include the context of the last step" },
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
