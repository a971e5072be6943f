// SPDX-License-Identifier: Apache-2.0
import { resolve } from "node:path";
import { type LogFields, silentLog } from "@purlin/base";
import type { Io } from "../io.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { simulatorRoles } from "./controller-roles.ts";
import {
  type EmbeddedServer,
  readAuthorization,
  readMaxRequestsInFlight,
  readPort,
  startEmbeddedServer,
  untilStopped,
} from "./embedded-server.ts";
import {
  readAdmissionPlugins,
  readAuditSettings,
  readWebhookTargets,
  readWorkloads,
  simulateWorkloads,
  simulationNote,
} from "./server-options.ts";

/** `purlin apiserver --data-dir DIR [--port N]` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const { options } = input;
  const directory = resolve(io.cwd, String(options["dataDir"]));
  const port = readPort(options["port"]);
  const authorization = readAuthorization(options["authorization"]);
  const isSimulating = readWorkloads(input, "off") === "simulate";
  const warn = (text: string): void => void io.stderr.write(`${text}\n`);
  await using embedded = await startEmbeddedServer({
    directory,
    port,
    servesReadOnly: true,
    repairCertificates: options["repairCertificates"] === true,
    acceptsLoss: options["acceptDataLoss"] === true,
    authorization,
    roles: isSimulating ? simulatorRoles : [],
    maxRequestsInFlight: readMaxRequestsInFlight(options["maxRequestsInflight"]),
    audit: readAuditSettings(input, directory, io),
    webhookTargets: readWebhookTargets(input),
    admissionPlugins: readAdmissionPlugins(input),
    warn,
  });
  const log = {
    ...silentLog,
    error: (text: string, fields?: LogFields) => warn(`error: ${text} ${JSON.stringify(fields)}`),
  };
  await embedded.bootstrapped;
  await using _simulator = isSimulating ? await simulateWorkloads(embedded.server, log, authorization) : undefined;
  io.stdout.write(greeting(embedded, isSimulating));
  await untilStopped(io);
  io.stdout.write("Stopping.\n");
}

function greeting({ url, kubeconfig }: EmbeddedServer, isSimulating: boolean): string {
  const note = isSimulating ? `${simulationNote.replace("w", "W")}.` : "Workloads are stored, but Pods are not run.";
  return `Kubernetes API server at ${url}

${note} Press Ctrl-C to stop; stored data is kept.

  kubectl --kubeconfig ${kubeconfig} api-resources
`;
}
