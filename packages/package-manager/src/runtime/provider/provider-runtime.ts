// SPDX-License-Identifier: Apache-2.0

import type { Clock } from "@purlin/base";
import { type FunctionProcess, type FunctionProcesses, saysPortTaken } from "@purlin/function-process";
import type { ControllerClient } from "@purlin/kube-controller";
import { controllerOf, type KubeObject, labelOf, textAt } from "@purlin/kube-objects/object";
import { otherKinds, packageLabels } from "../../package-kinds.ts";
import type { PackageRuntime, RuntimeContext, RuntimeReport } from "../package-runtime.ts";
import { deleteRevisionSecret } from "../process-runtime.ts";
import { createProviderSecrets, openProviderFiles } from "./provider-files.ts";
import {
  accepts,
  declaresWebhooks,
  hasTarget,
  type ProviderRuntimeOptions,
  removeTarget,
  secretsOf,
  targetOf,
  webhookPort,
} from "./provider-host.ts";
import { startProvider } from "./provider-process.ts";
import { type ProviderAccount, roleKinds } from "./provider-roles.ts";

const reportedLines = 10;
/** When a webhook that does not answer is tried again. */
const webhookRetryMs = 2_000;
/** How often to look whether a Provider has got the rights that it was denied. */
const deniedPollMs = 10_000;
/** How often to look whether a process has ended. */
const endingPollMs = 500;
/** How long a revision runs on at most while its successor does not start. */
const handOverMs = 60_000;

/** Runs Providers as child processes, each as its own ServiceAccount. */
export function createProviderRuntime(options: ProviderRuntimeOptions): PackageRuntime {
  const { client, processes, namespace, webhookTargets } = options;
  const files = openProviderFiles(options);
  /** The revisions that were started, and the accounts that they run as. */
  const started = new Map<string, ProviderAccount | undefined>();
  const ending = new Map<string, Promise<void>>();
  const handOvers = createHandOvers(options.clock);
  /** The processes whose webhooks have answered. */
  const answered = new Map<string, string>();
  const prepareSecrets = createProviderSecrets(options, files);
  return {
    async prepare(context) {
      requireOwn(context, processes);
      return prepareSecrets(context);
    },
    async run(context) {
      const { revision } = context;
      requireOwn(context, processes);
      const name = revision.metadata.name ?? "";
      started.set(name, started.get(name));
      handOvers.forget(name);
      const { process, renewInMs, notices, service, account } = await startProvider(options, files, context);
      started.set(name, account);
      const denied = options.denied.of(account);
      const report = withDenied(reportOf(process, notices, revision), account, denied);
      const target = targetOf(process);
      if (target === undefined) return report;
      webhookTargets.set(`${namespace}/${service}:${webhookPort}`, target);
      const version = process.current?.version ?? "";
      // Once for each process: a connection without data is an error in the log of most servers.
      const isKnown = answered.get(process.name) === version;
      const isServing = isKnown || !(await declaresWebhooks(client, context)) || (await accepts(processes, target));
      if (!isServing) return noWebhooks(revision);
      answered.set(process.name, version);
      return { ...report, requeueAfterMs: denied.length === 0 ? renewInMs : Math.min(renewInMs, deniedPollMs) };
    },
    async retire(context) {
      const { revision, signal } = context;
      const name = revision.metadata.name ?? "";
      const target = targetOf(processes.get(name));
      // In the network of the machine, its successor needs its ports.
      const isPrivate = started.has(name) && (await options.egress()).isSupported;
      if (isPrivate && target !== undefined && hasTarget(webhookTargets, target)) {
        const waitMs = handOverMs - handOvers.waited(name);
        if (waitMs > 0 && (await hasSuccessor(client, context))) return { requeueAfterMs: endingPollMs };
      }
      handOvers.forget(name);
      const account = started.get(name);
      if (started.delete(name)) {
        if (target !== undefined) removeTarget(webhookTargets, target);
        answered.delete(name);
        // A runtime config may name another account than that of the revision.
        if (account !== undefined) options.denied.forget(account);
        // Not awaited: it may take a while to end, and the revision may become active again meanwhile.
        const ended = processes.stop(name).finally(() => ending.delete(name));
        ended.catch(() => {});
        ending.set(name, ended);
      }
      // Its token is good until it has ended: it releases its lease last.
      if (ending.has(name)) return { requeueAfterMs: endingPollMs };
      for (const secret of Object.values(secretsOf(name))) {
        await deleteRevisionSecret({ client, namespace, name: secret }, revision, signal);
      }
      await files.remove(name);
      return {};
    },
    watches: (type, all) => [
      {
        type: "DeploymentRuntimeConfig",
        object: otherKinds.runtimeConfig,
        keys: ({ object }) =>
          all()
            .filter((one) => textAt(one, ["spec", "runtimeConfigRef", "name"]) === object.metadata.name)
            .map(({ metadata }) => ({ name: metadata.name ?? "" })),
      },
      {
        type: "ClusterRole",
        object: roleKinds.role,
        keys: ({ object }) =>
          (object.metadata.ownerReferences ?? [])
            .filter(({ kind, controller }) => kind === type.revision.kind && controller === true)
            .map((owner) => ({ name: owner.name })),
      },
    ],
  };
}

