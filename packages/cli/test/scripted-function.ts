// SPDX-License-Identifier: Apache-2.0
import {
  Condition,
  create,
  type FunctionHandler,
  fromJson,
  type JsonObject,
  Ready,
  Resource,
  Result,
  type RunFunctionRequest,
  request,
  response,
  State,
  Struct,
} from "@purlin/function-sdk";

/** What a step of a pipeline answers with: its input says it. */
export interface Script {
  /** The desired composite resource. */
  readonly composite?: JsonObject;
  readonly compositeReady?: Ready;
  /** Desired composed resources by resource name. */
  readonly resources?: Readonly<Record<string, JsonObject>>;
  /** The resource names of those that are ready. */
  readonly ready?: readonly string[];
  readonly conditions?: readonly JsonObject[];
  readonly results?: readonly JsonObject[];
  /** Whether the desired status lists the resource names of what is observed. */
  readonly listObserved?: boolean;
  readonly output?: JsonObject;
  /** Keys that are added to the context. */
  readonly context?: JsonObject;
  /** Whether the output says which objects and credentials the function was given. */
  readonly listGiven?: boolean;
}

/** A function that answers with what its input says. */
export const scriptedFunction: FunctionHandler = (req, ctx) => {
  const rsp = ctx.to(req);
  const script = (request.getInput(req) ?? {}) as Script;
  const desired = rsp.desired ?? create(State);
  rsp.desired = desired;
  const observed = [...(req.observed?.resources.keys() ?? [])].sort();
  const composite = script.listObserved ? { status: { observed } } : script.composite;
  if (composite !== undefined || script.compositeReady !== undefined) {
    const ready = script.compositeReady ?? Ready.READY_UNSPECIFIED;
    desired.composite = create(Resource, { resource: composite && Struct.from(composite), ready });
  }
  for (const [name, object] of Object.entries(script.resources ?? {})) {
    const ready = script.ready?.includes(name) ? Ready.READY_TRUE : Ready.READY_UNSPECIFIED;
    desired.resources.set(name, create(Resource, { resource: Struct.from(object), ready }));
  }
  const output = script.listGiven ? givenTo(req) : script.output;
  if (output !== undefined) rsp.output = Struct.from(output);
  for (const [key, value] of Object.entries(script.context ?? {})) response.setContextKey(rsp, key, value);
  rsp.conditions.push(...(script.conditions ?? []).map((condition) => fromJson(Condition, condition)));
  rsp.results.push(...(script.results ?? []).map((result) => fromJson(Result, result)));
  return rsp;
};

function givenTo(req: RunFunctionRequest): JsonObject {
  const required = [...req.requiredResources].map(([name, { items }]) => [
    name,
    items.map(({ resource }) => resource?.value["metadata"] ?? {}),
  ]);
  const credentials = [...req.credentials].map(([name, { source }]) => [
    name,
    source?.case === "credentialData" ? [...source.value.data.keys()].sort() : [],
  ]);
  return { required: Object.fromEntries(required), credentials: Object.fromEntries(credentials) };
}
