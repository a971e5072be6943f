// SPDX-License-Identifier: Apache-2.0
import { silentLog, systemClock } from "@purlin/base";
import { createFunctionPlane, defaultControlPlaneSettings } from "@purlin/control-plane";
import { honoredDevelopmentOf } from "@purlin/function-runner";
import type { KubeClient } from "@purlin/kube-client";
import type { ControllerClient } from "@purlin/kube-controller";
import type { PassFunctions } from "@purlin/preview";
import { type Sources, startSources } from "../diff/diff-functions.ts";
import type { Io } from "../io.ts";
import { testManager } from "./run-case.ts";

const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" } as const;

/** The functions of all cases: source files run in one process each, started when a case first calls them. */
export interface TestFunctions extends AsyncDisposable {
  open(client: ControllerClient, server: KubeClient): PassFunctions;
}

export function openTestFunctions(io: Io): TestFunctions {
  const closing = new AsyncDisposableStack();
  let started: Promise<Sources> | undefined;
  const trust = { managers: [testManager] };
  const settings = { ...defaultControlPlaneSettings, developmentFunctions: true, developmentTrust: trust };
  return {
    open(client, server) {
      const shared = { client: server, settings, clock: systemClock, log: silentLog };
      const running = createFunctionPlane({ ...shared, functions: { security: "plaintext" } }, client);
      let local: PassFunctions | undefined;
      return {
        fetchers: running.fetchers,
        async runStep(reference, request, call) {
          const object = await client.get(functionType, { name: reference.functionName }, { signal: call.signal });
          if (object === undefined || honoredDevelopmentOf(object, trust)?.kind !== "source")
            return running.runStep(reference, request, call);
          started ??= startSources(io, closing);
          const { security, runtime } = await started;
          local ??= createFunctionPlane({ ...shared, functions: { security, sources: runtime } }, client);
          return local.runStep(reference, request, call);
        },
        close() {
          running.close();
          local?.close();
        },
      };
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}
