// SPDX-License-Identifier: Apache-2.0
import type { RunFunctionRequest } from "@purlin/function-protocol";
import { isJsonObject, type JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { identityOf } from "../overlay/live-reads.ts";
import type { PassFunctions } from "./run-pass.ts";

/** Which step of a pipeline last changed each desired resource. */
interface StepRecord {
  /** Functions whose responses are looked at. */
  recording(functions: PassFunctions): PassFunctions;
  /** The step that last changed a resource of a composite resource, by the identity of that. */
  stepOf(composite: string, resource: string): string | undefined;
  /** The functions that ran, by name. */
  functions(): readonly UsedFunction[];
}

/** A function that ran in a preview. */
export interface UsedFunction {
  readonly name: string;
  /** The FunctionRevision, or the Function itself when it runs from a source or at an address of its own. */
  readonly revision: string;
  /** Undefined for a process of the preview itself. */
  readonly endpoint?: string | undefined;
  /** What the user named to run instead. */
  readonly source?: string | undefined;
  /** The package, unless it runs from a source or at an address of its own. */
  readonly image?: string | undefined;
  /** How it was reached, as the caller knows it. */
  readonly route?: string | undefined;
}

/** Makes an empty record. */
export function createStepRecord(): StepRecord {
  const steps = new Map<string, string>();
  const used = new Map<string, UsedFunction>();
  return {
    functions: () => [...used.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    stepOf: (composite, resource) => steps.get(`${composite}\n\n${resource}`),
    recording: (functions) => ({
      ...functions,
      close: () => functions.close(),
      async runStep(reference, request, call) {
        const run = await functions.runStep(reference, request, call);
        const { revisionName, endpoint, packageRef } = run.target;
        const image = packageRef === "" ? {} : { image: packageRef };
        const name = reference.functionName;
        used.set(name, { name, revision: revisionName, endpoint, ...image });
        const composite = compositeOf(request);
        for (const [name, { resource }] of run.response.desired?.resources ?? []) {
          const before = request.desired?.resources.get(name)?.resource;
          const isSame = before !== undefined && JSON.stringify(before.value) === JSON.stringify(resource?.value);
          if (!isSame && composite !== undefined) steps.set(`${composite}\n\n${name}`, reference.step);
        }
        return run;
      },
    }),
  };
}

function compositeOf(request: RunFunctionRequest): string | undefined {
  const object = request.observed?.composite?.resource?.value as JsonValue | undefined;
  return isJsonObject(object) ? identityOf(object as KubeObject) : undefined;
}
