// SPDX-License-Identifier: Apache-2.0
import type { Buffer } from "node:buffer";
import { Client, credentials, type ServiceError } from "@grpc/grpc-js";
import {
  create,
  decode,
  encode,
  isJsonObject,
  type JsonObject,
  type ProtocolVersion,
  type RequirementSource,
  type ResourceSelector,
  Resources,
  RunFunctionRequest,
  RunFunctionResponse,
  runFunctionPaths,
  runUntilSettled,
  Schema,
  type SchemaSelector,
} from "@purlin/function-protocol";
import { compareUtf8 } from "@purlin/kube-objects/json";
import { parseApiVersion } from "@purlin/kube-objects/object";
import { builtinSchema } from "@purlin/kube-objects/openapi";
import { type Logger, nopLogger } from "../logging/new-logger.ts";
import { resourceMessage } from "../resource/resource-message.ts";
import { DEFAULT_TTL, type Ttl, toDuration } from "../response/to.ts";
import { CallError, type CallOrigin, createFunctionCall } from "../runtime/function-call.ts";
import { type FunctionHandler, type ServeOptions, toRunFunction } from "../runtime/serve-options.ts";
import { type RunningFunction, start } from "../runtime/start.ts";
import { mustStruct } from "./new-request.ts";

/** The circumstances of a call in a test. */
export interface InvokeOptions {
  /** Default: writes nothing. */
  readonly log?: Logger | undefined;
  /** Default: one minute. */
  readonly ttl?: Ttl | undefined;
  /** Aborted when the caller cancels the call. */
  readonly signal?: AbortSignal | undefined;
  readonly deadline?: Date | undefined;
  /** Default "v1". */
  readonly protocol?: ProtocolVersion | undefined;
  /**
   * The effect of an error that the handler throws. Default "fatal", as when it is served: the response has a FATAL result.
   * With "throw", the error comes out, stack and all.
   */
  readonly onHandlerError?: "fatal" | "throw" | undefined;
}

/**
 * Calls a function in memory, as a control plane would: the request and the response are encoded and decoded on their
 * way, so that nothing passes in a test that would not pass on the wire.
 */
export async function invoke(
  handler: FunctionHandler,
  req: RunFunctionRequest,
  options: InvokeOptions = {},
): Promise<RunFunctionResponse> {
  const ttl = options.ttl === undefined ? DEFAULT_TTL : options.ttl;
  const call = createFunctionCall(toRunFunction(handler), {
    log: options.log ?? nopLogger,
    ttl,
    ttlDuration: toDuration(ttl),
    onHandlerError: options.onHandlerError === "throw" ? "status" : "fatal",
  });
  try {
    return decode(RunFunctionResponse, await call(encode(RunFunctionRequest, req), originOf(options)));
  } catch (error) {
    throw error instanceof CallError ? error.cause : error;
  }
}

function originOf({ protocol = "v1", deadline, signal }: InvokeOptions): CallOrigin {
  return {
    protocol,
    deadline: () => deadline,
    onCancel: (listener) => {
      if (signal?.aborted === true) listener();
      else signal?.addEventListener("abort", listener, { once: true });
    },
  };
}

/** What a control plane in a test knows, and the circumstances of its calls. */
export interface InvokeToStableOptions extends MemorySourceOptions, InvokeOptions {}

/** A settled response and how it came about. */
export interface StableResponse {
  readonly response: RunFunctionResponse;
  /** How often the function was called. */
  readonly calls: number;
  /** What it was called with, in order. */
  readonly requests: readonly RunFunctionRequest[];
}

/**
 * Calls a function until it asks for nothing new, answering its requirements from memory in between, by the very loop
 * the control plane uses. Throws that loop's error when the function never settles.
 */
export async function invokeToStable(
  handler: FunctionHandler,
  req: RunFunctionRequest,
  options: InvokeToStableOptions = {},
): Promise<StableResponse> {
  const { response, requests } = await runUntilSettled(req, {
    run: (request) => invoke(handler, request, options),
    source: createMemorySource(options),
    signal: options.signal,
  });
  return { response, calls: requests.length, requests };
}

/** A function that is served on this machine, and a client for it. */
export interface TestServer extends RunningFunction {
  /** Calls the function over the network. Rejects with the gRPC error when the call fails. */
  call(req: RunFunctionRequest, protocol?: ProtocolVersion): Promise<RunFunctionResponse>;
}

const asIs = (bytes: Buffer): Buffer => bytes;
const largest = 64 * 1024 * 1024;

