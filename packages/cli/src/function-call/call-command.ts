// SPDX-License-Identifier: Apache-2.0
import { resolve } from "node:path";
import {
  allCapabilities,
  create,
  fromJson,
  isFatal,
  isJsonObject,
  isProtocolError,
  RequestMeta,
  Resource,
  RunFunctionRequest,
  RunFunctionResponse,
  State,
  Struct,
  toJson,
} from "@purlin/function-protocol";
import {
  asCrossplane,
  type CrossplaneLine,
  createDiallingRunner,
  crossplaneLines,
  type FunctionRunner,
  type FunctionTarget,
  isRunnerError,
  type RequirementFetchers,
  requestTag,
  settleRequirements,
  type TlsSource,
  tlsFromDirectory,
} from "@purlin/function-runner";
import { invalidField } from "../files/read-objects.ts";
import { readText } from "../files/read-text.ts";
import { parseYaml, type YamlDocument } from "../files/yaml-file.ts";
import { parseFieldPath } from "../files/yaml-position.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, readTimeout, textOption } from "../options/command-spec.ts";
import { printData, readOutput } from "../options/data-output.ts";
import { createStyle } from "../terminal/style.ts";
import { textOf, UserError } from "../user-error.ts";
import { parseTarget, probeTarget, type Target } from "./probe-target.ts";
import { fetchersFromFiles, type RequirementPaths } from "./requirement-files.ts";

/** The command line of `purlin function call`, understood. */
interface CallOptions {
  readonly target: Target;
  /** The folder with our certificates; undefined for plaintext. */
  readonly tlsCertsDir: string | undefined;
  readonly request: RequestFiles;
  readonly paths: RequirementPaths;
  readonly asCrossplane: CrossplaneLine | undefined;
  readonly timeoutMs: number;
}

/** `purlin function call`: everything is read and checked before anything is sent. */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const output = readOutput(input, ["yaml", "json"]);
  const options = readCallOptions(input);
  const request = await readRequest(options.request, io);
  const fetchers = await fetchersFromFiles(options.paths, io);
  const security = openTls(options, io);
  const { target, timeoutMs, asCrossplane } = options;
  const deadline = Date.now() + timeoutMs;
  const tls =
    security === "plaintext" ? undefined : { identity: security.current(), directory: options.tlsCertsDir ?? "" };
  await probeTarget(target, { tls, timeoutMs: Math.min(timeoutMs, 5_000), signal: io.signal });
  const outcome = await orUserError(() =>
    callFunction({ target, security, request, fetchers, asCrossplane, deadline, signal: io.signal }),
  );
  printData(toJson(RunFunctionResponse, outcome.response), output, io);
  printRounds(outcome, io);
}

function openTls({ tlsCertsDir }: CallOptions, io: Io): TlsSource | "plaintext" {
  if (tlsCertsDir === undefined) return "plaintext";
  try {
    return tlsFromDirectory(resolve(io.cwd, tlsCertsDir));
  } catch (error) {
    throw new UserError(`--tls-certs-dir: ${textOf(error)}`, { cause: error });
  }
}

/** What the runner rejects with is meant for people already; what to do about it depends on the command. */
async function orUserError<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw new UserError(`${textOf(error)}${adviceOn(error)}`, { cause: error });
  }
}

function printRounds({ response, rounds }: CallOutcome, io: Io): void {
  const style = createStyle(io.stderr, io.env);
  io.stderr.write(`${style.faint(rounds.length === 1 ? "1 round" : `${rounds.length} rounds`)}\n`);
  if (isFatal(response))
    io.stderr.write(`${style.doubtful("a fatal result")}: a pipeline would stop here and apply nothing\n`);
}

/** Advice for an error of the runner, to append to its message. */
export function adviceOn(error: unknown): string {
  if (isProtocolError(error) && error.code === "UNSTABLE_REQUIREMENTS") {
    return ": the function must return the same requirements on every call, also when they are satisfied";
  }
  if (/no matches for kind/.test(textOf(error))) {
    return ": check the spelling, define the kind with --crds, or add an object of it with --required-resources";
  }
  if (!isRunnerError(error)) return "";
  switch (error.status) {
    case "DeadlineExceeded":
      return ": increase --timeout if it needs longer";
    case "Unimplemented":
      return ": the server at that address is not a composition function";
    default:
      return "";
  }
}

/** Reads the options, and refuses those that make no sense together. */
function readCallOptions(input: CommandInput): CallOptions {
  return {
    target: parseTarget(textOption(input, "target") ?? ""),
    tlsCertsDir: securityOf(input),
    request: { request: textOption(input, "request"), xr: textOption(input, "xr") },
    paths: {
      requiredResources: textOption(input, "requiredResources"),
      crds: textOption(input, "crds"),
      openapi: textOption(input, "openapi"),
    },
    asCrossplane: releaseLine(textOption(input, "asCrossplane")),
    timeoutMs: readTimeout(textOption(input, "timeout") ?? ""),
  };
}

function releaseLine(text: string | undefined): CrossplaneLine | undefined {
  const line = crossplaneLines.find((known) => known === text);
  if (text === line) return line;
  throw new UserError(`--as-crossplane: expected one of ${crossplaneLines.join(", ")}, not "${text}"`, { exitCode: 2 });
}

function securityOf(input: CommandInput): string | undefined {
  const directory = textOption(input, "tlsCertsDir");
  const insecure = isSet(input, "insecure");
  if (insecure && directory !== undefined) {
    throw new UserError("--insecure and --tls-certs-dir are mutually exclusive: use one of them", { exitCode: 2 });
  }
  if (insecure || directory !== undefined) return directory;
  throw new UserError(
    "specify how to connect: --insecure for a function that serves plaintext, or --tls-certs-dir DIR for mutual TLS",
    { exitCode: 2 },
  );
}

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