/**
 * A revision that another object than its Provider controls was composed: with the label of a Provider it would answer for the webhooks of that
 * one. With the name of a function's process it would answer for the function.
 */
function requireOwn({ type, revision }: RuntimeContext, processes: FunctionProcesses): void {
  const { name = "" } = revision.metadata;
  const controller = controllerOf(revision);
  const owner = labelOf(revision, packageLabels.package) ?? "";
  const isOwn = controller?.apiVersion.startsWith("pkg.crossplane.io/") && controller.kind === type.kind;
  if (controller !== undefined && !(isOwn && controller.name === owner)) {
    const { kind } = controller;
    throw new Error(
      `the revision belongs to ${kind} "${controller.name}", not to ${type.kind} "${owner}": it is not run`,
    );
  }
  if (processes.get(name)?.isProvider === false) {
    throw new Error(`the process of a function has the name "${name}": give the Provider another name`);
  }
}

/** How long a revision has waited for its successor. */
function createHandOvers(clock: Clock): { waited(name: string): number; forget(name: string): void } {
  const since = new Map<string, number>();
  return {
    waited(name) {
      const began = since.get(name) ?? clock.now();
      since.set(name, began);
      return clock.now() - began;
    },
    forget: (name) => void since.delete(name),
  };
}

/** Whether another revision of the package is to run: until its process runs, that of this one serves the webhooks. */
async function hasSuccessor(client: ControllerClient, { type, revision, signal }: RuntimeContext): Promise<boolean> {
  const owner = revision.metadata.labels?.[packageLabels.package];
  if (owner === undefined) return false;
  const all = await client.list(type.revision, { labels: { [packageLabels.package]: owner }, signal });
  return all.some(
    (one) => one.metadata.uid !== revision.metadata.uid && textAt(one, ["spec", "desiredState"]) === "Active",
  );
}

const portAdvice =
  "another program uses a port of the provider: install pasta (Debian: apt-get install passt), which gives each provider a network of its own, or set another port with args in its DeploymentRuntimeConfig";

function reportOf(process: FunctionProcess, notices: readonly string[], revision: KubeObject): RuntimeReport {
  const { state } = process;
  if (state.phase === "serving") {
    const texts = [...notices, ...(state.notice === undefined ? [] : [state.notice])];
    return { isHealthy: true, message: texts.join("; ") || undefined };
  }
  if (state.phase === "starting") return { isHealthy: false, message: "the provider is starting" };
  const lines = process.logs().slice(-reportedLines).join(" | ");
  const parts = [
    state.problem,
    ...(lines === "" ? [] : [`last output: ${lines}`]),
    ...(saysPortTaken(lines) ? [portAdvice] : []),
    logsOf(revision),
  ];
  return { isHealthy: false, isProblem: true, message: parts.join("; ") };
}

/** A Provider that is denied something may work all the same, so it stays healthy. */
function withDenied(
  report: RuntimeReport,
  { namespace, name }: ProviderAccount,
  denied: readonly string[],
): RuntimeReport {
  if (denied.length === 0 || !report.isHealthy) return report;
  const advice = `bind a ClusterRole with that right to ServiceAccount ${namespace}/${name}, or name an account that has it in a DeploymentRuntimeConfig`;
  const texts = [`the API server denied requests of the provider: ${denied.join("; ")}; ${advice}`, report.message];
  return { ...report, isProblem: true, message: texts.filter((text) => text !== undefined).join("; ") };
}

function noWebhooks(revision: KubeObject): RuntimeReport {
  const message = `the provider declares webhooks but does not accept connections at port ${webhookPort}: requests that need them fail`;
  const advice = "set its flags with args in a DeploymentRuntimeConfig, or install a version that serves them";
  return {
    isHealthy: false,
    isProblem: true,
    message: `${message}; ${advice}; ${logsOf(revision)}`,
    requeueAfterMs: webhookRetryMs,
  };
}

function logsOf({ metadata }: KubeObject): string {
  return `see: purlin logs ${metadata.labels?.[packageLabels.package] ?? ""} --revision ${metadata.name ?? ""}`;
}
