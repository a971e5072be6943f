// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { systemClock } from "@purlin/kube-controller";
import {
  type ContentStore,
  createProcessRuntime,
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
import {
  defaultNamespace,
  type PackageManager,
  type PackageSettings,
  packageClientOf,
  packageControllers,
} from "./package-manager-parts.ts";

/** How packages are managed on one machine. */
export interface PackageManagementOptions extends PackageSettings {
  /** Images and unpacked roots go here. */
  readonly directory: string;
  readonly processes: FunctionProcesses;
  /** Whether functions are shut in; looked up unless given. */
  readonly sandbox?: SandboxSupport | undefined;
}

/** The package manager of one machine: packages from any registry, functions as child processes. */
export interface PackageManagement extends PackageManager {
  readonly sandbox: SandboxSupport;
  readonly store: ContentStore;
  /** To be called whenever the process of a function changes. */
  functionChanged(name: string): void;
}

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
  const { directory, processes, namespace = defaultNamespace } = options;
  const store = await openContentStore(join(directory, "images"));
  const roots = openImageRoots(join(directory, "roots"), store, { mounts: mountPoints });
  const sandbox = options.sandbox ?? (await findSandbox());
  let engine: ControlPlaneParts["engine"] | undefined;
  return {
    sandbox,
    store,
    async open(parts) {
      engine = parts.engine;
      const packages = packageClientOf(parts, { store, namespace });
      const runtime = createProcessRuntime({
        client: parts.client,
        packages,
        store,
        roots,
        processes,
        sandbox,
        platform: platformOfNode(process),
        namespace,
        sockets: socketFolder(directory),
        clock: options.clock ?? systemClock,
        isInUse: parts.isInUse,
      });
      const controllers = packageControllers(parts, options, {
        packages,
        // A Provider is told that it runs on a cluster.
        runtimes: { Function: runtime, Provider: runtime },
        hasRuntime: { Function: true, Provider: false },
      });
      return { controllers, async [Symbol.asyncDispose]() {} };
    },
    functionChanged: (name) => engine?.enqueue(runtimeControllerName(packageTypes.Function), { name }),
  };
}
