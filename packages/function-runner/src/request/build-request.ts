// SPDX-License-Identifier: Apache-2.0

import { createHash, hash } from "node:crypto";
import { forEachLimited, Turns } from "@purlin/base";
import {
  allCapabilities,
  CredentialData,
  Credentials,
  create,
  encodeCanonical,
  isJsonObject,
  MatchLabels,
  RequestMeta,
  ResourceSelector,
  type Resources,
  RunFunctionRequest,
  type RunFunctionResponse,
  type Schema,
  SchemaSelector,
  State,
  Struct,
} from "@purlin/function-protocol";
import { RunnerError, wrapError } from "../function-runner.ts";
import type { SecretReader } from "../requirements/objects-reader.ts";
import { observedStruct, type RequirementFetchers } from "../requirements/settle-requirements.ts";

/** A pipeline step as a Composition or Operation declares it: the part that shapes its requests. */
export type StepDefinition = {
  /** The step's name. */
  readonly step: string;
  /** An object; absent or null for none. */
  readonly input?: unknown;
  readonly credentials?: readonly StepCredentials[] | undefined;
  readonly requirements?: StepRequirements | undefined;
};

/** A secret the step hands to its function. */
type StepCredentials = {
  readonly name: string;
  /** Only `Secret` hands over anything. */
  readonly source: string;
  readonly secretRef?: { readonly namespace: string; readonly name: string } | undefined;
};

/** What the function gets with its first call, without having asked. */
type StepRequirements = {
  readonly requiredResources?: readonly BootstrapResources[] | undefined;
  readonly requiredSchemas?: readonly BootstrapSchema[] | undefined;
};

/** Resources by name or by labels, or all of a kind. A name wins over labels. */
type BootstrapResources = {
  readonly requirementName: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly matchLabels?: Readonly<Record<string, string>> | undefined;
};

/** The schema of a kind. */
type BootstrapSchema = {
  readonly requirementName: string;
  readonly apiVersion: string;
  readonly kind: string;
};

/** What a step starts from: the snapshot taken before the pipeline, and what the step before it answered. */
export interface StepState {
  /** Absent for Operations. */
  readonly observed?: State | undefined;
  readonly desired?: State | undefined;
  readonly context?: Struct | undefined;
}

/** Where the parts of a request come from. */
export interface RequestSources extends RequirementFetchers {
  readonly secrets: SecretReader;
  /** Resources this step asked for last time, sent along to save a call. Those that cannot be read are left out. */
  readonly seeds?: ReadonlyMap<string, ResourceSelector> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Whose pipeline it is, in errors; that of a Composition unless given. */
  readonly pipeline?: "Composition" | "operation" | undefined;
}

const nothing = Struct.from({});

/** The state before the first step: nothing desired yet, and an empty context. */
export function firstState(observed?: State): StepState {
  return { observed, desired: create(State), context: nothing };
}

/**
 * The first request of a step, complete with tag and capabilities. Rejects, naming the step, when its input is not an object
 * or something it declares cannot be read.
 */
export async function buildRequest(
  definition: StepDefinition,
  state: StepState,
  sources: RequestSources,
): Promise<RunFunctionRequest> {
  const input = inputOf(definition, sources);
  // One after the other, so that always the same one of several errors is reported.
  const credentials = await readCredentials(definition, sources);
  const requiredResources = await addSeeds(await fetchResources(definition, sources), sources);
  const requiredSchemas = await fetchSchemas(definition, sources);
  const request = create(RunFunctionRequest, { ...state, input, credentials, requiredResources, requiredSchemas });
  request.meta = create(RequestMeta, { tag: await requestTagInTurns(request), capabilities: [...allCapabilities] });
  return request;
}

function inputOf({ step, input }: StepDefinition, { pipeline = "Composition" }: RequestSources): Struct | undefined {
  if (input === undefined || input === null) return undefined;
  try {
    if (!isJsonObject(input)) throw new RunnerError("BAD_STEP", `input must be an object, not ${shapeOf(input)}`);
    // That of a revision in a cache is the same object at every pass.
    return observedStruct(input);
  } catch (error) {
    throw wrapError("BAD_STEP", `cannot unmarshal input for ${pipeline} pipeline step "${step}"`, error);
  }
}

function shapeOf(value: unknown): string {
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}

async function readCredentials(
  { step, credentials = [] }: StepDefinition,
  { secrets, signal, pipeline = "Composition" }: RequestSources,
): Promise<Map<string, Credentials>> {
  return collect(credentials, async ({ name, source, secretRef }) => {
    if (source !== "Secret" || secretRef === undefined) return undefined;
    try {
      const data = new Map(await secrets.read({ ...secretRef, signal }));
      const value = create(CredentialData, { data });
      return [name, create(Credentials, { source: { case: "credentialData", value } })];
    } catch (error) {
      const what = `cannot get ${pipeline} pipeline step "${step}" credential "${name}" from Secret`;
      throw wrapError("FETCH", what, error);
    }
  });
}

