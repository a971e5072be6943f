// SPDX-License-Identifier: Apache-2.0
import { resolve } from "node:path";
import type { CommandInput } from "../commands/command-spec.ts";
import type { Io } from "../io.ts";
import { readMaxRequestsInFlight, readPort, startEmbeddedServer, untilStopped } from "./embedded-server.ts";

/** `purlin apiserver --data-dir DIR [--port N]` */
export async function run({ options }: CommandInput, io: Io): Promise<undefined> {
  const directory = resolve(io.cwd, String(options["dataDir"]));
  const port = readPort(options["port"]);
  await using embedded = await startEmbeddedServer({
    directory,
    port,
    servesReadOnly: true,
    repairCertificates: options["repairCertificates"] === true,
    acceptsLoss: options["acceptDataLoss"] === true,
    maxRequestsInFlight: readMaxRequestsInFlight(options["maxRequestsInflight"]),
    warn: (text) => io.stderr.write(`${text}\n`),
  });
  io.stdout.write(greeting(embedded.url, embedded.kubeconfig));
  await untilStopped(io);
  io.stdout.write("Stopping.\n");
}

function greeting(url: string, kubeconfig: string): string {
  return `Kubernetes API server at ${url}

It stores workloads but runs no Pods. Stop it with Ctrl-C; what it stored stays.

  kubectl --kubeconfig ${kubeconfig} api-resources
`;
}
