// SPDX-License-Identifier: Apache-2.0
// The part of a control plane that runs functions: our runner over a handful of objects in memory.
import { create, Resource, type RunFunctionRequest, type RunFunctionResponse, State } from "@purlin/function-protocol";
import {
  buildRequest,
  createDiallingRunner,
  createResourceFetcher,
  createSchemaFetcher,
  type DialOptions,
  type FunctionRunner,
  firstState,
  objectsReader,
  observedStruct,
  openAPIDocuments,
  type RunCall,
  type StepDefinition,
  type StepState,
  secretsFrom,
  settleRequirements,
} from "@purlin/function-runner";

const configMap = (name: string, data: object, labels: object = {}): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "team-blue", labels },
  data,
});

/** What functions may ask for. */
const objects = [
  configMap("app-config", { image: "shop:1", overrides: "app-overrides" }),
  configMap("app-overrides", { image: "shop:2" }),
  configMap("plain-config", { image: "shop:1" }),
  configMap("zeta", {}, { tier: "backend" }),
  configMap("alpha", {}, { tier: "backend" }),
  configMap("front", {}, { tier: "frontend" }),
  { apiVersion: "v1", kind: "Secret", metadata: { name: "registry", namespace: "system" }, data: { user: "cm9ib3Q=" } },
];

const composite = {
  apiVersion: "example.org/v1",
  kind: "Storefront",
  metadata: { name: "shop", namespace: "team-blue" },
  spec: { replicas: 3 },
};

const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "shop-x7k2p", namespace: "team-blue" },
  status: { conditions: [{ type: "Available", status: "True" }] },
};

/** What a pipeline starts from: an XR with one composed resource that is available. */
export function startingState(): StepState {
  const resource = (object: object): Resource => create(Resource, { resource: observedStruct(Object.freeze(object)) });
  const resources = new Map([["deployment", resource(deployment)]]);
  return firstState(create(State, { composite: resource(composite), resources }));
}

/** A step as a Composition would declare it. */
export function step(name: string, config: string): StepDefinition {
  const secretRef = { namespace: "system", name: "registry" };
  return {
    step: name,
    input: { apiVersion: "interop.example.org/v1", kind: "Input", step: name, config },
    credentials: [{ name: "registry", source: "Secret", secretRef }],
  };
}

/** One settled step, and every request the function was sent until then. */
export interface StepRun {
  readonly response: RunFunctionResponse;
  readonly requests: readonly RunFunctionRequest[];
}

export interface ControlPlane extends Disposable {
  /** Runs a step of a pipeline on the function that listens on a port. */
  readonly run: (port: number, definition: StepDefinition, state: StepState) => Promise<StepRun>;
  /** Calls a function once, without answering its requirements. */
  readonly callOnce: (
    port: number,
    request: RunFunctionRequest,
    call?: Partial<RunCall>,
  ) => Promise<RunFunctionResponse>;
}

export interface ControlPlaneOptions extends DialOptions {
  /** Wraps the runner that calls functions, inside the requirements loop. */
  readonly inside?: (runner: FunctionRunner) => FunctionRunner;
}

export function createControlPlane({ inside = (runner) => runner, ...options }: ControlPlaneOptions): ControlPlane {
  const reader = objectsReader(objects);
  const fetchers = {
    resources: createResourceFetcher(reader),
    schema: createSchemaFetcher(openAPIDocuments()).schema,
  };
  const dial = createDiallingRunner(options);
  const inner = inside(dial);
  return {
    async run(port, definition, state) {
      const requests: RunFunctionRequest[] = [];
      const recorded: FunctionRunner = {
        run(target, request, call) {
          requests.push(request);
          return inner.run(target, request, call);
        },
      };
      const request = await buildRequest(definition, state, { ...fetchers, secrets: secretsFrom(reader) });
      const runner = settleRequirements(recorded, fetchers);
      return { response: await runner.run(targetAt(port), request, callNow()), requests };
    },
    callOnce: (port, request, call) => inner.run(targetAt(port), request, { ...callNow(), ...call }),
    [Symbol.dispose]: () => dial.close(),
  };
}

function targetAt(port: number) {
  const functionName = `function-${port}`;
  return { functionName, revisionName: functionName, packageRef: "", endpoint: `localhost:${port}`, revision: 1 };
}

function callNow(): RunCall {
  return { deadline: Date.now() + 60_000 };
}
