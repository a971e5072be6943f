// SPDX-License-Identifier: Apache-2.0
// What tests put in the place of real parts: functions in this process, and clients that fail.
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
import type { ControllerClient } from "@purlin/kube-controller";
import { StatusError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject, ObjectKey, TypeRef } from "@purlin/kube-objects/object";

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

/** One call of a client, before it is made. */
export interface ClientCall {
  readonly method: "get" | "list" | "live get" | "create" | "update" | "patch" | "apply" | "delete";
  readonly kind: string;
  readonly name: string;
  readonly subresource: string;
}

/** Throws to make a call fail; what it returns does not matter. */
export type Intercept = (call: ClientCall) => void | Promise<void>;

/** A client that asks before each call. Applies that would change nothing are asked about as well. */
export function intercepted(client: ControllerClient, intercept: Intercept): ControllerClient {
  const ask = async (
    method: ClientCall["method"],
    type: TypeRef,
    key: Partial<ObjectKey>,
    options?: { readonly subresource?: string | undefined },
  ): Promise<void> =>
    intercept({ method, kind: type.kind, name: key.name ?? "", subresource: options?.subresource ?? "" });
  const named = ({ metadata }: KubeObject): Partial<ObjectKey> => ({ name: metadata.name ?? "" });
  return {
    ...client,
    live: {
      ...client.live,
      async get(type, key, options) {
        await ask("live get", type, key);
        return client.live.get(type, key, options);
      },
    },
    async get(type, key, options) {
      await ask("get", type, key);
      return client.get(type, key, options);
    },
    async list(type, options) {
      await ask("list", type, {});
      return client.list(type, options);
    },
    async create(object, options) {
      await ask("create", object, named(object), options);
      return client.create(object, options);
    },
    async update(object, options) {
      await ask("update", object, named(object), options);
      return client.update(object, options);
    },
    async patch(type, patch, options) {
      await ask("patch", type, type, options);
      return client.patch(type, patch, options);
    },
    async applyIfChanged(object, options) {
      await ask("apply", object, named(object), options);
      return client.applyIfChanged(object, options);
    },
    async delete(type, options) {
      await ask("delete", type, type);
      return client.delete(type, options);
    },
  };
}

/** A client whose lists and reads of a kind are never answered; an abort ends them. `onAsked` is called for each. */
export function silentAbout(kind: string, client: ControllerClient, onAsked: () => void): ControllerClient {
  const never = (signal: AbortSignal | undefined): Promise<never> => {
    const { promise, reject } = Promise.withResolvers<never>();
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    onAsked();
    return promise;
  };
  return {
    ...client,
    get: (type, key, options) => (type.kind === kind ? never(options?.signal) : client.get(type, key, options)),
    list: (type, options) => (type.kind === kind ? never(options?.signal) : client.list(type, options)),
  };
}

class Crash extends Error {}

/** The client of a control plane that dies before, or right after, its write number `at`. */
export function mortalClient(
  client: ControllerClient,
  at: number,
  when: "before" | "after",
): { readonly client: ControllerClient; readonly writes: () => number } {
  let writes = 0;
  let dead = false;
  const alive = (): void => {
    if (dead) throw new Crash("dead");
  };
  const live = intercepted(client, alive);
  const strike = async <T>(write: () => Promise<T>): Promise<T> => {
    alive();
    if (writes++ === at && when === "before") {
      dead = true;
      throw new Crash("dead");
    }
    const result = await write();
    if (writes - 1 === at && when === "after") {
      dead = true;
      throw new Crash("dead");
    }
    return result;
  };
  return {
    writes: () => writes,
    client: {
      ...live,
      create: (...args: Parameters<typeof live.create>) => strike(() => live.create(...args)),
      update: (...args: Parameters<typeof live.update>) => strike(() => live.update(...args)),
      patch: (...args: Parameters<typeof live.patch>) => strike(() => live.patch(...args)),
      delete: (...args: Parameters<typeof live.delete>) => strike(() => live.delete(...args)),
      apply: (...args: Parameters<typeof live.apply>) => strike(() => live.apply(...args)),
      applyIfChanged: (...args: Parameters<typeof live.applyIfChanged>) => strike(() => live.applyIfChanged(...args)),
    },
  };
}

/** The reason of an API server's refusal. */
export function refusal(message = "no"): StatusError {
  return new StatusError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    reason: "Forbidden",
    code: 403,
    message,
  });
}
