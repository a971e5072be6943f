// SPDX-License-Identifier: Apache-2.0
import { resolve } from "node:path";
import type { Io } from "../io.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { readAuditSettings } from "./audit-log.ts";
import { readMaxRequestsInFlight, readPort, startEmbeddedServer, untilStopped } from "./embedded-server.ts";

/** `purlin apiserver --data-dir DIR [--port N]` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const { options } = input;
  const directory = resolve(io.cwd, String(options["dataDir"]));
  const port = readPort(options["port"]);
  await using embedded = await startEmbeddedServer({
    directory,
    port,
    servesReadOnly: true,
    repairCertificates: options["repairCertificates"] === true,
    acceptsLoss: options["acceptDataLoss"] === true,
    maxRequestsInFlight: readMaxRequestsInFlight(options["maxRequestsInflight"]),
    audit: readAuditSettings(input, directory, io),
    warn: (text) => io.stderr.write(`${text}\n`),
  });
  io.stdout.write(greeting(embedded.url, embedded.kubeconfig));
  await untilStopped(io);
  io.stdout.write("Stopping.\n");
}

function greeting(url: string, kubeconfig: string): string {
  return `Kubernetes API server at ${url}

Workloads are stored, but Pods are not run. Press Ctrl-C to stop; stored data is kept.

  kubectl --kubeconfig ${kubeconfig} api-resources
`;
}
