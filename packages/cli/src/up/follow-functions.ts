// SPDX-License-Identifier: Apache-2.0
import { resolve } from "node:path";
import { developmentOf } from "@purlin/function-runner";
import { type Informer, type KubeObject, type KubeReader, startInformer } from "@purlin/kube-client";
import type { JsonObject } from "@purlin/kube-objects";
import type { FunctionProcesses } from "@purlin/package-manager";

/** The type of Functions. */
export const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" } as const;

/**
 * Starts the source file of a Function as soon as there is one, so that it is warm and its mistakes are seen before
 * anything is composed with it, and ends it with its Function.
 */
export function followFunctions(client: KubeReader, processes: FunctionProcesses, cwd: string): Informer {
  const informer = startInformer(client, functionType);
  informer.subscribe(({ type, object }) => {
    const name = object.metadata.name ?? "";
    const source = type === "deleted" ? undefined : sourceOf(object);
    if (source === undefined) void processes.stop(name);
    else processes.run({ name, cwd, program: { kind: "source", file: resolve(cwd, source) } });
  });
  return informer;
}

function sourceOf(object: KubeObject): string | undefined {
  const development = developmentOf(object as unknown as JsonObject);
  return development?.kind === "source" ? development.path : undefined;
}
