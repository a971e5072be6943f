// SPDX-License-Identifier: Apache-2.0
import process from "node:process";

/** What is looked at to find out where a function runs. */
export interface Whereabouts {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
}

/**
 * The host to listen on unless one is given. In a container callers come from outside, so it is empty: all interfaces. That is a Pod,
 * or the first process of any other container. Anywhere else only programs of this machine can call the function.
 */
export function defaultHost({ env, pid }: Whereabouts = ownWhereabouts()): "" | "127.0.0.1" {
  return env["KUBERNETES_SERVICE_HOST"] || pid === 1 ? "" : "127.0.0.1";
}

function ownWhereabouts(): Whereabouts {
  // biome-ignore lint/style/noProcessEnv: only the environment says where a process runs.
  return { env: process.env, pid: process.pid };
}
