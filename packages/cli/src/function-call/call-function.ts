// SPDX-License-Identifier: Apache-2.0
import {
  allCapabilities,
  create,
  fromJson,
  isJsonObject,
  isProtocolError,
  RequestMeta,
  Resource,
  RunFunctionRequest,
  type RunFunctionResponse,
  State,
  Struct,
} from "@purlin/function-protocol";
import {
  asCrossplane,
  type CrossplaneLine,
  createDiallingRunner,
  type FunctionRunner,
  type FunctionTarget,
  type RequirementFetchers,
  requestTag,
  settleRequirements,
  type TlsSource,
} from "@purlin/function-runner";
import { invalidField } from "../files/read-objects.ts";
import { readText } from "../files/read-text.ts";
import { parseYaml, type YamlDocument } from "../files/yaml-file.ts";
import { parseFieldPath } from "../files/yaml-position.ts";
import type { Io } from "../io.ts";
import { UserError } from "../user-error.ts";
import type { Target } from "./probe-target.ts";

/** One call of one function, through the runner a control plane uses. */
interface FunctionCall {
  readonly target: Target;
  readonly security: TlsSource | "plaintext";
  readonly request: RunFunctionRequest;
  readonly fetchers: RequirementFetchers;
  /** A release line whose runner to imitate; undefined for our own. */
  readonly asCrossplane: CrossplaneLine | undefined;
  /** Milliseconds since the epoch. */
  readonly deadline: number;
  readonly signal: AbortSignal;
}

/** What the function was sent and what it answered, in one round of the requirements loop. */
export interface Round {
  readonly request: RunFunctionRequest;
  readonly response: RunFunctionResponse;
}

/** The settled response, and the rounds that led to it. */
export interface CallOutcome {
  readonly response: RunFunctionResponse;
  readonly rounds: readonly Round[];
}

/** Calls a function until it settles. Rejects with the runner's error, which is one line that names what failed. */
export async function callFunction(call: FunctionCall): Promise<CallOutcome> {
  const dialling = createDiallingRunner({ security: call.security });
  const rounds: Round[] = [];
  const recorded = recordRounds(dialling, rounds);
  const masked = call.asCrossplane === undefined ? recorded : asCrossplane(recorded, call.asCrossplane);
  const runner = settleRequirements(masked, call.fetchers);
  try {
    const { deadline, signal } = call;
    const response = await runner.run(functionTarget(call.target), withMeta(call.request), { deadline, signal });
    return { response, rounds };
  } finally {
    dialling.close();
  }
}

function recordRounds(next: FunctionRunner, rounds: Round[]): FunctionRunner {
  return {
    async run(target, request, call) {
      const response = await next.run(target, request, call);
      rounds.push({ request, response });
      return response;
    },
  };
}

/** What the request says about itself is kept, so that an author can try what a control plane might send. */
function withMeta(request: RunFunctionRequest): RunFunctionRequest {
  const { tag = "", capabilities = [] } = request.meta ?? {};
  const meta = create(RequestMeta, {
    ...request.meta,
    tag: tag || requestTag(request),
    capabilities: capabilities.length > 0 ? capabilities : [...allCapabilities],
  });
  return { ...request, meta };
}

function functionTarget({ text }: Target): FunctionTarget {
  return { functionName: text, revisionName: text, packageRef: "", endpoint: text, revision: 0 };
}

/** The files a request is put together from. */
export interface RequestFiles {
  readonly request: string | undefined;
  readonly xr: string | undefined;
}

/**
 * The request as the first step of a pipeline would send it: what the files say, with the composite resource of `xr` and
 * with empty desired state and context where these are not set.
 */
export async function readRequest({ request, xr }: RequestFiles, io: Io): Promise<RunFunctionRequest> {
  if (request === undefined && xr === undefined) {
    throw new UserError("no request given: use --request FILE or --xr FILE", { exitCode: 2 });
  }
  const message = request === undefined ? create(RunFunctionRequest) : await readMessage(request, io);
  if (xr !== undefined) {
    const resource = create(Resource, { ...message.observed?.composite, resource: await readComposite(xr, io) });
    message.observed = create(State, { ...message.observed, composite: resource });
  }
  message.desired ??= create(State);
  message.context ??= Struct.from({});
  return message;
}

const example = "expected a RunFunctionRequest, such as {observed: {composite: {resource: {…}}}}";

async function readMessage(file: string, io: Io): Promise<RunFunctionRequest> {
  const document = await readOne(file, io, "request");
  const { value } = document;
  if (isJsonObject(value) && typeof value["apiVersion"] === "string" && typeof value["kind"] === "string") {
    const what = `${value["apiVersion"]} ${value["kind"]}`;
    throw new UserError(
      `${document.at(["kind"])}: this is a Kubernetes object (${what}), not a RunFunctionRequest: pass a composite resource with --xr`,
    );
  }
  return located(document, () => fromJson(RunFunctionRequest, value));
}

async function readComposite(file: string, io: Io): Promise<Struct> {
  const document = await readOne(file, io, "composite resource");
  const { value } = document;
  if (!isJsonObject(value))
    throw new UserError(`${document.at()}: expected a composite resource with apiVersion and kind`);
  for (const field of ["apiVersion", "kind"]) {
    if (typeof value[field] === "string") continue;
    throw invalidField(document.at([field]), field, { expected: "a string", value: value[field] });
  }
  return located(document, () => Struct.rounded(value));
}

async function readOne(file: string, io: Io, what: string): Promise<YamlDocument> {
  const name = file === "-" ? "standard input" : file;
  const [document, second] = parseYaml(await readText(file, io, { what }), name);
  if (document === undefined) throw new UserError(`${name}: the ${what} is empty: ${example}`);
  if (second !== undefined) throw new UserError(`${second.at()}: a second document starts here: expected one ${what}`);
  return document;
}

/** Gives an error about a member of the message the line on which the member was written. */
function located<T>(document: YamlDocument, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!isProtocolError(error)) throw error;
    const text = error.message.replace(/^the message: .*/, example);
    throw new UserError(`${document.at(parseFieldPath(error.path ?? ""))}: ${text}`, { cause: error });
  }
}
