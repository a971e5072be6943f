// SPDX-License-Identifier: Apache-2.0
import { parseGoDuration } from "@purlin/function-protocol";
import { FunctionError } from "../errors/function-error.ts";
import type { ServeOptions } from "./serve-options.ts";

/** A command line flag. */
export interface Flag {
  /** Without dashes; the first is the one shown in the usage text. */
  readonly names: readonly string[];
  /** What the value is called in the usage text; undefined for a flag that is on or off. */
  readonly value?: string | undefined;
  readonly help: string;
  /** The environment variable that is used when the flag is not given. */
  readonly env?: string | undefined;
  /** Adds the value to the options. Throws USAGE when it makes no sense. */
  readonly apply: (options: Writable, text: string) => void;
}

/** Options being put together. */
export type Writable = { -readonly [K in keyof ServeOptions]: ServeOptions[K] };

/** The flags every function has, whatever language it is written in. */
export const standardFlags: readonly Flag[] = [
  {
    names: ["address"],
    value: "HOST:PORT",
    help: "Address to listen on; :PORT for all interfaces (default 127.0.0.1:9443, in a container :9443)",
    apply: (options, text) => {
      options.address = text;
    },
  },
  {
    names: ["network"],
    value: "tcp|unix",
    help: "Network type; unix takes a socket path as address (default tcp)",
    apply: (options, text) => {
      if (text !== "tcp" && text !== "unix") throw usage("--network", text, "tcp or unix");
      options.network = text;
    },
  },
  {
    names: ["tls-certs-dir", "tls-server-certs-dir"],
    value: "DIR",
    help: "Directory with tls.crt, tls.key and ca.crt; clients must present a certificate signed by ca.crt",
    env: "TLS_SERVER_CERTS_DIR",
    apply: (options, text) => {
      options.tlsCertsDir = text;
    },
  },
  {
    names: ["insecure"],
    help: "Serve plaintext; ignore certificates",
    apply: (options, text) => {
      options.insecure = onOrOff("--insecure", text);
    },
  },
  {
    names: ["max-recv-message-size"],
    value: "MIB",
    help: "Largest request in MiB (default 64)",
    apply: (options, text) => {
      options.maxRecvMessageSize = mebibytes("--max-recv-message-size", text);
    },
  },
  {
    names: ["max-send-message-size"],
    value: "MIB",
    help: "Largest response in MiB (default 64)",
    apply: (options, text) => {
      options.maxSendMessageSize = mebibytes("--max-send-message-size", text);
    },
  },
  {
    names: ["ttl"],
    value: "DURATION",
    help: "How long responses may be reused, such as 90s or 1m30s (default 1m)",
    apply: (options, text) => {
      const ms = parseGoDuration(text);
      if (ms === undefined || ms < 0) throw usage("--ttl", text, "a duration such as 90s or 1m30s");
      options.ttl = ms;
    },
  },
  {
    names: ["metrics-address"],
    value: "HOST:PORT",
    help: 'Address of the Prometheus metrics; "" disables them (default 127.0.0.1:8080, in a container :8080)',
    env: "METRICS_ADDRESS",
    apply: (options, text) => {
      options.metricsAddress = text;
    },
  },
  {
    names: ["debug", "d"],
    help: "Log debug messages in human-readable form",
    apply: (options, text) => {
      options.debug = onOrOff("--debug", text);
    },
  },
];

function onOrOff(flag: string, text: string): boolean {
  if (text !== "true" && text !== "false") throw usage(flag, text, "true or false");
  return text === "true";
}

function mebibytes(flag: string, text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value === 0) throw usage(flag, text, "a positive number of MiB");
  return value;
}

function usage(flag: string, text: string, expected: string): FunctionError {
  return new FunctionError("USAGE", `${flag}: expected ${expected}, not ${JSON.stringify(text)}`);
}