/** Serves a function in plaintext on a free port of the loopback interface, without metrics. */
export async function startTestServer(handler: FunctionHandler, options: ServeOptions = {}): Promise<TestServer> {
  const defaults = { address: "127.0.0.1:0", insecure: true, metricsAddress: "", log: nopLogger };
  const running = await start(handler, { ...defaults, ...options });
  const client = new Client(running.address, credentials.createInsecure(), {
    "grpc.max_receive_message_length": largest,
    "grpc.use_local_subchannel_pool": 1,
  });
  const stop = async (graceMs?: number): Promise<void> => {
    client.close();
    await running.stop(graceMs);
  };
  return {
    ...running,
    call: (req, protocol = "v1") => unary(client, runFunctionPaths[protocol], req),
    stop,
    [Symbol.asyncDispose]: () => stop(),
  };
}

function unary(client: Client, path: string, req: RunFunctionRequest): Promise<RunFunctionResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<RunFunctionResponse>();
  const done = (error: ServiceError | null, bytes?: Buffer): void => {
    if (error !== null) reject(error);
    else if (bytes === undefined) reject(new Error("the server answered without a message"));
    else resolve(decode(RunFunctionResponse, bytes));
  };
  client.makeUnaryRequest(path, asIs, asIs, encode(RunFunctionRequest, req), done);
  return promise;
}

/** What a control plane in a test knows. */
export interface MemorySourceOptions {
  /** The objects that exist, or a function that selects them. */
  readonly resources?: readonly object[] | ((selector: ResourceSelector) => readonly object[]) | undefined;
  /**
   * Schemas by `apiVersion/Kind`, such as `example.org/v1/App`, or a function that finds them. Built-in kinds that are not
   * among them have the schemas that a control plane answers with; null means that there is no such kind.
   */
  readonly schemas?:
    | Readonly<Record<string, object | null>>
    | ((selector: SchemaSelector) => object | null | undefined)
    | undefined;
}

/** Answers requirements from memory, as a control plane answers them from its cluster. */
export function createMemorySource({ resources = [], schemas = {} }: MemorySourceOptions): RequirementSource {
  const select =
    typeof resources === "function" ? resources : (selector: ResourceSelector) => choose(resources, selector);
  return {
    resources: async (selector) => {
      const items = select(selector).map((object) => resourceMessage(mustStruct(object)));
      return create(Resources, { items });
    },
    schema: async (selector) => {
      const schema = findSchema(schemas, selector);
      return create(Schema, { openapiV3: schema && mustStruct(schema) });
    },
  };
}

function findSchema(
  schemas: NonNullable<MemorySourceOptions["schemas"]>,
  selector: SchemaSelector,
): object | undefined {
  const { apiVersion, kind } = selector;
  const key = `${apiVersion}/${kind}`;
  const table = typeof schemas === "function" ? { [key]: schemas(selector) } : schemas;
  const own = Object.hasOwn(table, key) ? table[key] : undefined;
  if (own === null) return undefined;
  return own ?? builtinSchema({ ...parseApiVersion(apiVersion), kind });
}

function choose(objects: readonly object[], selector: ResourceSelector): object[] {
  const found = objects.filter((object) => matches(object as JsonObject, selector));
  return found.sort((a, b) => compareUtf8(placeOf(a as JsonObject), placeOf(b as JsonObject)));
}

function matches(object: JsonObject, selector: ResourceSelector): boolean {
  if (object["apiVersion"] !== selector.apiVersion || object["kind"] !== selector.kind) return false;
  const { namespace, name, labels } = metadataOf(object);
  if (selector.namespace && namespace !== "" && namespace !== selector.namespace) return false;
  switch (selector.match?.case) {
    case "matchName":
      // By name without a namespace is a cluster-scoped object.
      return name === selector.match.value && (namespace === "" || Boolean(selector.namespace));
    case "matchLabels":
      return [...selector.match.value.labels].every(([key, value]) => labels[key] === value);
    case undefined:
      return true;
  }
}

function metadataOf(object: JsonObject): { namespace: string; name: string; labels: JsonObject } {
  const metadata = isJsonObject(object["metadata"]) ? object["metadata"] : {};
  const { namespace, name, labels } = metadata;
  return {
    namespace: typeof namespace === "string" ? namespace : "",
    name: typeof name === "string" ? name : "",
    labels: isJsonObject(labels) ? labels : {},
  };
}

function placeOf(object: JsonObject): string {
  const { namespace, name } = metadataOf(object);
  return `${namespace}/${name}`;
}
