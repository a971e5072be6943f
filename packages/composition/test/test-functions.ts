// SPDX-License-Identifier: Apache-2.0
import {
  Condition,
  create,
  Duration,
  Requirements,
  Resource,
  type ResourceSelector,
  ResponseMeta,
  Result,
  type RunFunctionRequest,
  RunFunctionResponse,
  Severity,
  State,
  Status,
  Struct,
  Target,
} from "@purlin/function-protocol";
import {
  createStepRunner,
  type FunctionRunner,
  type FunctionTarget,
  type RequirementFetchers,
  type RunStep,
  settleRequirements,
} from "@purlin/function-runner";
import type { JsonObject } from "@purlin/kube-objects/json";

/** What a function of a test answers to a request. */
export type TestFunction = (request: RunFunctionRequest) => RunFunctionResponse | Promise<RunFunctionResponse>;

/** A response in few words. */
export interface ResponseWish {
  /** By name in the pipeline. */
  readonly resources?: Readonly<Record<string, JsonObject>> | undefined;
  /** Which of the resources are ready. */
  readonly ready?: readonly string[] | undefined;
  readonly status?: JsonObject | undefined;
  readonly composite?: JsonObject | undefined;
  readonly compositeReady?: number | undefined;
  readonly connection?: Readonly<Record<string, string>> | undefined;
  readonly results?: readonly Partial<Result>[] | undefined;
  readonly conditions?: readonly Partial<Condition>[] | undefined;
  readonly ttlSeconds?: number | undefined;
  readonly context?: JsonObject | undefined;
  readonly requires?: Readonly<Record<string, ResourceSelector>> | undefined;
  readonly extraRequires?: Readonly<Record<string, ResourceSelector>> | undefined;
  readonly output?: JsonObject | undefined;
  /** Answer without any desired state. */
  readonly nothingDesired?: boolean | undefined;
}

/** A response that continues from the request's desired state and context. */
export function respond(request: RunFunctionRequest, wish: ResponseWish = {}): RunFunctionResponse {
  const { ttlSeconds, results = [], conditions = [], context } = wish;
  const ttl = ttlSeconds === undefined ? undefined : create(Duration, { seconds: BigInt(ttlSeconds) });
  return create(RunFunctionResponse, {
    meta: create(ResponseMeta, { tag: request.meta?.tag ?? "", ttl }),
    desired: wish.nothingDesired ? undefined : desiredOf(request, wish),
    context: context === undefined ? request.context : Struct.from(context),
    results: results.map((result) => create(Result, result)),
    output: wish.output && Struct.from(wish.output),
    conditions: conditions.map((condition) => create(Condition, condition)),
    requirements:
      wish.requires || wish.extraRequires
        ? create(Requirements, {
            resources: new Map(Object.entries(wish.requires ?? {})),
            extraResources: new Map(Object.entries(wish.extraRequires ?? {})),
          })
        : undefined,
  });
}

function desiredOf({ desired }: RunFunctionRequest, wish: ResponseWish): State {
  const { resources = {}, ready = [], connection = {} } = wish;
  const added = Object.entries(resources).map(([name, object]) => {
    const value = create(Resource, { resource: Struct.from(object), ready: ready.includes(name) ? 1 : 0 });
    return [name, value] as const;
  });
  const composite = wish.composite ?? (wish.status && { status: wish.status });
  const said = composite ?? wish.compositeReady ?? wish.connection;
  return create(State, {
    composite:
      said === undefined
        ? desired?.composite
        : create(Resource, {
            ...(composite && { resource: Struct.from(composite) }),
            ready: wish.compositeReady ?? 0,
            connectionDetails: new Map(Object.entries(connection).map(([key, text]) => [key, Buffer.from(text)])),
          }),
    resources: new Map([...(desired?.resources ?? []), ...added]),
  });
}

/** Functions by name, run through the real requirements loop without a network in between. */
export interface TestFunctions {
  readonly runStep: RunStep;
  /** Every request, in order, with the function it went to. */
  readonly calls: { readonly name: string; readonly request: RunFunctionRequest }[];
  set(name: string, handler: TestFunction | ResponseWish): void;
}

/** Makes a set of functions. One that is not there cannot be reached. */
export function createTestFunctions(fetchers: RequirementFetchers): TestFunctions {
  const handlers = new Map<string, TestFunction>();
  const calls: { name: string; request: RunFunctionRequest }[] = [];
  const runner: FunctionRunner = {
    async run({ functionName }, request) {
      calls.push({ name: functionName, request });
      const handler = handlers.get(functionName);
      if (handler === undefined) throw new Error(`cannot run Function "${functionName}": connection refused`);
      return handler(request);
    },
  };
  const resolver = {
    resolve: async ({ functionName }: { readonly functionName: string }): Promise<FunctionTarget> => ({
      functionName,
      revisionName: `${functionName}-r1`,
      packageRef: "",
      endpoint: "memory",
      revision: 1,
    }),
  };
  return {
    runStep: createStepRunner(resolver, settleRequirements(runner, fetchers)),
    calls,
    set(name, handler) {
      handlers.set(name, typeof handler === "function" ? handler : (request) => respond(request, handler));
    },
  };
}

/** Marks every desired resource that was observed as ready, as function-auto-ready does. */
export const autoReady: TestFunction = (request) => {
  const { observed, desired } = request;
  const resources = [...(desired?.resources ?? [])].map(
    ([name, resource]) => [name, observed?.resources.has(name) ? { ...resource, ready: 1 } : resource] as const,
  );
  return create(RunFunctionResponse, {
    meta: create(ResponseMeta, { tag: request.meta?.tag ?? "" }),
    desired: create(State, { composite: desired?.composite, resources: new Map(resources) }),
    context: request.context,
  });
};

export const fatal: Severity = Severity.SEVERITY_FATAL;
export const warning: Severity = Severity.SEVERITY_WARNING;
export const normal: Severity = Severity.SEVERITY_NORMAL;
export const forClaim: Target = Target.TARGET_COMPOSITE_AND_CLAIM;
export const conditionTrue: Status = Status.STATUS_CONDITION_TRUE;
export const conditionFalse: Status = Status.STATUS_CONDITION_FALSE;
