// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import type { ContentStore } from "@purlin/oci";
import { type BuiltImage, openImageRoots, parseImageConfig, runtimeLabel } from "@purlin/oci";
import type { SandboxSupport } from "../sandbox/find-sandbox.ts";
import { mountPoints } from "../sandbox/sandbox-arguments.ts";
import type { FunctionSpec } from "./function-process.ts";
import { createFunctionProcesses } from "./function-processes.ts";

/** An image to try, and where. */
export interface ImageTrial {
  readonly store: ContentStore;
  readonly image: Pick<BuiltImage, "manifest" | "descriptor">;
  /** The name of its function. */
  readonly name: string;
  /** An empty folder; the caller removes it. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sandbox: SandboxSupport;
  /** How long it may take to answer. */
  readonly startMs: number;
}

/** Why a function does not start, and the last lines that it wrote. */
export interface StartFailure {
  readonly problem: string;
  readonly lines: readonly string[];
}

const lastLines = 20;

/** How to run the function of an image: unpacks it, and makes a process of its configuration. */
export async function imageSpec(
  trial: Pick<ImageTrial, "store" | "image" | "name" | "directory" | "sandbox">,
  more: { readonly env?: Readonly<Record<string, string>>; readonly args?: readonly string[] } = {},
): Promise<FunctionSpec> {
  const { store, image, name, directory, sandbox } = trial;
  const roots = openImageRoots(join(directory, "roots"), store, { mounts: mountPoints });
  const root = await roots.rootOf({ manifest: image.manifest, manifestDigest: image.descriptor.digest });
  const config = parseImageConfig(await store.read(image.manifest.config), name);
  const { cmd } = config.process;
  return {
    name,
    cwd: "/",
    program: {
      kind: "image",
      root,
      process: { ...config.process, cmd: more.args ?? cmd },
      needsNode: config.labels[runtimeLabel] === "node",
      env: { ...more.env, FUNCTION_NAME: name, REVISION_NAME: name, REVISION_UID: "" },
      sandbox: sandbox.isSupported ? sandbox : undefined,
      network: sandbox.isSupported ? undefined : sandbox.network,
      socket: join(directory, `socket-${name}`.slice(0, 40)),
    },
  };
}

/** Starts the function of an image as a control plane on this machine would, and stops it. Undefined when it answered. */
export async function tryImage(trial: ImageTrial): Promise<StartFailure | undefined> {
  const { directory, env, startMs } = trial;
  const spec = await imageSpec(trial);
  await using processes = createFunctionProcesses({ directory, env, limits: { startMs, graceMs: 1_000 } });
  const running = processes.run(spec);
  await running.settled();
  const { state } = running;
  if (state.phase !== "failed") return undefined;
  return { problem: state.problem, lines: running.logs().slice(-lastLines) };
}
