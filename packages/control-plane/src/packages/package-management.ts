// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import type { KubeObject, TypeRef } from "@purlin/kube-client";
import { type Clock, type Log, silentLog, systemClock, type WatchingController } from "@purlin/kube-controller";
import {
  type ContentStore,
  createPackageClient,
  createPackageControllers,
  createProcessRuntime,
  createRegistryClient,
  type FunctionProcesses,
  findSandbox,
  mountPoints,
  openContentStore,
  openImageRoots,
  packageTypes,
  platformOfNode,
  runtimeControllerName,
  type SandboxSupport,
} from "@purlin/package-manager";
import type { ControlPlaneParts } from "../control-plane.ts";
import { revisionsInUse } from "./revisions-in-use.ts";

/** How packages are managed on one machine. */
export interface PackageManagementOptions {
  /** Images and unpacked roots go here. */
  readonly directory: string;
  readonly processes: FunctionProcesses;
  readonly functionRevisionSelectors: boolean;
  /** Whether Functions may be run where their annotations say, without a package; not unless given. */
  readonly developmentFunctions?: boolean | undefined;
  /** Where pull secrets and certificates are. */
  readonly namespace?: string | undefined;
  readonly clock?: Clock | undefined;
  readonly log?: Log | undefined;
  /** Whether functions are shut in; looked up unless given. */
  readonly sandbox?: SandboxSupport | undefined;
}

/** The package manager of one machine: packages from any registry, functions as child processes. */
export interface PackageManagement {
  readonly sandbox: SandboxSupport;
  readonly store: ContentStore;
  /** The controllers, for a control plane that is being started. */
  controllers(parts: ControlPlaneParts): readonly WatchingController[];
  /** To be called whenever the process of a function changes. */
  functionChanged(name: string): void;
}

/** What packages are told they run on: they may ask for at least this. */
const crossplaneVersion = "v2.4.0";
const defaultNamespace = "crossplane-system";

/** Systems refuse sockets whose path is longer than about this. */
const maxSocketPath = 90;

/** Where sockets are: with everything else, or in a folder of this user's own where that path would be too long. */
function socketFolder(directory: string): string {
  const folder = join(directory, "sockets");
  if (folder.length <= maxSocketPath) return folder;
  const id = createHash("sha256").update(directory).digest("hex").slice(0, 12);
  return join(tmpdir(), `purlin-${userInfo().uid}-${id}`);
}

/** Opens the package manager of a machine. */
export async function openPackageManagement(options: PackageManagementOptions): Promise<PackageManagement> {
  const { directory, processes, namespace = defaultNamespace, clock = systemClock, log = silentLog } = options;
  const store = await openContentStore(join(directory, "images"));
  const roots = openImageRoots(join(directory, "roots"), store, { mounts: mountPoints });
  const sandbox = options.sandbox ?? (await findSandbox());
  let engine: ControlPlaneParts["engine"] | undefined;

  function controllers(parts: ControlPlaneParts): readonly WatchingController[] {
    const { client, events, informers } = parts;
    engine = parts.engine;
    const packages = createPackageClient({
      client,
      store,
      namespace,
      registryClient: (credentials) => createRegistryClient({ credentials }),
    });
    const platform = platformOfNode(process);
    const sockets = socketFolder(directory);
    const runtime = createProcessRuntime({
      client,
      packages,
      store,
      roots,
      processes,
      sandbox,
      platform,
      namespace,
      sockets,
    });
    return createPackageControllers({
      client,
      events,
      packages,
      clock,
      log,
      namespace,
      crossplaneVersion,
      features: {
        functionRevisionSelectors: options.functionRevisionSelectors,
        developmentFunctions: options.developmentFunctions ?? false,
      },
      hasRuntime: { Function: true, Provider: false },
      revisionsInUse: (revisions, signal) => revisionsInUse(client, revisions, signal),
      resolver: { allowUpgrades: false, allowDowngrades: false },
      runtime,
      cached: (type: TypeRef): readonly KubeObject[] => informers.peek(type)?.list() ?? [],
    });
  }

  return {
    sandbox,
    store,
    controllers,
    functionChanged: (name) => engine?.enqueue(runtimeControllerName(packageTypes.Function), { name }),
  };
}
