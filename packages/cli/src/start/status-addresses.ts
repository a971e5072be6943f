// SPDX-License-Identifier: Apache-2.0
import { type CommandInput, textOption } from "../commands/command-spec.ts";
import { portOption } from "./start-settings.ts";

/** Where the control plane tells how it is; undefined for nowhere. */
export interface StatusAddresses {
  readonly metricsAddress: string | undefined;
  readonly healthAddress: string | undefined;
}

/**
 * Reads the flags of metrics and health. An address of "0" switches an endpoint off. A port, as Crossplane's flags have it, is that of an
 * address: on all interfaces in a Pod, where probes come from outside, and on loopback anywhere else.
 */
export function statusAddresses(
  input: CommandInput,
  env: Readonly<Record<string, string | undefined>>,
): StatusAddresses {
  const host = env["KUBERNETES_SERVICE_HOST"] ? "" : "127.0.0.1";
  const address = (name: string, port: string): string | undefined => {
    const text = textOption(input, name) ?? `${host}:${port}`;
    return text === "0" ? undefined : text;
  };
  return {
    metricsAddress: address("metricsAddress", portOption(input, "metricsPort") ?? "8080"),
    healthAddress: address("healthAddress", portOption(input, "healthProbePort") ?? "8081"),
  };
}
