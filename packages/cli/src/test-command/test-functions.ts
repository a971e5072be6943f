// SPDX-License-Identifier: Apache-2.0
import { silentLog, systemClock } from "@purlin/base";
import { createFunctionPlane, defaultControlPlaneSettings } from "@purlin/control-plane";
import type { FunctionSpec } from "@purlin/function-process";
import { developmentAnnotations, honoredDevelopmentOf, type SourceRuntime } from "@purlin/function-runner";
import type { KubeClient } from "@purlin/kube-client";
import type { ControllerClient } from "@purlin/kube-controller";
import { annotationOf, type KubeObject, textAt, withMember } from "@purlin/kube-objects/object";
import type { PassFunctions } from "@purlin/preview";
import { type Sources, startSources } from "../diff/diff-functions.ts";
import { prepareImages } from "../diff/diff-images.ts";
import type { Io } from "../io.ts";
import type { CommandInput } from "../options/command-spec.ts";

const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" } as const;
/** Whose annotations of Functions count. */
export const testManager = "purlin-test";
const trust = { managers: [testManager] };

/** A call that a case waits for. */
export interface PendingCall {
  readonly step: string;
  readonly functionName: string;
}

/** How a case calls functions. */
interface CaseCalls {
  readonly client: ControllerClient;
  readonly server: KubeClient;
  /** The release line of Crossplane to imitate. */
  readonly asCrossplane: string | undefined;
}

/** The functions of all cases: source files and packages run in one process each, started when a case first calls them. */
export interface TestFunctions extends AsyncDisposable {
  open(calls: CaseCalls): PassFunctions;
  /** Ends the process of a function that does not answer. The next call starts another. Resolves to whether there was one. */
  replace(functionName: string): Promise<boolean>;
}

/** A process that does not answer gets little time to end by itself. */
const limits = { graceMs: 500, replacedMs: 0 };

export function openTestFunctions(input: CommandInput, io: Io): TestFunctions {
  const closing = new AsyncDisposableStack();
  let started: Promise<Sources> | undefined;
  const start = (): Promise<Sources> => {
    started ??= startSources(io, closing, { limits });
    return started;
  };
  const images = new Map<string, Promise<FunctionSpec>>();
  const imageOf = (name: string, source: string): Promise<FunctionSpec> => {
    const key = `${name} ${source}`;
    const known = images.get(key) ?? unpacked(name, source, { input, io, opening: closing });
    images.set(key, known);
    return known;
  };
  const settings = { ...defaultControlPlaneSettings, developmentFunctions: true, developmentTrust: trust };
  return {
    open({ client, server, asCrossplane }) {
      const shared = { client: server, settings, clock: systemClock, log: silentLog };
      const running = createFunctionPlane({ ...shared, functions: { security: "plaintext", asCrossplane } }, client);
      let local: PassFunctions | undefined;
      return {
        fetchers: running.fetchers,
        async runStep(reference, request, call) {
          const object = await client.get(functionType, { name: reference.functionName }, { signal: call.signal });
          if (object === undefined || honoredDevelopmentOf(object, trust)?.kind !== "source")
            return running.runStep(reference, request, call);
          const { security, ...sources } = await start();
          const functions = { security, sources: withPackages(sources, imageOf), asCrossplane };
          local ??= createFunctionPlane({ ...shared, functions }, client);
          return local.runStep(reference, request, call);
        },
        close() {
          running.close();
          local?.close();
        },
      };
    },
    async replace(functionName) {
      const processes = (await started)?.processes;
      if (processes?.get(functionName) === undefined) return false;
      void processes.end(functionName);
      return true;
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

async function unpacked(
  name: string,
  source: string,
  deps: Omit<Parameters<typeof prepareImages>[1], "cluster">,
): Promise<FunctionSpec> {
  const specs = await prepareImages([{ name, kind: "image", source }], { ...deps, cluster: undefined });
  const spec = specs.get(name);
  if (spec === undefined) throw new Error(`no package ${source}`);
  return spec;
}

/** Runs source files, and packages: files that end in `.xpkg`, and images. */
function withPackages(
  { runtime, processes }: Pick<Sources, "runtime" | "processes">,
  imageOf: (name: string, source: string) => Promise<FunctionSpec>,
): SourceRuntime {
  return {
    current: (name) => runtime.current(name),
    async serve(name, path, signal) {
      const image = path.startsWith(imagePrefix) ? path.slice(imagePrefix.length) : undefined;
      if (image === undefined && !path.endsWith(".xpkg")) return await runtime.serve(name, path, signal);
      return await processes.run(await imageOf(name, image ?? path)).served(signal);
    },
  };
}

const imagePrefix = "image:";

/** A Function of a test: one that says neither where its source is nor where it runs is run from its package. */
export function asTestFunction(object: KubeObject): KubeObject {
  const { source, runtime } = developmentAnnotations;
  const image = textAt(object, ["spec", "package"]);
  const isPackage = [source, runtime].every((name) => annotationOf(object, name) === undefined);
  if (object.kind !== "Function" || image === undefined || !isPackage) return object;
  return withMember(object, ["metadata", "annotations", source], `${imagePrefix}${image}`);
}
