// SPDX-License-Identifier: Apache-2.0
import { randomUUID } from "node:crypto";
import {
  checkPipeline,
  clientReader,
  functionReferences,
  functionRevisionsOf,
  isUnderDevelopment,
  type PipelineEvent,
  type PipelineTexts,
  type RunDraft,
  runSteps,
  stepsOf,
} from "@purlin/composition/pipeline";
import { create, inspector, type RunFunctionResponse, Struct } from "@purlin/function-protocol";
import { firstState, isRunnerError, type RunTrace, secretsFrom } from "@purlin/function-runner";
import { ReconcileError, TerminalError } from "@purlin/kube-controller";
import { textOf, wrapError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { annotationOf, type ConditionText, type KubeObject } from "@purlin/kube-objects/object";
import type { OperationDeps } from "../deps.ts";
import { annotations, operationContext } from "../names.ts";
import {
  type AppliedRef,
  type AttemptProgress,
  applyDesired,
  failuresOf,
  operationManager,
} from "./operation-status.ts";

/** What an attempt has done so far. It counts also when the attempt fails. */
export class Attempt implements AttemptProgress {
  readonly outputs: Map<string, JsonObject> = new Map();
  readonly applied: AppliedRef[] = [];
}

/** The surroundings of one attempt. */
interface AttemptOptions {
  readonly attempt: Attempt;
  readonly signal: AbortSignal;
  /** When functions must have answered, in milliseconds since the epoch. */
  readonly deadline: number;
  /** The name of the limit, for messages. */
  readonly timeoutMs: number;
  readonly emit: (event: {
    readonly type: "Normal" | "Warning";
    readonly reason: string;
    readonly message: string;
  }) => void;
  readonly run?: RunDraft | undefined;
  /** The initial context; without it, the key that describes the Operation. */
  readonly context?: JsonObject | undefined;
  /** Called with the final context of the pipeline. */
  readonly onContext?: ((context: Struct | undefined) => void) | undefined;
}

const texts: PipelineTexts = {
  pipeline: "operation",
  request(step, error) {
    const text = textOf(error);
    if (isRunnerError(error) && error.code === "BAD_STEP") return new InputError(step, error);
    const reason = text.startsWith("cannot fetch bootstrap") ? "BootstrapRequirements" : "FunctionInvocation";
    return new ReconcileError(reason, text, error);
  },
  call: (step, _functionName, error) => wrapError(`failed to invoke pipeline step "${step}"`, error),
};

/** The input of a step is not an object: no retry can repair it. */
export class InputError extends TerminalError {
  constructor(step: string, cause: unknown) {
    super("", `cannot unmarshal input for operation pipeline step "${step}"`, cause);
    this.name = "InputError";
  }
}

/** Runs the pipeline of an Operation, and applies what it desires. Rejects with a ReconcileError. */
export async function runOperation(operation: KubeObject, deps: OperationDeps, options: AttemptOptions): Promise<void> {
  const { attempt, signal, deadline, run, emit, timeoutMs } = options;
  const { client, runStep, fetchers } = deps;
  const first = firstState();
  const context = Struct.rounded(options.context ?? contextOf(operation));
  const outcome = await phase({ reason: "FunctionInvocation", signal, timeoutMs }, () =>
    runSteps(
      { steps: stepsOf(operation), first: { ...first, context }, trace: traceOf(operation), texts, uncached: true },
      {
        runStep,
        sources: { secrets: secretsFrom(clientReader(client)), ...fetchers },
        seeds: () => new Map(),
        deadline,
        signal,
        record: run && ((step) => void run.steps.push(step)),
        onResponse: (step, response, events) => noteResponse({ step, response, events }, { attempt, emit }),
      },
    ),
  );
  options.onContext?.(outcome.context);
  await phase({ reason: "InvalidResource", signal, timeoutMs }, () =>
    applyDesired(outcome.desired, {
      client,
      signal,
      fieldManager: operationManager(operation.metadata.uid ?? ""),
      onApplied: (ref) => attempt.applied.push(ref),
    }),
  );
}

interface Answer {
  readonly step: string;
  readonly response: RunFunctionResponse;
  readonly events: readonly PipelineEvent[];
}

function noteResponse(
  { step, response, events }: Answer,
  { attempt, emit }: Pick<AttemptOptions, "attempt" | "emit">,
): void {
  for (const { type, detail, message } of events) {
    emit({ type, reason: "RunPipelineStep", message: `${detail}${message}` });
  }
  if (response.output === undefined) return;
  try {
    attempt.outputs.set(step, response.output.value);
  } catch (error) {
    const what = `cannot marshal pipeline step "${step}" output to JSON`;
    throw new ReconcileError("InvalidOutput", `${what}: ${textOf(error)}`, error);
  }
}

interface Phase {
  readonly reason: string;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** Runs a phase; its error gets the event reason of the phase unless it has one. One that the deadline caused says so. */
async function phase<T>({ reason, signal, timeoutMs }: Phase, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ReconcileError) throw error;
    const text = textOf(error);
    const limit = signal.aborted && !/timed out/.test(text) ? `: timed out after ${timeoutMs / 1000}s` : "";
    throw new ReconcileError(reason, `${text}${limit}`, error);
  }
}

/** What functions get about their Operation. */
function contextOf(operation: KubeObject): JsonObject {
  const { name = "", uid = "" } = operation.metadata;
  const scheduledTime = annotationOf(operation, annotations.scheduledTime);
  const attempt = failuresOf(operation) + 1;
  return { [operationContext]: { name, uid, attempt, ...(scheduledTime !== undefined && { scheduledTime }) } };
}

function traceOf({ metadata: { name = "", uid = "" } }: KubeObject): RunTrace {
  const value = create(inspector.OperationMeta, { operationName: name, operationUid: uid });
  return { traceId: randomUUID(), context: { case: "operationMeta", value } };
}

/** Whether every function of the pipeline has the capability to serve operations: the condition ValidPipeline. */
export async function checkCapabilities(
  operation: KubeObject,
  { client, developmentFunctions }: Pick<OperationDeps, "client" | "developmentFunctions">,
  signal: AbortSignal,
): Promise<ConditionText> {
  return checkPipeline(
    functionReferences(operation),
    {
      revisions: functionRevisionsOf(client),
      isUnderDevelopment: async (functionName) =>
        developmentFunctions !== undefined &&
        (await isUnderDevelopment(client, functionName, { trust: developmentFunctions, signal })),
      revisionSelectors: true,
      capability: "operation",
    },
    signal,
  );
}
