// SPDX-License-Identifier: Apache-2.0
import { join, relative, resolve } from "node:path";
import type { Log } from "@purlin/base";
import {
  type ApiServer,
  type ApiServerOptions,
  type AuditPolicy,
  type Authorization,
  defaultPlugins,
  parseAuditPolicy,
  pluginNames,
} from "@purlin/kube-apiserver";
import { createDirectTransport, createKubeClient } from "@purlin/kube-client";
import type { JsonValue } from "@purlin/kube-objects/json";
import { startWorkloadSimulator } from "@purlin/workload-simulator";
import { readTextSync } from "../files/read-text.ts";
import { parseYaml } from "../files/yaml-file.ts";
import type { Io } from "../io.ts";
import { type CommandInput, listOption, textOption } from "../options/command-spec.ts";
import { textOf, UserError } from "../user-error.ts";
import type { AuditSettings } from "./audit-log.ts";
import { simulatorUser } from "./controller-roles.ts";

const defaultMegabytes = 100;
const defaultBackups = 10;

/** Reads the flags of the audit log; undefined where it is off. The log is `audit.log` in the data directory unless a path is given. */
export function readAuditSettings(input: CommandInput, directory: string, io: Io): AuditSettings | undefined {
  const file = textOption(input, "auditPolicyFile");
  if (file === undefined) {
    const flag = ["auditLogPath", "auditLogMaxsize", "auditLogMaxbackup"].find((name) => textOption(input, name));
    if (flag === undefined) return undefined;
    throw new UserError("an audit log needs a policy: add --audit-policy-file", { exitCode: 2 });
  }
  const path = textOption(input, "auditLogPath");
  return {
    policy: readPolicy(file, io),
    path: path === undefined ? join(directory, "audit.log") : resolve(io.cwd, path),
    maxBytes:
      wholeNumber(input, { name: "auditLogMaxsize", flag: "--audit-log-maxsize", preset: defaultMegabytes }) * 1e6,
    maxBackups: wholeNumber(input, {
      name: "auditLogMaxbackup",
      flag: "--audit-log-maxbackup",
      preset: defaultBackups,
    }),
  };
}

function readPolicy(file: string, io: Io): AuditPolicy {
  const shown = relative(io.cwd, resolve(io.cwd, file)) || file;
  const documents = parseYaml(readTextSync(resolve(io.cwd, file), shown), shown);
  const [document, another] = documents;
  if (document === undefined || another !== undefined) {
    throw new UserError(`--audit-policy-file ${shown}: expected one document`);
  }
  try {
    return parseAuditPolicy(document.value as JsonValue);
  } catch (error) {
    throw new UserError(`--audit-policy-file ${shown}: ${textOf(error)}`, { cause: error });
  }
}

interface NumberFlag {
  readonly name: string;
  readonly flag: string;
  readonly preset: number;
}

function wholeNumber(input: CommandInput, { name, flag, preset }: NumberFlag): number {
  const text = textOption(input, name);
  const value = text === undefined ? preset : Number(text);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new UserError(`${flag} ${text}: expected an integer of at least 1`, { exitCode: 2 });
}

type WebhookTargets = NonNullable<ApiServerOptions["webhookTargets"]>;

const form = /^(?<service>[^/=:]+\/[^/=:]+:\d+)=(?<host>\[[^\]]+\]|[^/=:]+):(?<port>\d+)$/;

/** Reads --webhook-target: where webhooks of Services are. */
export function readWebhookTargets(input: CommandInput): WebhookTargets {
  return new Map(listOption(input, "webhookTarget").map(readTarget));
}

function readTarget(text: string): [string, { readonly host: string; readonly port: number }] {
  const { service = "", host = "", port = "" } = form.exec(text)?.groups ?? {};
  const isPort = (one: string): boolean => Number(one) >= 1 && Number(one) <= 65535;
  if (service === "" || !isPort(port) || !isPort(service.slice(service.lastIndexOf(":") + 1))) {
    const example = "default/hook:443=127.0.0.1:9443";
    throw new UserError(`--webhook-target ${text}: expected NAMESPACE/SERVICE:PORT=HOST:PORT, such as ${example}`, {
      exitCode: 2,
    });
  }
  return [service, { host: host.replace(/^\[|\]$/g, ""), port: Number(port) }];
}

/** Reads --enable-admission-plugins and --disable-admission-plugins: the names of the plugins to run. */
export function readAdmissionPlugins(input: CommandInput): readonly string[] {
  const enabled = readPlugins(input, "enable");
  const disabled = readPlugins(input, "disable");
  const refused = (problem: string): UserError =>
    new UserError(`--disable-admission-plugins ${problem}`, { exitCode: 2 });
  const both = disabled.find((name) => enabled.includes(name));
  if (both !== undefined) throw refused(`"${both}": --enable-admission-plugins names it too; name it once`);
  // Objects in namespaces that do not exist would never be deleted.
  if (disabled.includes(alwaysRuns)) throw refused(`"${alwaysRuns}": this plugin always runs`);
  const isOn = (name: string): boolean => defaultPlugins.includes(name) && !disabled.includes(name);
  return pluginNames.filter((name) => isOn(name) || enabled.includes(name));
}

const alwaysRuns = "NamespaceLifecycle";

function readPlugins(input: CommandInput, verb: "enable" | "disable"): readonly string[] {
  const given = listOption(input, `${verb}AdmissionPlugins`).filter((text) => text !== "");
  const names = given.flatMap((text) => text.split(","));
  const unknown = names.find((name) => !pluginNames.includes(name));
  if (unknown === undefined) return names;
  throw new UserError(
    `--${verb}-admission-plugins ${JSON.stringify(unknown)}: this API server has no such plugin; expected ${pluginNames.join(", ")}`,
    { exitCode: 2 },
  );
}

/** Whether workloads are simulated, or only stored. */
export type WorkloadMode = "simulate" | "off";

/** What the banner says about simulated workloads. */
export const simulationNote = "workloads are simulated: Pods get a status, but no container runs";

/** Reads `--workloads`. */
export function readWorkloads(input: CommandInput, unset: WorkloadMode): WorkloadMode {
  const mode = textOption(input, "workloads") ?? unset;
  if (mode === "simulate" || mode === "off") return mode;
  throw new UserError(`--workloads ${mode}: expected simulate or off`, { exitCode: 2 });
}

/** Simulates the workloads of an embedded server until it is disposed of. */
export async function simulateWorkloads(
  server: ApiServer,
  log: Log,
  authorization: Authorization = "rbac",
): Promise<AsyncDisposable> {
  await using starting = new AsyncDisposableStack();
  const client = createKubeClient(
    createDirectTransport(server.handle, simulatorUser(authorization), "kube-controller-manager"),
  );
  starting.defer(() => client.close());
  starting.use(await startWorkloadSimulator({ client, log }));
  const closing = starting.move();
  return { [Symbol.asyncDispose]: () => closing.disposeAsync() };
}
