// SPDX-License-Identifier: Apache-2.0
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createDevelopmentResolver,
  createDiallingRunner,
  createRevisionResolver,
  createStepRunner,
  developmentAnnotations,
  developmentOf,
  type FunctionReference,
  type FunctionResolver,
  type FunctionRevisions,
  type RequirementFetchers,
  type RunStep,
  type SourceRuntime,
  settleRequirements,
  type TlsSource,
} from "@purlin/function-runner";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects";
import { parseTarget } from "../function-call/parse-target.ts";
import { probeTarget } from "../function-call/probe-target.ts";
import type { Io } from "../io.ts";
import type { Manifest } from "../manifests/manifest.ts";
import { UserError } from "../user-error.ts";

/** The functions of a pipeline, ready to be called. */
export interface RenderFunctions extends AsyncDisposable {
  readonly runStep: RunStep;
}

/** What functions are called for, and with. */
export interface FunctionInputs {
  readonly composition: Manifest;
  readonly functions: readonly Manifest[];
  readonly revisions: readonly Manifest[];
  /** Over every Function's own. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly fetchers: RequirementFetchers;
  readonly warn: (text: string) => void;
}

/** Finds and, where they are source files, starts the functions a Composition uses. */
export async function openFunctions(inputs: FunctionInputs, io: Io): Promise<RenderFunctions> {
  const used = usedFunctions(inputs);
  await using opening = new AsyncDisposableStack();
  const sources = used.some(({ development }) => development?.kind === "source") ? await startSources(io) : undefined;
  if (sources !== undefined) opening.defer(() => sources.close());
  const dialling = createDiallingRunner({ security: sources?.security ?? "plaintext" });
  opening.defer(() => dialling.close());
  const resolver = resolverFor(inputs, new Map(used.map(({ name, object }) => [name, object])), sources?.runtime);
  const runStep = createStepRunner(resolver, settleRequirements(dialling, inputs.fetchers));
  const { unreachable, stop } = watchOver(used, io);
  opening.defer(stop);
  const opened = opening.move();
  return {
    runStep: (...step) => Promise.race([runStep(...step), unreachable]),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

interface UsedFunction {
  readonly name: string;
  readonly object: JsonObject;
  readonly development: ReturnType<typeof developmentOf>;
}

/** The Functions of the pipeline. One that is missing, or that nobody can call, is told with the line of its step. */
function usedFunctions({ composition, functions, revisions, annotations }: FunctionInputs): UsedFunction[] {
  const known = new Map(functions.map((manifest) => [manifest.object.metadata.name ?? "", manifest]));
  const used = new Map<string, UsedFunction>();
  for (const [index, { step, functionRef }] of stepsOf(composition).entries()) {
    const name = functionRef?.name ?? "";
    if (name === "" || used.has(name)) continue;
    const manifest = known.get(name);
    if (manifest === undefined && hasRevision(revisions, name)) continue;
    if (manifest === undefined) {
      const where = composition.at(["spec", "pipeline", index, "functionRef", "name"]);
      throw new UserError(
        `${where}: step "${step}" uses function "${name}", which is not among FUNCTIONS: add it there`,
      );
    }
    const object = annotated(manifest, annotations);
    const development = developmentOf(object);
    if (development === undefined && !hasRevision(revisions, name)) throw notCallable(manifest, name);
    if (development?.kind === "target") requireTarget(manifest, development.endpoint);
    used.set(name, { name, object, development });
  }
  return [...used.values()];
}

function requireTarget(manifest: Manifest, endpoint: string): void {
  try {
    parseTarget(endpoint);
  } catch (error) {
    const { target } = developmentAnnotations;
    const where = manifest.at(["metadata", "annotations", target]);
    const text = `${target}: expected host:port, such as localhost:9443, or unix:path, not "${endpoint}"`;
    throw new UserError(`${where}: ${text}`, { cause: error });
  }
}

function notCallable(manifest: Manifest, name: string): UserError {
  const advice =
    "run it and add the annotation render.crossplane.io/runtime: Development, or name its file with purlin.dev/source";
  return new UserError(`${manifest.at(["metadata"])}: Function "${name}" runs nowhere that render can call: ${advice}`);
}

function annotated({ object }: Manifest, annotations: Readonly<Record<string, string>>): JsonObject {
  const own = object.metadata.annotations ?? {};
  return {
    ...object,
    metadata: { ...object.metadata, annotations: { ...own, ...annotations } },
  } as unknown as JsonObject;
}

function hasRevision(revisions: readonly Manifest[], name: string): boolean {
  return revisions.some(({ object }) => object.metadata.labels?.["pkg.crossplane.io/package"] === name);
}

interface Step {
  readonly step: string;
  readonly functionRef?: { readonly name?: string };
}

function stepsOf({ object }: Manifest): readonly Step[] {
  const pipeline = (object["spec"] as { pipeline?: unknown } | undefined)?.pipeline;
  return Array.isArray(pipeline) ? pipeline.filter(isJsonObject).map((step) => step as unknown as Step) : [];
}

/** A function that runs has answered by then, and nobody needs to knock at its door. */
const probeAfterMs = 250;

/** Whether functions can be reached, asked when an answer is late. */
interface Watchman {
  /** Rejects when one of them cannot be reached, and otherwise never ends. */
  readonly unreachable: Promise<never>;
  stop(): void;
}

/** The runner waits for a function to come up, as a control plane should; a person at a terminal should not have to. */
function watchOver(used: readonly UsedFunction[], io: Io): Watchman {
  const { promise, reject } = Promise.withResolvers<never>();
  // Whoever runs a step hears of it; when no step runs, nobody needs to.
  promise.catch(() => {});
  const timer = setTimeout(() => {
    for (const { development } of used) probe(development, io).catch(reject);
  }, probeAfterMs);
  return { unreachable: promise, stop: () => clearTimeout(timer) };
}

async function probe(development: ReturnType<typeof developmentOf>, io: Io): Promise<void> {
  if (development?.kind !== "target") return;
  await probeTarget(parseTarget(development.endpoint), { tls: undefined, timeoutMs: 5_000, signal: io.signal });
}

/** Steps that select a revision are served from those in the files; without any, by their Function. */
function resolverFor(
  { revisions, warn }: FunctionInputs,
  functions: ReadonlyMap<string, JsonObject>,
  sources: SourceRuntime | undefined,
): FunctionResolver {
  const live = { list: async (): Promise<string[]> => [] };
  const byRevision = plaintext(createRevisionResolver(revisionsIn(revisions), { revisionSelectors: true }));
  const byFunction = createDevelopmentResolver(byRevision, {
    functions: { get: async (name) => functions.get(name), list: async () => [...functions.values()] },
    allowed: true,
    revisionSelectors: true,
    sources,
    live,
  });
  return {
    resolve(reference, signal) {
      const field = selecting.find((name) => reference[name] !== undefined);
      if (field === undefined) return byFunction.resolve(reference, signal);
      if (revisions.length > 0 || field === "function") return byRevision.resolve(reference, signal);
      const { step, functionName } = reference;
      warn(
        `step "${step}" uses ${field}, and no FunctionRevision is among FUNCTIONS: its Function "${functionName}" runs`,
      );
      return byFunction.resolve({ step, functionName }, signal);
    },
  };
}

const selecting = [
  "functionRevisionRef",
  "functionRevisionSelector",
  "function",
] as const satisfies readonly (keyof FunctionReference)[];

/** There are no certificates for revisions in a file. */
function plaintext(resolver: FunctionResolver): FunctionResolver {
  return {
    resolve: async (reference, signal) => ({ ...(await resolver.resolve(reference, signal)), plaintext: true }),
  };
}

function revisionsIn(manifests: readonly Manifest[]): FunctionRevisions {
  const objects = manifests.map(({ object }) => object);
  const asJson = (object: Manifest["object"]): JsonObject => object as unknown as JsonObject;
  return {
    async get(name) {
      const found = objects.find(({ metadata }) => metadata.name === name);
      return found && asJson(found);
    },
    async list(labels) {
      const carries = ({ metadata }: Manifest["object"]): boolean =>
        [...labels].every(([key, value]) => metadata.labels?.[key] === value);
      return objects.filter(carries).map(asJson);
    },
  };
}

interface Sources {
  readonly runtime: SourceRuntime;
  readonly security: TlsSource;
  close(): Promise<void>;
}

/** Loaded only when a source file is to be run. */
async function startSources(io: Io): Promise<Sources> {
  const { createFunctionProcesses, createSourceRuntime } = await import("@purlin/package-manager");
  const directory = await mkdtemp(join(tmpdir(), "purlin-render-"));
  const processes = createFunctionProcesses({ directory, env: io.env });
  return {
    runtime: createSourceRuntime(processes, { cwd: io.cwd }),
    security: processes.security,
    async close() {
      await processes.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
