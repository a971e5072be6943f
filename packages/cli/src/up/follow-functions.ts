// SPDX-License-Identifier: Apache-2.0

import { type FunctionProcesses, type SourceOptions, sourceSpec } from "@purlin/function-process";
import { type DevelopmentTrust, honoredDevelopmentOf } from "@purlin/function-runner";
import { type Informer, type KubeReader, startInformer } from "@purlin/kube-client";
import type { KubeObject } from "@purlin/kube-objects/object";
import { manifestManager } from "../manifests/apply-manifests.ts";

/** The type of Functions. */
export const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" } as const;

/** Only files that the operator applies may run a program of this machine, or send calls to another program. */
export const upTrust: DevelopmentTrust = { managers: [manifestManager] };

/**
 * Starts the source file of a Function as soon as there is one, so that it is warm and its mistakes are seen before
 * anything is composed with it, and ends it with its Function.
 */
export function followFunctions(client: KubeReader, processes: FunctionProcesses, options: SourceOptions): Informer {
  const informer = startInformer(client, functionType);
  // A Function may have the name of a FunctionRevision, whose process is not stopped with it.
  const started = new Set<string>();
  informer.subscribe(({ type, object }) => {
    const name = object.metadata.name ?? "";
    const source = type === "deleted" ? undefined : sourceOf(object);
    if (source !== undefined) {
      started.add(name);
      processes.run(sourceSpec(name, source, options));
    } else if (started.delete(name)) {
      void processes.stop(name);
    }
  });
  return informer;
}

function sourceOf(object: KubeObject): string | undefined {
  const development = honoredDevelopmentOf(object, upTrust);
  return development?.kind === "source" ? development.path : undefined;
}
