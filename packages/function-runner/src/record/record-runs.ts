// SPDX-License-Identifier: Apache-2.0

import { randomUUID } from "node:crypto";
import { type Clock, inTurns, type Log, silentLog, systemClock } from "@purlin/base";
import {
  create,
  inspector,
  type RunFunctionRequest,
  type RunFunctionResponse,
  Timestamp,
} from "@purlin/function-protocol";
import { createRedactor, plainMark } from "@purlin/run-store";
import { type FunctionRunner, type FunctionTarget, type RunCall, textOf } from "../function-runner.ts";
import { noMetrics, type RunnerMetrics } from "../metrics.ts";
import { type ObjectHolder, structsOf } from "../request/build-request.ts";

/** Objects of a run that is recorded have at most this many bytes: a recorder takes 4 MiB, which is what gRPC accepts by default. */
const maxRecordBytes: number = 4 * 2 ** 20;

/** As many records may wait for a sink; more are dropped and counted, so that a slow sink cannot fill the memory. */
const maxPending = 256;

/** A run that is about to begin. The request is a copy without secrets. */
export interface RequestRecord {
  readonly meta: inspector.StepMeta;
  readonly target: FunctionTarget;
  readonly request: RunFunctionRequest;
}

/** A run that ended, one way or the other. The response is a copy without secrets. */
export interface ResponseRecord {
  readonly meta: inspector.StepMeta;
  readonly target: FunctionTarget;
  readonly response?: RunFunctionResponse | undefined;
  readonly error?: string | undefined;
}

/** Receives records of runs. Errors that it throws or rejects with are counted and logged, and have no other effect. */
export interface RunSink {
  request(record: RequestRecord): void | Promise<void>;
  response(record: ResponseRecord): void | Promise<void>;
}

/** What recording depends on. */
interface RecordOptions {
  readonly clock?: Clock | undefined;
  readonly metrics?: RunnerMetrics | undefined;
  readonly log?: Log | undefined;
}

/**
 * A runner that sends a sink a record of every run that has a step and a trace, before and after it, without waiting for the
 * sink. As the outermost layer it also sees runs that a cache answers.
 */
export function recordRuns(next: FunctionRunner, sink: RunSink, options: RecordOptions = {}): FunctionRunner {
  const { clock = systemClock } = options;
  const send = createSender(options);
  const redactors = createRedactor({ mark: plainMark });
  return {
    async run(target, request, call) {
      const meta = stepMeta(target, call, clock);
      if (meta === undefined) return next.run(target, request, call);
      const redactor = redactors();
      let isRedacted = false;
      const requestSent = send(target, "request", async () => {
        // Also when it is too large: its secrets may occur in the response.
        const redacted = await inTurns(redactor.request(request));
        isRedacted = true;
        requireRecordable(request);
        await sink.request({ meta, target, request: await inTurns(redactor.scrubRequest(redacted)) });
      });
      const ended = (record: () => Promise<Pick<ResponseRecord, "response" | "error">>): void => {
        // The sink receives the end of a run after its beginning.
        void requestSent.then(() =>
          send(target, "response", async () => {
            if (!isRedacted) redactor.setOpaque();
            await sink.response({ meta, target, ...(await record()) });
          }),
        );
      };
      try {
        const response = await next.run(target, request, call);
        ended(async () => {
          requireRecordable(response);
          const redacted = await inTurns(redactor.response(response));
          return { response: await inTurns(redactor.scrubResponse(redacted)) };
        });
        return response;
      } catch (error) {
        ended(async () => ({ error: await inTurns(redactor.scrubText(textOf(error))) }));
        throw error;
      }
    },
  };
}

/** Sends a record to the sink. Never rejects: failures are counted and logged. */
type Send = (target: FunctionTarget, type: "request" | "response", emit: () => void | Promise<void>) => Promise<void>;

function createSender({ metrics = noMetrics, log = silentLog }: RecordOptions): Send {
  let pending = 0;
  return async ({ functionName }, type, emit) => {
    pending++;
    try {
      if (pending > maxPending) throw new Error(`${maxPending} records are waiting already`);
      await emit();
    } catch (error) {
      metrics.inspectorFailed(functionName, type);
      log.info(`cannot record function ${type}`, { function: functionName, error: textOf(error) });
    } finally {
      pending--;
    }
  };
}

function stepMeta(target: FunctionTarget, { step, trace }: RunCall, clock: Clock): inspector.StepMeta | undefined {
  if (step === undefined || trace === undefined) return undefined;
  const now = clock.now();
  const seconds = Math.floor(now / 1000);
  return create(inspector.StepMeta, {
    timestamp: create(Timestamp, { seconds: BigInt(seconds), nanos: Math.round((now - seconds * 1000) * 1e6) }),
    traceId: trace.traceId,
    spanId: randomUUID(),
    stepIndex: step.index,
    stepName: step.name,
    functionName: target.functionName,
    context: trace.context,
  });
}

/** Throws when a run is too large to be recorded. */
function requireRecordable(message: ObjectHolder): void {
  let bytes = 0;
  for (const struct of structsOf(message)) {
    bytes += struct?.bytes.length ?? 0;
    if (bytes > maxRecordBytes) throw new Error(`its objects have more than ${maxRecordBytes} bytes`);
  }
}