async function fetchResources(
  { requirements }: StepDefinition,
  { resources, signal }: RequestSources,
): Promise<Map<string, Resources>> {
  return collect(requirements?.requiredResources ?? [], async (wanted) => {
    const { requirementName } = wanted;
    try {
      return [requirementName, await resources(selectorOf(wanted), signal)];
    } catch (error) {
      const what = `cannot fetch bootstrap required resources for requirement "${requirementName}"`;
      throw wrapError("FETCH", what, error);
    }
  });
}

async function fetchSchemas(
  { requirements }: StepDefinition,
  { schema }: RequestSources,
): Promise<Map<string, Schema>> {
  return collect(requirements?.requiredSchemas ?? [], async ({ requirementName, apiVersion, kind }) => {
    try {
      return [requirementName, await schema(create(SchemaSelector, { apiVersion, kind }))];
    } catch (error) {
      throw wrapError("FETCH", `cannot fetch bootstrap required schema for requirement "${requirementName}"`, error);
    }
  });
}

/** The selector a bootstrap requirement stands for. */
export function selectorOf({ apiVersion, kind, namespace, name, matchLabels }: BootstrapResources): ResourceSelector {
  return create(ResourceSelector, { apiVersion, kind, namespace, match: matchOf(name, matchLabels) });
}

function matchOf(name: string | undefined, labels: BootstrapResources["matchLabels"]): ResourceSelector["match"] {
  if (name !== undefined && name !== "") return { case: "matchName", value: name };
  if (labels === undefined) return undefined;
  return { case: "matchLabels", value: create(MatchLabels, { labels: new Map(Object.entries(labels)) }) };
}

async function addSeeds(
  bootstrap: ReadonlyMap<string, Resources>,
  { seeds, resources, signal }: RequestSources,
): Promise<Map<string, Resources>> {
  const open = [...(seeds ?? [])].filter(([name]) => !bootstrap.has(name));
  const seeded = await collect(open, async ([name, selector]) => {
    // A seed saves a call; without it the function asks, and a real problem shows then.
    const found = await resources(selector, signal).catch(() => undefined);
    return found === undefined ? undefined : [name, found];
  });
  return new Map([...bootstrap, ...seeded]);
}

/** At most this many things are read at the same time: a function may have asked for thousands. */
const readAtOnce = 16;

/** Reads what items stand for; when several fail, the first in order is the one that is reported. */
async function collect<S, T>(
  items: readonly S[],
  read: (item: S) => Promise<readonly [string, T] | undefined>,
): Promise<Map<string, T>> {
  const found = new Array<readonly [string, T] | undefined>(items.length);
  await forEachLimited(items, readAtOnce, async (item, index) => {
    found[index] = await read(item);
  });
  return new Map(found.filter((entry) => entry !== undefined));
}

/** Requests of up to this many bytes are hashed at once; larger ones in parts of this size. */
const atOnceBytes = 512 * 1024;

/** Identifies what a request says, whatever the order of its maps. Its meta does not count. */
export function requestTag(request: RunFunctionRequest): string {
  return hash("sha256", contentOf(request), "hex");
}

function contentOf(request: RunFunctionRequest): Uint8Array {
  return encodeCanonical(RunFunctionRequest, { ...request, meta: undefined });
}

/** As {@link requestTag}, in parts that let other work run. */
export async function requestTagInTurns(request: RunFunctionRequest): Promise<string> {
  const turns = new Turns();
  for (const struct of structsOf(request)) {
    if (!isSorted(struct)) break;
    if (turns.isOver) await turns.next();
  }
  const bytes = contentOf(request);
  return bytes.length <= atOnceBytes ? hash("sha256", bytes, "hex") : hashInTurns(bytes, turns);
}

/** A Struct remembers its sorted bytes, so that all that is left in the end is to put them together. One that cannot be read fails then. */
function isSorted(struct: Struct | undefined): boolean {
  try {
    void struct?.canonicalBytes;
    return true;
  } catch {
    return false;
  }
}

async function hashInTurns(bytes: Uint8Array, turns: Turns): Promise<string> {
  const sum = createHash("sha256");
  for (let at = 0; at < bytes.length; at += atOnceBytes) {
    sum.update(bytes.subarray(at, at + atOnceBytes));
    if (turns.isOver) await turns.next();
  }
  return sum.digest("hex");
}

/** The parts of requests and responses that hold objects. */
export type ObjectHolder = Partial<Omit<RunFunctionRequest, "meta"> & Pick<RunFunctionResponse, "output">>;

/** All objects of a request or response. */
export function* structsOf(message: ObjectHolder): Generator<Struct | undefined> {
  const { observed, desired, input, context, output, requiredResources, extraResources, requiredSchemas } = message;
  yield* structsIn(observed);
  yield* structsIn(desired);
  yield input;
  yield context;
  yield output;
  yield* structsInAll(requiredResources);
  yield* structsInAll(extraResources);
  for (const { openapiV3 } of requiredSchemas?.values() ?? []) yield openapiV3;
}

function* structsIn(state: State | undefined): Generator<Struct | undefined> {
  yield state?.composite?.resource;
  for (const { resource } of state?.resources.values() ?? []) yield resource;
}

function* structsInAll(required: ReadonlyMap<string, Resources> | undefined): Generator<Struct | undefined> {
  for (const { items } of required?.values() ?? []) for (const { resource } of items) yield resource;
}
