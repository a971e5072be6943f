// SPDX-License-Identifier: Apache-2.0

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "@purlin/base";
import {
  createRetirements,
  type FunctionProcess,
  type FunctionProcesses,
  limitsOfRuntimeConfig,
  type SandboxSupport,
  settingsOfRuntimeConfig,
} from "@purlin/function-process";
import type { ControllerClient } from "@purlin/kube-controller";
import { isNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { controllerReference, isControlledBy, type KubeObject, objectAt, textAt } from "@purlin/kube-objects/object";
import { type ContentStore, type ImageRoots, type Platform, parseImageConfig, runtimeLabel } from "@purlin/oci";
import type { PackageClient } from "../fetch/package-client.ts";
import { referenceOfRevision, requestOf } from "../fetch/package-request.ts";
import { otherKinds, packageLabels } from "../package-kinds.ts";
import { ensureNamespace } from "./owned-objects.ts";
import type { PackageRuntime, RevisionLeases, RuntimeContext, RuntimeReport } from "./package-runtime.ts";

/** The dependencies of functions that run on this machine. */
export interface ProcessRuntimeOptions {
  readonly client: ControllerClient;
  readonly packages: PackageClient;
  readonly store: ContentStore;
  readonly roots: ImageRoots;
  readonly processes: FunctionProcesses;
  readonly sandbox: SandboxSupport;
  readonly platform: Platform;
  readonly namespace: string;
  /** Sockets of sandboxed functions go here. */
  readonly sockets: string;
  readonly clock: Clock;
  readonly leases: RevisionLeases;
}

const fieldManager = "pkg.crossplane.io/runtime";
const reportedLines = 10;
/** A step that was sent to a revision just before it was retired may not have its lease yet. */
const lingerMs = 1_000;

/** Runs functions as child processes: from their unpacked image, in a sandbox where the machine has one. */
export function createProcessRuntime(options: ProcessRuntimeOptions): PackageRuntime {
  const { client, processes, namespace } = options;
  // Only these are stopped: functions under development run as processes as well.
  const started = new Set<string>();
  // Once each: an unhealthy revision is prepared again and again.
  const warmed = new Set<string>();
  const retirements = createRetirements({ clock: options.clock, leases: options.leases, lingerMs });
  return {
    async prepare({ type, revision, signal }) {
      const name = revision.metadata.name ?? "";
      requireName(processes, name);
      if (type.kind === "Function" && options.sandbox.isSupported && !warmed.has(name)) {
        warmed.add(name);
        processes.warm(name, options.sandbox);
      }
      // Each process has certificates of its own, also where revisions of a function share a name on a cluster.
      const tlsServerSecretName = secretOf(name);
      const [data] = await Promise.all([
        processes.certificates(name).then(certificatesOf),
        ensureNamespace(client, namespace, signal),
      ]);
      const secret: KubeObject = {
        ...otherKinds.secret,
        metadata: { name: tlsServerSecretName, namespace, ownerReferences: [controllerReference(revision)] },
        type: "Opaque",
        data,
      };
      await client.applyIfChanged(secret, { fieldManager, force: true, signal });
      return { tlsServerSecretName };
    },
    async run(context) {
      const { type, revision } = context;
      if (type.kind !== "Function") {
        return { isHealthy: false, message: `this control plane does not run a ${type.kind}` };
      }
      const name = revision.metadata.name ?? "";
      requireName(processes, name);
      started.add(name);
      retirements.forget(name);
      return reportOf(processes.run(await specOf(options, context)), options.sandbox, revision);
    },
    async retire({ revision, signal }) {
      const name = revision.metadata.name ?? "";
      warmed.delete(name);
      if (!started.has(name) || isTaken(processes, name)) {
        started.delete(name);
        await deleteRevisionSecret({ ...options, name: secretOf(name) }, revision, signal);
        return {};
      }
      const waitMs = retirements.waitMs(name);
      if (waitMs > 0) return { requeueAfterMs: waitMs };
      started.delete(name);
      retirements.forget(name);
      // Not awaited: the revision may become active again meanwhile.
      void processes.stop(name);
      await deleteRevisionSecret({ ...options, name: secretOf(name) }, revision, signal);
      return {};
    },
    watches: (_, all) => [
      {
        type: "DeploymentRuntimeConfig",
        object: otherKinds.runtimeConfig,
        keys: ({ object }) => configuredBy(object, all()),
      },
    ],
  };
}

/** The revisions that name a DeploymentRuntimeConfig: its limits are theirs. */
function configuredBy({ metadata }: KubeObject, revisions: readonly KubeObject[]): { readonly name: string }[] {
  return revisions
    .filter((revision) => textAt(revision, ["spec", "runtimeConfigRef", "name"]) === metadata.name)
    .map((revision) => ({ name: revision.metadata.name ?? "" }));
}

/** A process is named after its revision or, if it runs a source file, after its Function. */
function requireName(processes: FunctionProcesses, name: string): void {
  if (!isTaken(processes, name)) return;
  const other = processes.get(name)?.isProvider
    ? "a ProviderRevision of the same name runs"
    : "a Function of the same name runs from a source file";
  throw new Error(`${other}: give one of them another name`);
}

function isTaken(processes: FunctionProcesses, name: string): boolean {
  const process = processes.get(name);
  return process !== undefined && (process.root === undefined || process.isProvider);
}

function secretOf(revision: string): string {
  return `${revision}-tls-server`;
}

/** Deletes a Secret of a revision. The garbage collector deletes those of a revision that is gone. */
export async function deleteRevisionSecret(
  { client, namespace, name }: Pick<ProcessRuntimeOptions, "client" | "namespace"> & { readonly name: string },
  { metadata }: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  if (metadata.uid === undefined) return;
  const key = { namespace, name };
  const secret = await client.get(otherKinds.secret, key, { signal });
  if (secret === undefined || !isControlledBy(secret, metadata.uid)) return;
  await client.delete({ ...otherKinds.secret, ...key }, { signal }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}

async function certificatesOf(folder: string): Promise<Record<string, string>> {
  const names = ["ca.crt", "tls.crt", "tls.key"] as const;
  const entries = names.map(async (name) => [name, (await readFile(join(folder, name))).toString("base64")] as const);
  return Object.fromEntries(await Promise.all(entries));
}

async function specOf(
  options: ProcessRuntimeOptions,
  { revision, signal }: RuntimeContext,
): Promise<Parameters<FunctionProcesses["run"]>[0]> {
  const { packages, store, roots, sandbox, platform, sockets } = options;
  const request = requestOf(revision, referenceOfRevision(revision), signal);
  const image = await packages.image(await packages.resolve(request), request, platform);
  const [stored, root] = await Promise.all([store.read(image.manifest.config), roots.rootOf(image)]);
  const config = parseImageConfig(stored, request.reference);
  const name = revision.metadata.name ?? "";
  const runtimeConfig = await runtimeConfigOf(options.client, revision, signal);
  const { env, args } = settingsOfRuntimeConfig(runtimeConfig);
  return {
    name,
    functionName: revision.metadata.labels?.[packageLabels.package],
    cwd: "/",
    limits: limitsOfRuntimeConfig(runtimeConfig),
    before: textAt(revision, ["status", "endpoint"]),
    program: {
      kind: "image",
      root,
      process: args === undefined ? config.process : { ...config.process, cmd: args },
      needsNode: config.labels[runtimeLabel] === "node",
      env: {
        ...env,
        FUNCTION_NAME: revision.metadata.labels?.[packageLabels.package] ?? "",
        REVISION_NAME: name,
        REVISION_UID: revision.metadata.uid ?? "",
      },
      sandbox: sandbox.isSupported ? sandbox : undefined,
      network: sandbox.isSupported ? undefined : sandbox.network,
      socket: socketOf(sockets, [name, image.manifestDigest]),
    },
  };
}

/**
 * The spec of the revision's DeploymentRuntimeConfig: limits, environment and arguments of its process, as users of Crossplane expect.
 * Without one the process runs as its image says: on this machine a function needs no runtime config.
 */
async function runtimeConfigOf(
  client: ControllerClient,
  revision: KubeObject,
  signal: AbortSignal,
): Promise<JsonObject> {
  const name = textAt(revision, ["spec", "runtimeConfigRef", "name"]);
  const config = name === undefined ? undefined : await client.get(otherKinds.runtimeConfig, { name }, { signal });
  return config === undefined ? {} : objectAt(config, ["spec"]);
}

/** A socket per image, as a new process is started beside the old one. Paths of sockets must be short. */
export function socketOf(folder: string, names: readonly string[]): string {
  return join(folder, createHash("sha256").update(names.join("/")).digest("hex").slice(0, 12));
}

function reportOf(process: FunctionProcess, sandbox: SandboxSupport, revision: KubeObject): RuntimeReport {
  const { state } = process;
  if (state.phase === "serving") {
    const bare = sandbox.isSupported ? undefined : `the function runs without a sandbox: ${sandbox.reason}`;
    const messages = [bare, state.notice].filter((text) => text !== undefined);
    return { isHealthy: true, endpoint: state.endpoint, message: messages.join("; ") || undefined };
  }
  // The endpoint that was published before stays: it is the record that this revision has served, and callers wait there.
  if (state.phase === "starting") return { isHealthy: false, message: "the function is starting" };
  const lines = process.logs().slice(-reportedLines).join(" | ");
  const advice = `see: purlin logs ${revision.metadata.labels?.[packageLabels.package] ?? ""} --revision ${process.name}`;
  return {
    isHealthy: false,
    isProblem: true,
    message: `${state.problem}${lines ? `; last output: ${lines}` : ""}; ${advice}`,
  };
}
