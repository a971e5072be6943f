// SPDX-License-Identifier: Apache-2.0

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog, systemClock } from "@purlin/base";
import {
  type EgressSupport,
  type FunctionProcesses,
  findEgress,
  findSandbox,
  mountPoints,
  type SandboxSupport,
} from "@purlin/function-process";
import { type ContentStore, openContentStore, openImageRoots, platformOfNode } from "@purlin/oci";
import {
  collectImages,
  createProcessRuntime,
  createProviderRuntime,
  createRevisionLeases,
  ensureNamespace,
  openImagePins,
  type ProviderHost,
  packageControllerName,
  packageTypes,
  pinFetched,
  runtimeControllerName,
} from "@purlin/package-manager";
import type { ControlPlaneDeps } from "../control-plane.ts";
import {
  collectRegularly,
  defaultNamespace,
  type OwnRegistry,
  type PackageManager,
  type PackageSettings,
  packageClientOf,
  packageControllers,
} from "./package-manager.ts";

/** The options of package management on one machine. */
interface PackageManagementOptions extends PackageSettings {
  /** Images and unpacked roots go here. */
  readonly directory: string;
  readonly processes: FunctionProcesses;
  /** Packages come from it, too. */
  readonly ownRegistry?: OwnRegistry | undefined;
  /** The sandbox of functions; detected unless given. */
  readonly sandbox?: SandboxSupport | undefined;
  /** Builds the packages of Providers from source files; without it none does. */
  readonly sourcePackage?: ((providerName: string, path: string) => Promise<string>) | undefined;
  /** What the machine gives to Providers; without it none runs. */
  readonly providers?: Omit<ProviderHost, "egress" | "directory"> | undefined;
}

/** The package manager of one machine: packages from any registry, functions as child processes. */
export interface PackageManagement extends PackageManager {
  readonly sandbox: SandboxSupport;
  readonly store: ContentStore;
}

const collectionLimits = { maxBytes: 1024 ** 3, minAgeMs: 10 * 60_000 };

/** The longest path of a socket that all systems accept, approximately. */
const maxSocketPath = 90;

/**
 * An empty folder for sockets: below the directory or, if that path is too long, a new temporary folder with an unpredictable name.
 * Sockets of an earlier start are removed.
 */
async function socketFolder(directory: string): Promise<string> {
  const folder = join(directory, "sockets");
  const note = join(directory, "sockets-folder");
  const before = await readFile(note, "utf8").catch(() => "");
  // Nothing is removed but what mkdtemp made.
  if (/\/purlin-sockets-\w{6}$/.test(before)) await rm(before, { recursive: true, force: true }).catch(() => {});
  await rm(folder, { recursive: true, force: true });
  if (folder.length <= maxSocketPath) return folder;
  const made = await mkdtemp(join(tmpdir(), "purlin-sockets-"));
  await writeFile(note, made, { mode: 0o600 });
  return made;
}

/** Opens the package manager of a machine. */
export async function openPackageManagement(options: PackageManagementOptions): Promise<PackageManagement> {
  const {
    directory,
    processes,
    ownRegistry,
    namespace = defaultNamespace,
    clock = systemClock,
    log = silentLog,
  } = options;
  const store = await openContentStore(join(directory, "images"));
  const roots = openImageRoots(join(directory, "roots"), store, { mounts: mountPoints });
  const pins = await openImagePins(join(directory, "images", "pins.json"));
  const sandbox = options.sandbox ?? (await findSandbox());
  if (sandbox.isSupported && sandbox.notice !== undefined) log.info("sandbox is limited", { reason: sandbox.notice });
  const sockets = await socketFolder(directory);
  // A process that is replaced, because its certificate was renewed, ends when its last lease is released.
  const leases = createRevisionLeases((revision, endpoint) => processes.get(revision)?.acquire(endpoint));

  let found: Promise<EgressSupport> | undefined;
  // Looked for when the first Provider runs.
  const egress = (): Promise<EgressSupport> => (found ??= findEgress(sandbox));

  async function collect({ client }: ControlPlaneDeps, signal: AbortSignal): Promise<void> {
    const unpacked = { roots, used: () => processes.roots() };
    const revisions = await collectImages({ ...collectionLimits, client, store, pins, unpacked, signal });
    const names = new Set(revisions.map(({ metadata }) => metadata.name ?? ""));
    await processes.collectLogs((name) => names.has(name));
  }

  return {
    sandbox,
    store,
    leases,
    async open(parts, signal) {
      await ensureNamespace(parts.kube, namespace, signal);
      const packages = pinFetched(packageClientOf(parts, { store, namespace, ownRegistry }), pins);
      const running = {
        client: parts.client,
        packages,
        store,
        roots,
        processes,
        sandbox,
        platform: platformOfNode(process),
        namespace,
        sockets,
        clock,
      };
      const runtime = createProcessRuntime({ ...running, leases });
      const { providers } = options;
      const host = providers && { ...providers, egress, directory: join(directory, "providers") };
      const controllers = packageControllers(parts, options, {
        packages,
        // Without a host, the runtime of functions reports that Providers do not run here. Changes of processes must not reach it then: a
        // Provider by the name of a function's process is gone, and its process would be stopped.
        runtimes: { Function: runtime, Provider: host ? createProviderRuntime({ ...running, ...host }) : runtime },
        hasRuntime: { Function: true, Provider: host !== undefined },
        sourceState: (name) => processes.get(name)?.state,
        sourcePackage: options.sourcePackage,
      });
      const closing = new AsyncDisposableStack();
      closing.use(collectRegularly((stopping) => collect(parts, stopping), { clock, log }));
      closing.defer(followProcesses(processes, parts.engine));
      if (host) {
        const enqueue = (name: string): void =>
          parts.engine.enqueue(runtimeControllerName(packageTypes.Provider), { name });
        // The account of a revision has its name.
        closing.defer(host.denied.onChange(enqueue));
        closing.defer(processes.onChange(({ name }) => enqueue(name)));
      }
      return { controllers, [Symbol.asyncDispose]: () => closing.disposeAsync() };
    },
  };
}

/** Reconciles a function whenever its process changes; the result ends that. */
function followProcesses(processes: FunctionProcesses, engine: ControlPlaneDeps["engine"]): () => void {
  return processes.onChange(({ name }) => {
    // A process is named after its revision or, if it runs a source file, after its Function.
    for (const controller of [runtimeControllerName, packageControllerName]) {
      engine.enqueue(controller(packageTypes.Function), { name });
    }
  });
}
