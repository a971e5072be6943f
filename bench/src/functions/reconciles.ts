// SPDX-License-Identifier: Apache-2.0
import { create, type JsonObject, Resource, State } from "@purlin/function-protocol";
import {
  buildRequest,
  createDiallingRunner,
  createResourceFetcher,
  type DiallingRunner,
  type FunctionTarget,
  firstState,
  noSchemas,
  objectsReader,
  observedStruct,
  type StepState,
  secretsFrom,
  settleRequirements,
} from "@purlin/function-runner";

/** The snapshot a reconcile takes: objects as an informer's cache hands them out, the same until they change. */
export interface Snapshot {
  readonly composite: JsonObject;
  readonly composed: ReadonlyMap<string, JsonObject>;
}

/** Reconciles as a control plane would, as far as functions are concerned. */
export interface Reconciler extends Disposable {
  /** Runs all steps of a pipeline on one function and gives the final state. */
  readonly reconcile: (snapshot: Snapshot, steps: number) => Promise<StepState>;
}

/** Reconciles with a function that serves plaintext on a port. */
export function createReconciler(port: number): Reconciler {
  const dial = createDiallingRunner({ security: "plaintext" });
  const reconcile = reconcileWith(dial, `localhost:${port}`);
  return { reconcile, [Symbol.dispose]: () => dial.close() };
}

/** What a reconcile does, over a runner with connections. Each endpoint has one of its own. */
export function reconcileWith(dial: DiallingRunner, endpoint: string): Reconciler["reconcile"] {
  const reader = objectsReader([]);
  const fetchers = { resources: createResourceFetcher(reader), schema: noSchemas };
  const sources = { ...fetchers, secrets: secretsFrom(reader) };
  const runner = settleRequirements(dial, fetchers);
  const target: FunctionTarget = {
    functionName: "bench",
    revisionName: `bench-${endpoint}`,
    packageRef: "",
    endpoint,
    revision: 1,
  };
  return async (snapshot, steps) => {
    const { observed, ...first } = firstState(observedState(snapshot));
    let state: StepState = { observed, ...first };
    for (let index = 0; index < steps; index++) {
      const name = `step-${index}`;
      const request = await buildRequest({ step: name, input: { step: name } }, state, sources);
      const { desired, context } = await runner.run(target, request, { deadline: Date.now() + 60_000 });
      state = { observed, desired, context };
    }
    return state;
  };
}

function observedState({ composite, composed }: Snapshot): State {
  const resources = new Map([...composed].map(([name, object]) => [name, toResource(object)]));
  return create(State, { composite: toResource(composite), resources });
}

function toResource(object: JsonObject): Resource {
  return create(Resource, { resource: observedStruct(object) });
}
