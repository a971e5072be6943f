// SPDX-License-Identifier: Apache-2.0
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Rendered } from "@purlin/composition/render";
import type { FunctionProcessesOptions } from "@purlin/function-process";
import {
  createDevelopmentResolver,
  createDiallingRunner,
  createRevisionResolver,
  createStepRunner,
  type FunctionResolver,
  type FunctionRunner,
  type FunctionTarget,
  limitPipelines,
  type RequirementFetchers,
  type RunStep,
  type SourceRuntime,
  settleRequirements,
  type TlsSource,
} from "@purlin/function-runner";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  type ClientCertificates,
  developmentAdvice,
  type ProbeAdvice,
  parseTarget,
  probeTarget,
} from "../function-call/probe-target.ts";
import { harmless, harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { createStyle } from "../terminal/style.ts";
import {
  type FunctionFiles,
  isRevisionOf,
  revisionsIn,
  selectionOf,
  type UsedFunction,
  usedFunctions,
} from "./used-functions.ts";

/** A running function has responded by then, and is not probed. */
const probeAfterMs = 250;

/** A slow function gets this time to respond. */
const probeForMs = 20_000;

/** Rejects, with what to do about it, when a function cannot be reached. */
type Probe = (target: FunctionTarget) => Promise<void>;

const revisionAdvice: ProbeAdvice = {
  connectionRefused: "check that its control plane is running, and export its FunctionRevision again",
  noHost: "functions on a cluster can only be called from inside the cluster",
  servesTls: "use --tls-client-certs-dir DIR",
  servesPlaintext: "remove --tls-client-certs-dir",
};

/** The functions of a pipeline, ready to be called. */
interface RenderFunctions extends AsyncDisposable {
  readonly runStep: RunStep;
}

/** What functions are called for, and with. */
interface FunctionInputs extends FunctionFiles {
  readonly fetchers: RequirementFetchers;
  /** Our side of mutual TLS with FunctionRevisions; without it they are called in plaintext. */
  readonly certificates: ClientCertificates | undefined;
  readonly warn: (text: string) => void;
}

/** Finds and, where they are source files, starts the functions a Composition uses. */
export async function openFunctions(inputs: FunctionInputs, io: Io): Promise<RenderFunctions> {
  const { fetchers, certificates, revisions } = inputs;
  const used = usedFunctions(inputs);
  await using opening = new AsyncDisposableStack();
  const sources = used.some(({ development }) => development?.kind === "source") ? await startSources(io) : undefined;
  if (sources !== undefined) opening.defer(() => sources.close());
  // What render runs itself and what a control plane runs have authorities of their own, hence connections of their own.
  const caller = (security: TlsSource | undefined, resolver: FunctionResolver, probe: Probe): RunStep => {
    const dialling = createDiallingRunner({ security: security ?? "plaintext", names: io.names });
    opening.defer(() => dialling.close());
    return createStepRunner(resolver, settleRequirements(impatient(dialling, probe), fetchers));
  };
  const byRevision = createRevisionResolver(revisionsIn(revisions), { revisionSelectors: true });
  const callers: Callers = {
    functions: caller(sources?.security, developmentIn(used, byRevision, sources?.runtime), probeDevelopment(io)),
    revisions: caller(certificates?.security, byRevision, probeRevision(certificates, io)),
  };
  const opened = opening.move();
  return {
    runStep: limitPipelines(callEither(callers, used, inputs)),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

interface Callers {
  /** Calls Functions where their annotations say. */
  readonly functions: RunStep;
  /** Calls FunctionRevisions at their endpoints. */
  readonly revisions: RunStep;
}

/** A step that chooses a revision gets one of those in the files; where its Function has none there, the Function itself. */
function callEither(callers: Callers, used: readonly UsedFunction[], { revisions, warn }: FunctionInputs): RunStep {
  const developed = new Set(used.filter(({ development }) => development !== undefined).map(({ name }) => name));
  return (reference, request, call) => {
    const { step, functionName } = reference;
    const field = selectionOf(reference);
    const isServed = field === undefined ? !developed.has(functionName) : revisions.some(isRevisionOf(functionName));
    if (isServed || field === "function") return callers.revisions(reference, request, call);
    if (field !== undefined) {
      const none = `FUNCTIONS has no FunctionRevision of Function "${functionName}"`;
      warn(`step "${step}" uses ${field}, but ${none}: running the Function itself`);
    }
    return callers.functions({ step, functionName }, request, call);
  };
}

function developmentIn(
  used: readonly UsedFunction[],
  next: FunctionResolver,
  sources: SourceRuntime | undefined,
): FunctionResolver {
  const functions = new Map(used.map(({ name, object }) => [name, object]));
  return createDevelopmentResolver(next, {
    functions: { get: async (name) => functions.get(name), list: async () => [...functions.values()] },
    allowed: true,
    trust: {},
    revisionSelectors: true,
    sources,
    live: { list: async () => [] },
  });
}

interface Sources {
  readonly runtime: SourceRuntime;
  readonly security: TlsSource;
  close(): Promise<void>;
}

/** Loaded only when a source file is to be run. */
async function startSources(io: Io): Promise<Sources> {
  const { createFunctionProcesses, createSourceRuntime } = await import("@purlin/function-process");
  const directory = await mkdtemp(join(tmpdir(), "purlin-render-"));
  const output = createOutputLines(io);
  const processes = createFunctionProcesses({ directory, env: io.env, onOutput: output.add });
  return {
    runtime: createSourceRuntime(processes, { cwd: io.cwd }),
    security: processes.security,
    async close() {
      await processes.close();
      output.end();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

type Output = Parameters<NonNullable<FunctionProcessesOptions["onOutput"]>>[0];

/** Writes the output of functions to stderr, each line after the name of its function. */
function createOutputLines({ stderr }: Io): { add(output: Output): void; end(): void } {
  /** Lines that are still being written, by stream and function. */
  const partial = new Map<string, Output>();
  const write = ({ name, text }: Output): void => void stderr.write(`${name}: ${harmless(text)}\n`);
  return {
    add(output) {
      const key = `${output.stream} ${output.name}`;
      const lines = `${partial.get(key)?.text ?? ""}${output.text}`.split("\n");
      partial.set(key, { ...output, text: lines.pop() ?? "" });
      for (const text of lines) write({ ...output, text });
    },
    end() {
      for (const rest of partial.values()) if (rest.text !== "") write(rest);
    },
  };
}

/**
 * A runner waits for a function to come up, as a control plane should; a person at a terminal should not have to. When an
 * response is late, the target is probed.
 */
function impatient(next: FunctionRunner, probe: Probe): FunctionRunner {
  return {
    async run(target, request, call) {
      const { promise: unreachable, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(() => void probe(target).catch(reject), probeAfterMs);
      try {
        return await Promise.race([next.run(target, request, call), unreachable]);
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/** Knocks at the door of functions under development. Those that render runs itself are known to be there. */
function probeDevelopment({ signal }: Io): Probe {
  return async ({ endpoint, plaintext = false }) => {
    if (!plaintext) return;
    await probeTarget(parseTarget(endpoint), {
      tls: undefined,
      timeoutMs: probeForMs,
      signal,
      advice: developmentAdvice,
    });
  };
}

/** Knocks at the door of FunctionRevisions. */
function probeRevision(certificates: ClientCertificates | undefined, { signal, names }: Io): Probe {
  return async ({ endpoint }) => {
    const tls = certificates && { identity: certificates.security.current(), directory: certificates.directory };
    const options = { tls, timeoutMs: probeForMs, signal, advice: revisionAdvice, names };
    await probeTarget(parseTarget(endpoint), options);
  };
}

/** Writes a warning to stderr. */
export function warn(text: string, io: Io): void {
  io.stderr.write(`${createStyle(io.stderr, io.env).faint("warning:")} ${harmlessLine(text)}\n`);
}

const apiVersion = "render.crossplane.io/v1beta1";

/** The documents about a render itself: its results, and its context unless that is undefined. */
export function resultDocuments(results: Rendered["results"], context: JsonObject | undefined): readonly JsonObject[] {
  const documents: JsonObject[] = results.map(({ type, reason, message }) => ({
    ...{ apiVersion, kind: "Result", severity: type, reason, message },
  }));
  return context === undefined ? documents : [...documents, { apiVersion, kind: "Context", fields: context }];
}
