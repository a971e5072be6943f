// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import type { LiveRevisions } from "../dial/connection-pool.ts";
import { type FunctionTarget, isRunnerError, RunnerError, wrapError } from "../function-runner.ts";
import {
  type DevelopmentFunction,
  type DevelopmentTrust,
  developmentAnnotations,
  functionNotFound,
  honoredDevelopmentOf,
  trustedDevelopmentOf,
} from "./development-trust.ts";
import type { FunctionReference, FunctionResolver } from "./function-resolver.ts";

/** Where Functions are read from. */
export interface Functions {
  /** A Function; undefined when it does not exist. */
  get(name: string, signal?: AbortSignal): Promise<JsonObject | undefined>;
  list(signal?: AbortSignal): Promise<readonly JsonObject[]>;
}

/** A source file that answers calls. */
export interface RunningSource {
  readonly endpoint: string;
  /** Another one for each version of the file, so that nothing an older one said is taken for its answer. */
  readonly version: string;
  /** A run begins; call the result when it is over. */
  readonly acquire: () => () => void;
  /** Aborts a moment after another version has taken over. */
  readonly replaced?: AbortSignal | undefined;
}

/** Runs source files as functions. */
export interface SourceRuntime {
  /** Starts the file unless it runs, and waits until it answers. Rejects with why it does not. */
  serve(functionName: string, path: string, signal?: AbortSignal): Promise<RunningSource>;
  /** What answers for a function right now. */
  current(functionName: string): RunningSource | undefined;
}

/** What is done about Functions under development. */
export interface DevelopmentOptions {
  readonly functions: Functions;
  /** Whether they are honoured; every author of a Function could otherwise have composite resources sent elsewhere. */
  readonly allowed: boolean;
  /** Whose annotations are honoured. */
  readonly trust: DevelopmentTrust;
  /** Whether steps may name revisions. */
  readonly revisionSelectors: boolean;
  /** Runs source files; without it none is run. */
  readonly sources?: SourceRuntime | undefined;
  /** Which revisions of packages still serve. */
  readonly live: LiveRevisions;
}

/** A resolver that knows functions without packages, and which connections are worth keeping. */
export interface DevelopmentResolver extends FunctionResolver {
  /** The keys of development functions beside those of revisions. */
  readonly live: LiveRevisions;
}

/**
 * Serves steps whose Function is under development from where its annotations say, and all others through `next`. Such a
 * function has no revisions, so a step that names one fails instead of getting something else.
 */
export function createDevelopmentResolver(next: FunctionResolver, options: DevelopmentOptions): DevelopmentResolver {
  return {
    async resolve(reference, signal) {
      const { functionName } = reference;
      const object = functionName === "" ? undefined : await find(functionName, options, signal);
      const development = object && trustedDevelopmentOf(object, options.trust);
      if (development === undefined) {
        const exists = functionName === "" || object !== undefined;
        if (exists) return next.resolve(reference, signal);
        return next
          .resolve(reference, signal)
          .catch((error: unknown) => sayMissing(error, reference, { options, signal }));
      }
      if (!options.allowed) return next.resolve(reference, signal).catch((error: unknown) => sayWhy(error, notAllowed));
      if (development.kind === "ignored") {
        return next.resolve(reference, signal).catch((error: unknown) => sayWhy(error, development.message));
      }
      try {
        refuseSelection(reference, options.revisionSelectors);
        return await targetOf(functionName, development, { options, signal });
      } catch (error) {
        throw wrapError("NO_ENDPOINT", `cannot get gRPC client connection for Function "${functionName}"`, error);
      }
    },
    live: { list: () => listLive(options) },
  };
}

async function find(
  name: string,
  { functions }: DevelopmentOptions,
  signal?: AbortSignal,
): Promise<JsonObject | undefined> {
  try {
    return await functions.get(name, signal);
  } catch (error) {
    throw wrapError("FETCH", `cannot get Function "${name}"`, error);
  }
}

/** Without a Function there will never be a revision, so the message is about the Function. */
async function sayMissing(
  error: unknown,
  { functionName, step, composition = "" }: FunctionReference,
  { options, signal }: { readonly options: DevelopmentOptions; readonly signal: AbortSignal | undefined },
): Promise<never> {
  if (!isRunnerError(error) || !["NO_ACTIVE_REVISION", "REVISION_NOT_FOUND"].includes(error.code)) throw error;
  const installed = (await options.functions.list(signal)).flatMap((object) => nameOf(object) ?? []);
  const text = functionNotFound({ functionName, step, composition, installed });
  throw new RunnerError(error.code, text, { cause: error });
}

const notAllowed = `its annotation ${developmentAnnotations.runtime} or ${developmentAnnotations.source} needs --allow-development-functions`;

/** Its package serves it if it has one. If not, the annotation explains what its author expected. */
function sayWhy(error: unknown, text: string): never {
  if (!isRunnerError(error) || error.code !== "NO_ACTIVE_REVISION") throw error;
  throw new RunnerError("FEATURE_DISABLED", `${error.message}: ${text}`, { cause: error });
}

function refuseSelection(reference: FunctionReference, allowed: boolean): void {
  const { step, functionRevisionRef: ref, functionRevisionSelector: selector } = reference;
  if (ref === undefined && selector === undefined) return;
  const field = ref === undefined ? "functionRevisionSelector" : "functionRevisionRef";
  const uses = `pipeline step "${step}" uses ${field}`;
  if (!allowed) throw new RunnerError("FEATURE_DISABLED", `${uses}, which needs --enable-function-revision-selectors`);
  throw new RunnerError("REVISION_NOT_FOUND", `${uses}, but a development function has no revisions`);
}

async function targetOf(
  functionName: string,
  development: DevelopmentFunction,
  { options, signal }: { readonly options: DevelopmentOptions; readonly signal: AbortSignal | undefined },
): Promise<FunctionTarget> {
  const plain = { functionName, packageRef: "", revision: 0 };
  if (development.kind === "target") {
    const { endpoint } = development;
    return { ...plain, revisionName: targetKey(functionName, endpoint), endpoint, plaintext: true };
  }
  if (options.sources === undefined) {
    const text = `${developmentAnnotations.source} "${development.path}" is run by purlin up and purlin render only`;
    throw new RunnerError("FEATURE_DISABLED", text);
  }
  const running = await options.sources.serve(functionName, development.path, signal);
  const { endpoint, acquire, replaced } = running;
  return { ...plain, revisionName: sourceKey(functionName, running), endpoint, acquire, replaced };
}

function targetKey(functionName: string, endpoint: string): string {
  return `${functionName}@${endpoint}`;
}

function sourceKey(functionName: string, { endpoint, version }: RunningSource): string {
  return `${functionName}@${endpoint}#${version}`;
}

async function listLive(options: DevelopmentOptions): Promise<Iterable<string>> {
  const { functions, allowed, live } = options;
  const [revisions, objects] = await Promise.all([live.list(), allowed ? functions.list() : []]);
  return [...revisions, ...objects.flatMap((object) => keysOf(object, options))];
}

function keysOf(object: JsonObject, { sources, trust }: DevelopmentOptions): string[] {
  const development = honoredDevelopmentOf(object, trust);
  const name = nameOf(object);
  if (development === undefined || name === undefined) return [];
  if (development.kind === "target") return [targetKey(name, development.endpoint)];
  const running = sources?.current(name);
  return running === undefined ? [] : [sourceKey(name, running)];
}

function nameOf({ metadata }: JsonObject): string | undefined {
  const name = isJsonObject(metadata) ? metadata["name"] : undefined;
  return typeof name === "string" ? name : undefined;
}
